//! The values in `--param size=1,4K,64K..1Mx4`.

use anyhow::{Result, anyhow, bail};
use model::parse_size;

/// Values are a list; each item is a whole number or a range, both with K, M or G for powers of
/// 1024:
/// - `1..64`: every whole number, at most 64 of them
/// - `1..64x2`: each twice the one before
/// - `1..100+10`: each 10 more than the one before
///
/// A range includes both ends: `1..100x4` is 1, 4, 16, 64, 100. Values of a range that are in the
/// list already are skipped.
#[derive(Clone, Debug)]
pub struct Setting {
    pub name: String,
    pub values: Vec<u64>,
}

/// More values are taken for a mistake: each is a case with its own process.
const MOST_VALUES: usize = 200;
const MOST_WITHOUT_STEP: u64 = 64;

impl std::str::FromStr for Setting {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Setting> {
        let Some((name, items)) = text.split_once('=') else {
            bail!(
                "'{text}' is not of the form name=value[,value...], e.g. size=1,4K,1M or depth=1..64x2"
            );
        };
        let mut values = Vec::new();
        for item in items.split(',') {
            add(item, &mut values)?;
            if values.len() > MOST_VALUES {
                bail!("'{text}' has more than {MOST_VALUES} values: take larger steps");
            }
        }
        Ok(Setting {
            name: name.to_string(),
            values,
        })
    }
}

