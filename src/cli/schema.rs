//! `syscost schema`: JSON Schemas of what is written. They are embedded as files: a test makes them from the types, so that
//! the program need not contain what makes them.

use super::exit::Exit;
use anyhow::{Context, Result};
use clap::ValueEnum;
use include_dir::{Dir, File, include_dir};
use std::io::Write;
use std::path::Path;

static SCHEMAS: Dir = include_dir!("$CARGO_MANIFEST_DIR/schema");

/// Print a JSON Schema of what this tool writes.
#[derive(clap::Args)]
pub struct SchemaArgs {
    #[arg(value_enum)]
    kind: SchemaKind,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SchemaKind {
    Summary,
    Result,
    Row,
    Comparison,
    ComparisonPlan,
    ProfileComparison,
    History,
    Profile,
    ProfileSummary,
    Attribution,
    List,
    Kernels,
    KernelSteps,
    ExplainKernel,
    ExplainKernelVersus,
    FleetCheck,
    Languages,
    Studies,
    Environments,
    Doctor,
    Top,
}

/// Prints a schema. Errors: if `out` cannot be written.
pub fn run(args: &SchemaArgs, out: &mut dyn Write) -> Result<Exit> {
    let name = args.kind.to_possible_value().map_or_else(String::new, |value| value.get_name().to_string());
    let of_kind = |file: &&File| named(file.path()).is_some_and(|(kind, _)| kind == name);
    let file = SCHEMAS.files().find(of_kind).with_context(|| format!("there is no schema of {name}"))?;
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
    use crate::cli::kernel::KernelList;
    use crate::cli::list::environments::EnvironmentList;
    use crate::cli::list::{LanguageList, OperationList, StudyList};
    use crate::compare::{Comparison, KernelSteps, Plan, ProfileComparison};
    use crate::fleet::FleetCheck;
    use crate::model::explained::{KernelExplanation, KernelVersus};
    use crate::model::{Profile, Run};
    use crate::report::rows;
    use crate::report::top::TopDocument;
    use crate::report::{AttributionDocument, HistoryDocument, ProfileDocument, SummaryDocument, json_schema};
    use crate::store;
    use serde_json::Value;
    use snapbox::Data;
    use snapbox::data::DataFormat;

    fn of(kind: SchemaKind) -> Value {
        match kind {
            SchemaKind::Summary => json_schema::<SummaryDocument>(),
            SchemaKind::Result => store::schema::<Run>(),
            SchemaKind::Row => rows::schema(),
            SchemaKind::Comparison => json_schema::<Comparison>(),
            SchemaKind::ComparisonPlan => json_schema::<Plan>(),
            SchemaKind::ProfileComparison => json_schema::<ProfileComparison>(),
            SchemaKind::History => json_schema::<HistoryDocument>(),
            SchemaKind::Profile => store::schema::<Profile>(),
            SchemaKind::ProfileSummary => json_schema::<ProfileDocument>(),
            SchemaKind::Attribution => json_schema::<AttributionDocument>(),
            SchemaKind::List => json_schema::<OperationList>(),
            SchemaKind::Kernels => json_schema::<KernelList>(),
            SchemaKind::KernelSteps => json_schema::<KernelSteps>(),
            SchemaKind::ExplainKernel => store::schema::<KernelExplanation>(),
            SchemaKind::ExplainKernelVersus => store::schema::<KernelVersus>(),
            SchemaKind::FleetCheck => json_schema::<FleetCheck>(),
            SchemaKind::Languages => json_schema::<LanguageList>(),
            SchemaKind::Environments => json_schema::<EnvironmentList>(),
            SchemaKind::Studies => json_schema::<StudyList>(),
            SchemaKind::Doctor => json_schema::<DoctorDocument>(),
            SchemaKind::Top => json_schema::<TopDocument>(),
        }
    }

    /// `SNAPSHOTS=overwrite cargo test --lib schema` rewrites them.
    #[test]
    fn schemas_are_those_of_the_types() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema");
        let mut names = Vec::new();
        for kind in SchemaKind::value_variants() {
            let schema = of(*kind);
            let (_, version) = schema["properties"]["schema"]["const"].as_str().unwrap().split_once('/').unwrap();
            let name = format!("{}-{version}.json", kind.to_possible_value().unwrap().get_name());
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
