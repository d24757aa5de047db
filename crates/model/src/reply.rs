use std::collections::BTreeMap;

/// The elapsed time of a batch, and its involuntary context switches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Batch {
    pub ns: u64,
    pub switches: u64,
}

#[derive(Debug, Default)]
pub struct Reply {
    pub batches: Vec<Batch>,
    /// CPU time of each batch, with that of children and partners; empty if it is not known.
    pub cpu_ns: Vec<u64>,
    pub user_ns: u64,
    pub system_ns: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
}

/// Facts that a probe reports of itself when it is ready: `name=value` words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts(BTreeMap<String, String>);

impl Facts {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Adds facts that the probe did not report.
    pub fn add_defaults(&mut self, defaults: Vec<(&str, f64)>) {
        for (name, value) in defaults {
            self.0
                .entry(name.to_string())
                .or_insert_with(|| value.to_string());
        }
    }

    /// `None` if it is missing or not a number.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.get(name)?.parse().ok()
    }
}

impl FromIterator<(String, String)> for Facts {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(facts: I) -> Facts {
        Facts(facts.into_iter().collect())
    }
}