fn add(item: &str, values: &mut Vec<u64>) -> Result<()> {
    match item.split_once("..") {
        None => values.push(parse_size(item)?),
        Some((from, rest)) => {
            for value in range(item, from, rest)? {
                if !values.contains(&value) {
                    values.push(value);
                }
            }
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Step {
    Times(u64),
    Plus(u64),
}

fn range(item: &str, from: &str, rest: &str) -> Result<Vec<u64>> {
    let (from, to, step) = parse_range(from, rest)
        // One message, not a chain: the command line shows only the outermost error of a chain.
        .map_err(|error| anyhow!("range '{item}': {error:#}"))?;
    if from > to {
        bail!("range '{item}' is empty: its end is below its start");
    }
    if let (0, Some(Step::Times(factor))) = (from, step) {
        let end = rest.split(['x', '+']).next().unwrap_or(rest);
        bail!(
            "range '{item}' starts at 0, which multiplying never increases: write 0,1..{end}x{factor}"
        );
    }
    match step {
        Some(step) => stepped(item, from, to, step),
        None => whole(item, from, to),
    }
}

fn parse_range(from: &str, rest: &str) -> Result<(u64, u64, Option<Step>)> {
    let (to, step) = split_step(rest)?;
    Ok((parse_size(from)?, parse_size(to)?, step))
}

fn split_step(rest: &str) -> Result<(&str, Option<Step>)> {
    if let Some((to, factor)) = rest.split_once('x') {
        return match parse_size(factor)? {
            0 | 1 => bail!("step 'x{factor}' never reaches the end: a factor is at least 2"),
            factor => Ok((to, Some(Step::Times(factor)))),
        };
    }
    if let Some((to, distance)) = rest.split_once('+') {
        return match parse_size(distance)? {
            0 => bail!("step '+{distance}' never reaches the end: a distance is at least 1"),
            distance => Ok((to, Some(Step::Plus(distance)))),
        };
    }
    Ok((rest, None))
}

fn whole(item: &str, from: u64, to: u64) -> Result<Vec<u64>> {
    let more = to - from;
    if more >= MOST_WITHOUT_STEP {
        let distance = more.div_ceil(MOST_WITHOUT_STEP - 1);
        let factor = if from == 0 {
            String::new()
        } else {
            format!("{item}x2 or ")
        };
        let count = more.saturating_add(1);
        bail!(
            "range '{item}' has {count} values, more than {MOST_WITHOUT_STEP}: give a step, e.g. {factor}{item}+{distance}"
        );
    }
    Ok((from..=to).collect())
}

fn stepped(item: &str, from: u64, to: u64, step: Step) -> Result<Vec<u64>> {
    let mut values: Vec<u64> = std::iter::successors(Some(from), |value| match step {
        Step::Times(factor) => value.checked_mul(factor),
        Step::Plus(distance) => value.checked_add(distance),
    })
    .take_while(|value| *value < to)
    .take(MOST_VALUES)
    .collect();
    // The end of the range is not in `values` yet, so this many are too many.
    if values.len() == MOST_VALUES {
        bail!("range '{item}' has more than {MOST_VALUES} values: take larger steps");
    }
    values.push(to);
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn values(text: &str) -> Vec<u64> {
        format!("n={text}").parse::<Setting>().unwrap().values
    }

    #[test]
    fn ranges_hold_both_ends_and_repeat_nothing_and_lists_do_as_they_say() {
        let setting: Setting = "size=1,4K,2M".parse().unwrap();
        assert_eq!(
            (setting.name.as_str(), setting.values),
            ("size", vec![1, 4096, 2 << 20])
        );
        for (text, expected) in [
            ("3..6", &[3, 4, 5, 6][..]),
            ("1..64x2", &[1, 2, 4, 8, 16, 32, 64]),
            ("1..100x4", &[1, 4, 16, 64, 100]),
            ("1K..8Kx4", &[1024, 4096, 8192]),
            ("1..100+33", &[1, 34, 67, 100]),
            ("0..25+10", &[0, 10, 20, 25]),
            ("7..7", &[7]),
            ("0,1..8x2,4..5", &[0, 1, 2, 4, 8, 5]),
            ("5,5", &[5, 5]),
            (
                "18446744073709551614..18446744073709551615x2",
                &[u64::MAX - 1, u64::MAX],
            ),
        ] {
            assert_eq!(values(text), expected, "{text}");
        }
        assert_eq!(values("1..64").len(), 64);
    }

    #[test]
    fn mistakes_are_explained() {
        fn mistake(text: &str) -> String {
            text.parse::<Setting>().unwrap_err().to_string()
        }

        for bad in [
            "size",
            "size=",
            "size=x",
            "size=-1",
            "size=99999999999G",
            "size=1,,2",
            "size=..",
            "size=1..x2",
        ] {
            assert!(!mistake(bad).is_empty());
        }
        for (text, expected) in [
            ("4K..1K", "is empty: its end is below its start"),
            (
                "1..8x1",
                ": step 'x1' never reaches the end: a factor is at least 2",
            ),
            (
                "1..8+0",
                ": step '+0' never reaches the end: a distance is at least 1",
            ),
            (
                "0..8x2",
                "starts at 0, which multiplying never increases: write 0,1..8x2",
            ),
            (
                "1..100",
                "has 100 values, more than 64: give a step, e.g. 1..100x2 or 1..100+2",
            ),
            ("1..1G+1", "has more than 200 values: take larger steps"),
            (
                "1..60,101..160,201..260,301..360",
                "has more than 200 values: take larger steps",
            ),
        ] {
            let message = mistake(&format!("n={text}"));
            assert!(
                message.contains(text) && message.ends_with(expected),
                "{message}"
            );
        }
        let message = mistake("n=a..8");
        assert!(
            message.starts_with("range 'a..8': 'a' is not a whole number"),
            "{message}"
        );
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,30}", from: u64, to: u64, step: u64) {
            let _ = text.parse::<Setting>();
            for range in [format!("n={from}..{to}"), format!("n={from}..{to}x{step}"), format!("n={from}..{to}+{step}")] {
                if let Ok(Setting { values, .. }) = range.parse() {
                    prop_assert!(values.len() <= MOST_VALUES && values.is_sorted());
                    prop_assert_eq!((values.first(), values.last()), (Some(&from), Some(&to)));
                }
            }
        }
    }
}
