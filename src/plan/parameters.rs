//! Parameters: `size=1,4K,1M`.

use anyhow::{Context, Result, bail};

/// One `--param`: a name and the values that it takes in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    pub name: String,
    pub values: Vec<u64>,
}

impl std::str::FromStr for Setting {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Setting> {
        let Some((name, values)) = text.split_once('=') else {
            bail!("'{text}' is not of the form name=value[,value...], e.g. size=1,4K,1M");
        };
        let values = values.split(',').map(parse_size).collect::<Result<_>>()?;
        Ok(Setting { name: name.to_string(), values })
    }
}

/// A whole number, with K, M or G for powers of 1024.
///
/// # Errors
/// When it is not one or does not fit 64 bits.
pub fn parse_size(text: &str) -> Result<u64> {
    let (digits, shift) = match text.chars().last() {
        Some('K' | 'k') => (&text[..text.len() - 1], 10),
        Some('M' | 'm') => (&text[..text.len() - 1], 20),
        Some('G' | 'g') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    let bad = || format!("'{text}' is not a whole number such as 512, 4K or 1M");
    let number: u64 = digits.parse().with_context(bad)?;
    number.checked_mul(1 << shift).with_context(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings() {
        let setting: Setting = "size=1,4K,2M".parse().unwrap();
        assert_eq!(setting, Setting { name: "size".into(), values: vec![1, 4096, 2 << 20] });
        for bad in ["size", "size=", "size=x", "size=-1", "size=99999999999G", "size=1,,2"] {
            assert!(bad.parse::<Setting>().is_err(), "{bad}");
        }
    }
}
