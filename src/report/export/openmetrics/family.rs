//! A gauge of OpenMetrics with its samples.

use crate::clean;
use anyhow::Result;
use std::io::Write;

/// A gauge: its name without the prefix `syscost_`, ending in the unit, and its description.
pub struct Family {
    pub name: &'static str,
    pub unit: &'static str,
    pub help: &'static str,
}

/// Names and values of labels.
pub type Labels<'a> = Vec<(&'static str, String)>;
impl Family {
    /// Writes the family with its samples; nothing if there are none.
    pub fn write(&self, samples: impl Iterator<Item = (Labels<'static>, f64)>, out: &mut dyn Write) -> Result<()> {
        for (i, (labels, value)) in samples.enumerate() {
            if i == 0 {
                self.head(out)?;
            }
            writeln!(out, "syscost_{}{} {value}", self.name, braces(&labels))?;
        }
        Ok(())
    }

    fn head(&self, out: &mut dyn Write) -> Result<()> {
        writeln!(out, "# HELP syscost_{} {}", self.name, self.help)?;
        writeln!(out, "# TYPE syscost_{} gauge", self.name)?;
        if !self.unit.is_empty() {
            writeln!(out, "# UNIT syscost_{} {}", self.name, self.unit)?;
        }
        Ok(())
    }
}

/// The labels as they stand behind a name.
pub fn braces(labels: &Labels) -> String {
    let pairs: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", clean::label(value))).collect();
    if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) }
}
