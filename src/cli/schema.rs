//! `syscost schema`: JSON Schemas of what is written. They are embedded as files: a test makes them from the types, so that
//! the program need not contain what makes them.

use super::exit::Exit;
use anyhow::{Context, Result};
use clap::builder::PossibleValuesParser;
use include_dir::{Dir, File, include_dir};
use std::io::Write;
use std::path::Path;

static SCHEMAS: Dir = include_dir!("$CARGO_MANIFEST_DIR/schema");

/// Print a JSON Schema of what this tool writes.
#[derive(clap::Args)]
pub struct SchemaArgs {
    #[arg(value_parser = PossibleValuesParser::new(KINDS.split(' ')))]
    kind: String,
}

const KINDS: &str = "summary result row comparison comparison-plan profile-comparison history profile \
     profile-summary attribution attribution-instructions list kernels atlas-check atlas-kernel atlas-steps explain-kernel explain-kernel-versus \
     explain-program fleet-check \
     languages studies environments doctor top race";

pub fn run(args: &SchemaArgs, out: &mut dyn Write) -> Result<Exit> {
    let of_kind = |file: &&File| named(file.path()).is_some_and(|(kind, _)| kind == args.kind);
    let file = SCHEMAS.files().find(of_kind).with_context(|| format!("there is no schema of {}", args.kind))?;
    out.write_all(file.contents())?;
    Ok(Exit::Success)
}

/// `("profile-summary", "3")` of `profile-summary-3.json`.
fn named(file: &Path) -> Option<(&str, &str)> {
    file.file_stem()?.to_str()?.rsplit_once('-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::doctor::DoctorDocument;
    use crate::cli::kernel::{AtlasCheck, KernelList};
    use crate::cli::list::environments::EnvironmentList;
    use crate::cli::list::{LanguageList, OperationList, StudyList};
    use crate::compare::{Comparison, Plan, ProfileComparison, RaceFound};
    use crate::fleet::FleetCheck;
    use crate::model::atlas::{AtlasKernel, AtlasSteps};
    use crate::model::explained::{KernelExplanation, KernelVersus};
    use crate::model::program::ProgramInKernels;
    use crate::model::{Profile, Run};
    use crate::report::rows;
    use crate::report::top::TopDocument;
    use crate::report::{AttributionDocument, CountedDocument, HistoryDocument, ProfileDocument, SummaryDocument};
    use crate::store;
    use crate::write::json_schema;
    use serde_json::Value;
    use snapbox::Data;
    use snapbox::data::DataFormat;

    fn of(kind: &str) -> Value {
        match kind {
            "summary" => json_schema::<SummaryDocument>(),
            "result" => store::schema::<Run>(),
            "row" => rows::schema(),
            "comparison" => json_schema::<Comparison>(),
            "comparison-plan" => json_schema::<Plan>(),
            "profile-comparison" => json_schema::<ProfileComparison>(),
            "history" => json_schema::<HistoryDocument>(),
            "profile" => store::schema::<Profile>(),
            "profile-summary" => json_schema::<ProfileDocument>(),
            "attribution" => json_schema::<AttributionDocument>(),
            "attribution-instructions" => json_schema::<CountedDocument>(),
            "list" => json_schema::<OperationList>(),
            "kernels" => json_schema::<KernelList>(),
            "atlas-check" => json_schema::<AtlasCheck>(),
            "atlas-kernel" => schemars::schema_for!(AtlasKernel).to_value(),
            "atlas-steps" => schemars::schema_for!(AtlasSteps).to_value(),
            "explain-kernel" => store::schema::<KernelExplanation>(),
            "explain-kernel-versus" => store::schema::<KernelVersus>(),
            "explain-program" => json_schema::<ProgramInKernels>(),
            "fleet-check" => json_schema::<FleetCheck>(),
            "languages" => json_schema::<LanguageList>(),
            "environments" => json_schema::<EnvironmentList>(),
            "studies" => json_schema::<StudyList>(),
            "doctor" => json_schema::<DoctorDocument>(),
            "top" => json_schema::<TopDocument>(),
            "race" => json_schema::<RaceFound>(),
            _ => panic!("{kind}"),
        }
    }

    /// `SNAPSHOTS=overwrite cargo test --lib schema` rewrites them.
    #[test]
    fn schemas_are_those_of_the_types() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema");
        let mut names = Vec::new();
        for kind in KINDS.split(' ') {
            let schema = of(kind);
            let (_, version) = schema["properties"]["schema"]["const"].as_str().unwrap().split_once('/').unwrap();
            let name = format!("{kind}-{version}.json");
            let kept = Data::read_from(&folder.join(&name), Some(DataFormat::Text)).raw();
            snapbox::assert_data_eq!(format!("{schema:#}\n"), kept);
            names.push(name);
        }
        names.sort();
        let mut kept: Vec<String> = SCHEMAS.files().map(|file| file.path().display().to_string()).collect();
        kept.sort();
        assert_eq!(kept, names);
    }
}
