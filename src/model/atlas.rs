//! The kernel atlas: what each operation executes in each kernel, as counted in emulated machines. `kernel atlas build` writes a
//! file for each kernel and one for each pair of neighbours; pages and checks read them.

use super::explained::Group;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The schema of [`AtlasKernel`].
pub const ATLAS_KERNEL: &str = "syscost.atlas-kernel/1";
/// The schema of [`AtlasSteps`].
pub const ATLAS_STEPS: &str = "syscost.atlas-steps/1";

/// One kernel in one kind of machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "syscost.atlas-kernel/1")]
pub struct AtlasKernel {
    /// Kind and version of the file.
    #[schemars(extend("const" = ATLAS_KERNEL))]
    pub schema: String,
    /// As `uname -r` shows it.
    pub release: String,
    pub machine: AtlasMachine,
    /// The package that has it, its version and the suite that served it.
    pub package: String,
    pub version: String,
    pub suite: String,
    /// The image's SHA-256, in hexadecimal digits.
    pub image: String,
    /// The emulator with its version.
    pub emulator: String,
    /// The probe: its version, compiler and C library.
    pub probe: String,
    /// Boots, each with another seed, over which counts range.
    pub boots: u32,
    pub cells: Vec<AtlasCell>,
}

/// The emulated machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct AtlasMachine {
    /// As `uname -m` shows it.
    pub architecture: String,
    /// The emulated processor.
    pub cpu: String,
    /// Boot parameters beyond the usual ones; empty if there are none.
    pub append: String,
}

/// One operation in it, or why there is no count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AtlasCell {
    /// With its parameters, e.g. `file.lstat depth=4`.
    pub operation: String,
    /// Instructions per operation, in user and kernel mode; null if there is no count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<AtlasCount>,
    /// Why there is no count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What most boots count, and the range over them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AtlasCount {
    pub mode: f64,
    pub least: f64,
    pub most: f64,
}

/// Where two neighbouring kernels in one kind of machine differ.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "syscost.atlas-steps/1")]
pub struct AtlasSteps {
    /// Kind and version of the file.
    #[schemars(extend("const" = ATLAS_STEPS))]
    pub schema: String,
    pub machine: AtlasMachine,
    /// The releases.
    pub before: String,
    pub after: String,
    pub steps: Vec<AtlasStep>,
}

/// One operation whose counts are beyond each other's range.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AtlasStep {
    pub operation: String,
    pub before: f64,
    pub after: f64,
    /// The functions that grew or went the most, largest first; none if it was not explained.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<AtlasFunction>,
    /// Why it was not explained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A function's own instructions in one iteration, before and after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AtlasFunction {
    pub name: String,
    pub group: Group,
    pub before: u64,
    pub after: u64,
}
