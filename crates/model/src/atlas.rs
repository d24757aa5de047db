//! The kernel atlas: what each operation executes in each kernel, as counted in emulated machines.

mod order;

pub use order::{are_alike, ends, oldest_first, series};

use super::explained::Group;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The oldest kernel first.
#[derive(Debug, PartialEq)]
pub struct Atlas {
    pub kernels: Vec<AtlasKernel>,
    pub steps: Vec<AtlasSteps>,
}

pub const ATLAS_KERNEL: &str = "syscost.atlas-kernel/1";
pub const ATLAS_STEPS: &str = "syscost.atlas-steps/1";

/// A file of `syscost kernel atlas build`, compressed by gzip, for one kernel in one kind of machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "syscost.atlas-kernel/1")]
pub struct AtlasKernel {
    /// Kind and version of the file.
    #[schemars(extend("const" = ATLAS_KERNEL))]
    pub schema: String,
    /// As `uname -r` shows it.
    pub release: String,
    pub machine: AtlasMachine,
    /// The package that has it.
    pub package: String,
    /// The package's version.
    pub version: String,
    /// The suite that served it.
    pub suite: String,
    /// The image's SHA-256, in hexadecimal digits.
    pub image: String,
    /// The emulator with its version.
    pub emulator: String,
    /// The probe: its version, compiler and C library.
    pub probe: String,
    /// The SHA-256 of the probe's program, in hexadecimal digits; empty if it is not known.
    #[serde(default)]
    pub probe_digest: String,
    /// Boots, each with another seed, over which counts range.
    pub boots: u32,
    /// One for each operation.
    pub cells: Vec<AtlasCell>,
}

/// The emulated machine.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub struct AtlasMachine {
    /// As `uname -m` shows it.
    pub architecture: String,
    /// The emulated processor.
    pub cpu: String,
    /// Boot parameters beyond the usual ones; empty if there are none.
    pub append: String,
}

/// The count of one operation, or why it was not counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AtlasCell {
    /// With its parameters, e.g. `file.lstat depth=4`.
    pub operation: String,
    /// Instructions per operation, in user and kernel mode; null if it was not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<AtlasCount>,
    /// The reason why it was not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The count of most boots, and the range over them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AtlasCount {
    /// The count of most boots.
    pub mode: f64,
    /// The smallest count.
    pub least: f64,
    /// The largest count.
    pub most: f64,
}

/// Hundredths: 48 iterations share what every 48th call does.
const KEPT: f64 = 100.0;

impl AtlasCount {
    /// The count over boots; `None` without any. If several values are equally frequent, the mode is the first of them, which `syscost run`
    /// counts.
    pub fn from_boots(each: &[f64]) -> Option<AtlasCount> {
        fn number(kept: &i64) -> f64 {
            *kept as f64 / KEPT
        }

        let kept: Vec<i64> = each.iter().map(|n| (n * KEPT).round() as i64).collect();
        Some(AtlasCount {
            mode: number(
                kept.iter()
                    // `max_by_key` returns the last of equal values; reversed, that is the count of the first boot.
                    .rev()
                    .max_by_key(|value| kept.iter().filter(|other| other == value).count())?,
            ),
            least: number(kept.iter().min()?),
            most: number(kept.iter().max()?),
        })
    }
}

/// A file of `syscost kernel atlas build`, compressed by gzip: the differences of two neighbouring kernels in one kind of machine.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "syscost.atlas-steps/1")]
pub struct AtlasSteps {
    /// Kind and version of the file.
    #[schemars(extend("const" = ATLAS_STEPS))]
    pub schema: String,
    pub machine: AtlasMachine,
    /// The earlier kernel's release.
    pub before: String,
    /// The later kernel's.
    pub after: String,
    /// One for each operation that differs.
    pub steps: Vec<AtlasStep>,
}

/// One operation whose counts are beyond each other's range.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AtlasStep {
    /// With its parameters.
    pub operation: String,
    /// Instructions per operation in the earlier kernel.
    pub before: f64,
    /// The same in the later one.
    pub after: f64,
    /// The functions that grew or went the most, largest first; none if it was not explained.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<AtlasFunction>,
    /// Why it was not explained.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

pub const UNCHANGED: &str = "no function changed in one iteration";

impl AtlasStep {
    /// The counts then differ by work that iterations share.
    pub fn is_unchanged(&self) -> bool {
        self.reason.as_deref() == Some(UNCHANGED)
    }

    /// The difference of the counts in instructions, without its sign.
    pub fn instructions(&self) -> f64 {
        (self.after - self.before).abs()
    }

    /// The difference as a share of the smaller count: half as many weigh as much as twice as many.
    pub fn share(&self) -> f64 {
        self.instructions() / self.before.min(self.after).max(1.0)
    }
}

/// A function's own instructions in one iteration, before and after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AtlasFunction {
    /// As in the source.
    pub name: String,
    pub group: Group,
    /// In the earlier kernel; 0 if it is not called.
    pub before: u64,
    /// In the later one.
    pub after: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_boots_decide_and_all_are_in_the_range() {
        fn all(each: &[f64]) -> Option<(f64, f64, f64)> {
            AtlasCount::from_boots(each).map(|count| (count.mode, count.least, count.most))
        }

        assert_eq!(
            all(&[329.0, 340.0, 329.001, 320.0]),
            Some((329.0, 320.0, 340.0))
        );
        assert_eq!(all(&[9.0, 7.0]), Some((9.0, 7.0, 9.0)));
        assert_eq!(all(&[]), None);
    }
}
