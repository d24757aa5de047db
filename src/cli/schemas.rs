//! JSON Schemas of what is written, into target/documents/schema/KIND-VERSION.json: whole-program tests check output against them, and
//! `.ci/release` packs them. They are made by a test, so that the program need not contain what makes them.

use crate::cli::list::environments::EnvironmentList;
use crate::cli::list::{LanguageList, OperationList, StudyList};
use crate::compare::{Comparison, ProfileComparison, RaceFound};
use crate::model::atlas::{AtlasKernel, AtlasSteps};
use crate::model::explained::{KernelExplanation, KernelVersus};
use crate::model::program::ProgramInKernels;
use crate::model::{Profile, Run};
use crate::report::top::TopDocument;
use crate::report::{ProfileDocument, SummaryDocument, WhyDocument};
use crate::store;
use crate::write::json_schema;
use serde_json::Value;
use std::fs;

fn all() -> Vec<(&'static str, Value)> {
    vec![
        ("summary", json_schema::<SummaryDocument>()),
        ("result", store::schema::<Run>()),
        ("comparison", json_schema::<Comparison>()),
        ("profile-comparison", json_schema::<ProfileComparison>()),
        ("profile", store::schema::<Profile>()),
        ("profile-summary", json_schema::<ProfileDocument>()),
        ("why", json_schema::<WhyDocument>()),
        ("list", json_schema::<OperationList>()),
        (
            "atlas-kernel",
            schemars::schema_for!(AtlasKernel).to_value(),
        ),
        ("atlas-steps", schemars::schema_for!(AtlasSteps).to_value()),
        ("explain-kernel", store::schema::<KernelExplanation>()),
        ("explain-kernel-versus", store::schema::<KernelVersus>()),
        ("explain-program", json_schema::<ProgramInKernels>()),
        ("languages", json_schema::<LanguageList>()),
        ("environments", json_schema::<EnvironmentList>()),
        ("studies", json_schema::<StudyList>()),
        ("top", json_schema::<TopDocument>()),
        ("race", json_schema::<RaceFound>()),
    ]
}

#[test]
fn schemas_are_written() {
    let program = std::env::current_exe().unwrap();
    // The test is target/PROFILE/deps/NAME.
    let folder = program.ancestors().nth(3).unwrap().join("documents/schema");
    fs::create_dir_all(&folder).unwrap();
    for (kind, schema) in all() {
        let (_, version) = schema["properties"]["schema"]["const"]
            .as_str()
            .unwrap()
            .split_once('/')
            .unwrap();
        fs::write(
            folder.join(format!("{kind}-{version}.json")),
            format!("{schema:#}\n"),
        )
        .unwrap();
    }
}
