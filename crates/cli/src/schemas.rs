//! JSON Schemas of all output: whole-program tests check output against them, and `.ci/release` packs them. Only a build for
//! tests has the feature, so that the program need not contain what makes them.

use crate::list::environments::EnvironmentList;
use crate::list::{LanguageList, OperationList, StudyList};
use analysis::compare::{Comparison, ProfileComparison, RaceFound};
use model::atlas::{AtlasKernel, AtlasSteps};
use model::code::Explained;
use model::explained::{KernelExplanation, KernelVersus};
use model::kernel_diff::KernelDiff;
use model::program::ProgramInKernels;
use model::{Profile, Run};
use report::top::TopDocument;
use report::{ProfileDocument, SummaryDocument, WhyDocument};

use document::write::json_schema;
use serde_json::Value;

/// All schemas, by kind, in the order of the documentation: types that several share are described with the first.
pub fn all() -> Vec<(&'static str, Value)> {
    vec![
        ("result", store::schema::<Run>()),
        ("profile", store::schema::<Profile>()),
        ("summary", json_schema::<SummaryDocument>()),
        ("comparison", json_schema::<Comparison>()),
        ("profile-comparison", json_schema::<ProfileComparison>()),
        ("profile-summary", json_schema::<ProfileDocument>()),
        ("race", json_schema::<RaceFound>()),
        ("explain", json_schema::<Explained>()),
        ("explain-kernel", store::schema::<KernelExplanation>()),
        ("explain-kernel-versus", store::schema::<KernelVersus>()),
        ("explain-program", json_schema::<ProgramInKernels>()),
        ("why", json_schema::<WhyDocument>()),
        ("top", json_schema::<TopDocument>()),
        (
            "atlas-kernel",
            schemars::schema_for!(AtlasKernel).to_value(),
        ),
        ("atlas-steps", schemars::schema_for!(AtlasSteps).to_value()),
        ("kernel-diff", json_schema::<KernelDiff>()),
        ("list", json_schema::<OperationList>()),
        ("languages", json_schema::<LanguageList>()),
        ("environments", json_schema::<EnvironmentList>()),
        ("studies", json_schema::<StudyList>()),
    ]
}
