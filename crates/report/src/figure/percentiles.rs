//! Percentiles of single calls as curves, and the words of their axis.

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Percentiles {
    pub curves: Vec<Curve>,
}

/// Nanoseconds by 1 / (1 - share of calls that took no longer), ascending.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    pub label: String,
    pub all: Vec<(f64, f64)>,
    /// Without preempted and interrupted calls; empty if they are not known.
    pub rest: Vec<(f64, f64)>,
}

/// `90%` for 10.
pub fn share_words(beyond: f64) -> String {
    if beyond <= 1.0 || !beyond.is_finite() {
        return "0%".to_string();
    }
    let digits = (beyond.log10().round() as usize).saturating_sub(2);
    format!("{:.digits$}%", 100.0 - 100.0 / beyond)
}

pub fn shares(most: f64) -> Vec<(f64, String)> {
    let decades = (0..20)
        .map(|power| 10f64.powi(power))
        .take_while(|beyond| *beyond <= most);
    decades
        .map(|beyond| (beyond, share_words(beyond)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_ten_are_shares() {
        let words: Vec<String> = shares(2e5).into_iter().map(|(_, words)| words).collect();
        assert_eq!(words, ["0%", "90%", "99%", "99.9%", "99.99%", "99.999%"]);
        assert_eq!([share_words(f64::NAN), share_words(20.0)], ["0%", "95%"]);
    }
}
