//! `syscost explain`: the code that runs when an operation is called, and other ways to get the same answer.
//!
//! Turns flags into cases, gets the code from `explain` and the time from `session`, and writes them in a format.

mod kernel;

use super::complete;
use super::error::usage;
use super::progress::Progress;
use crate::explain::{self, Cost, Explanation, Variant};
use crate::kernel::Sources;
use crate::kernel::affinity::Wanted;
use crate::kernel::counters::Offer;
use crate::model::{COLD, Operation, Planned, SHARED, THREADS};
use crate::plan::{self, Choices, Setting, Subject};
use crate::report::{self, Document, Format, KernelView, Screen, write_json};
use crate::session::{RunOptions, Session};
use crate::summary::{EventCounts, Row, summarize};
use anyhow::{Context, Result, bail};
use serde::Serialize;
use std::io::Write;
use std::time::Duration;

/// Show what actually runs when an operation is called: which code answers, instruction by instruction.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ExplainArgs {
    /// An operation's id, e.g. call.getpid, or its last part if unique, e.g. getpid (see 'syscost list').
    #[arg(value_name = "OPERATION", add = complete::operations())]
    pub operation: String,
    /// Compare all operations of the same family in one table.
    #[arg(long)]
    pub variants: bool,
    /// Value of a parameter; repeatable.
    #[arg(long = "param", value_name = "KEY=VALUE", add = complete::parameters())]
    pub params: Vec<Setting>,
    /// Look into the kernel: an emulated one, e.g. linux-6.1 or linux:PATH, and each instruction that one iteration executes in
    /// it, as a call tree with counts.
    #[arg(long, value_name = "NAME", conflicts_with = "variants")]
    pub env: Option<String>,
    /// Boot parameters for the kernel of --env, e.g. 'audit=1'.
    #[arg(long, value_name = "PARAMETERS", requires = "env")]
    pub append: Option<String>,
    /// Compare with another kernel, function by function.
    #[arg(long, value_name = "NAME", requires = "env")]
    pub versus: Option<String>,
    /// Compare with the same kernel, or that of --versus, with these boot parameters.
    #[arg(long, value_name = "PARAMETERS", requires = "env")]
    pub versus_append: Option<String>,
    /// Which part to write, with --env.
    #[arg(long, value_enum, default_value_t, requires = "env")]
    pub view: KernelView,
    /// List everything, however small, with --env.
    #[arg(long, requires = "env")]
    pub all: bool,
    /// Output format; csv with --variants or --env only.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// CPU to pin to, or 'none' to let the scheduler choose [default: the last allowed CPU].
    #[arg(long, value_name = "N|none")]
    pub cpu: Option<Wanted>,
    /// Wall time to spend measuring [default: 0.6, with --variants 2].
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub time: Option<Duration>,
}

const EXAMPLES: &str = "\
Examples:
  syscost explain call.getpid
  syscost explain call.getpid --variants
  syscost explain time.clock_gettime --format json | jq '.verdict'
  syscost explain file.fstat --env linux-6.1
  syscost explain file.fstat --env linux-6.1 --versus linux-6.12
  syscost explain file.fstat --env linux-6.1 --view flame > fstat.svg";

fn seconds(text: &str) -> Result<Duration, String> {
    let time = text.parse().ok().and_then(|value| Duration::try_from_secs_f64(value).ok());
    time.filter(|time| !time.is_zero()).ok_or(format!("'{text}' is not a positive number"))
}

/// Explains one operation, or compares its variants.
///
/// # Errors
/// If the operation is unknown or fails, or `out` cannot be written.
pub fn run(args: &ExplainArgs, screen: Screen, out: &mut dyn Write) -> Result<()> {
    usage(check(args))?;
    let mut session = usage(Session::open(options(args)))?;
    let catalogue = std::mem::take(&mut session.catalogue);
    let operation = usage(find(&catalogue, &args.operation))?;
    if let Some(environment) = &args.env {
        return kernel::run(args, environment, &session, &catalogue, operation, screen, out);
    }
    match args.variants {
        false => one(args, session, &catalogue, operation, screen, out),
        true => variants(args, session, &catalogue, operation, screen, out),
    }
}

/// Kernel entries are counted together with the code, not again while measuring.
fn options(args: &ExplainArgs) -> RunOptions {
    let usual = if args.variants { Duration::from_secs(2) } else { Duration::from_millis(600) };
    RunOptions {
        cpu: args.cpu.unwrap_or_default(),
        budget: Some(args.time.unwrap_or(usual)),
        timeout: TIMEOUT,
        verify: false,
        // Counts in software say nothing here that the page faults do not.
        counters: !args.variants && Offer::here(&Sources::default(), None).has_hardware(),
        ..RunOptions::default()
    }
}

fn choices(args: &ExplainArgs) -> Choices<'_> {
    Choices { settings: &args.params, ..Choices::default() }
}

fn check(args: &ExplainArgs) -> Result<()> {
    if args.format == Format::Csv && !args.variants && args.env.is_none() {
        bail!("--format csv is for tables; without --variants or --env use text, markdown or json");
    }
    if let Some(setting) = args.params.iter().find(|s| s.name == THREADS || s.name == SHARED) {
        bail!("--param {}: explain follows one thread; omit it", setting.name);
    }
    if args.params.iter().any(|s| s.name == COLD) {
        bail!("--param {COLD}: explain is about the call, not about caches; omit it");
    }
    if let Some(setting) = args.params.iter().find(|s| s.values.len() != 1) {
        bail!("--param {}: explain takes one value of each parameter", setting.name);
    }
    Ok(())
}

fn find<'a>(catalogue: &'a [Operation], id: &str) -> Result<&'a Operation> {
    if let Some(operation) = catalogue.iter().find(|o| o.id == id) {
        return Ok(operation);
    }
    match plan::named(catalogue, &[id.to_string()])?[..] {
        [one] => Ok(one),
        [first, ..] => bail!("'{id}' names several operations; explain takes one, e.g. {}", first.id),
        [] => bail!("no operation is named '{id}'; 'syscost list' shows all"),
    }
}

/// How long a request may take.
const TIMEOUT: Duration = Duration::from_secs(20);

fn one(
    args: &ExplainArgs,
    session: Session,
    catalogue: &[Operation],
    operation: &Operation,
    screen: Screen,
    out: &mut dyn Write,
) -> Result<()> {
    let planned = usage(plan::select(catalogue, &[Subject::Operation(operation)], &choices(args)))?;
    let explanation = explain::explain(session.workers(), &planned[0], operation);
    let explanation = explanation.with_context(|| operation.id.clone())?;
    let row = rows(session, planned)?.remove(0);
    let (counters, cost) = (row.counters.clone(), cost(row));
    match args.format {
        Format::Json => write_json(&OneJson { explanation: &explanation, cost: cost.ok(), counters }, out),
        format => report::write_explanation(&explanation, &cost, counters.as_ref(), format, screen, out),
    }
}

fn variants(
    args: &ExplainArgs,
    session: Session,
    catalogue: &[Operation],
    operation: &Operation,
    screen: Screen,
    out: &mut dyn Write,
) -> Result<()> {
    let (family, members) = usage(family(catalogue, operation))?;
    let subjects: Vec<Subject> = members.iter().map(|o| Subject::Operation(o)).collect();
    let planned = usage(plan::select(catalogue, &subjects, &choices(args)))?;
    let of_each = members.iter().zip(&planned);
    let explained: Vec<_> = of_each.map(|(o, planned)| explain::explain(session.workers(), planned, o)).collect();
    let with_cost = members.iter().zip(explained).zip(costs(session, planned)?);
    let variants: Vec<Variant> = with_cost
        .map(|((o, explained), cost)| Variant { operation: o.id.clone(), cost: cost.ok(), explained })
        .collect();
    let answer = report::variants_answer(&variants);
    if args.format == Format::Json {
        return write_json(&VariantsJson::new(family, &variants, &answer), out);
    }
    let mut table = report::variant_table(family, &variants);
    if !answer.is_empty() {
        table.notes.push(answer);
    }
    report::write_table(&table, args.format, screen, out)
}

/// The family of an operation and all its members.
fn family<'a>(catalogue: &'a [Operation], operation: &'a Operation) -> Result<(&'a str, Vec<&'a Operation>)> {
    let of = |family: &str| catalogue.iter().filter(|o| o.family.as_deref() == Some(family)).collect::<Vec<_>>();
    let members = operation.family.as_deref().map(|family| (family, of(family)));
    if let Some((family, members)) = members.filter(|(_, members)| members.len() > 1) {
        return Ok((family, members));
    }
    let mut some: Vec<&str> = Vec::new();
    let mut families = std::collections::BTreeSet::new();
    for other in catalogue {
        let Some(family) = other.family.as_deref() else { continue };
        if families.insert(family) && of(family).len() > 1 {
            some.push(&other.id);
        }
    }
    some.truncate(6);
    bail!("{} has no variants; operations that have some: {}", operation.id, some.join(", "))
}

/// The time of each case that was asked for, or why there is none; all against the empty call of the same run.
fn costs(session: Session, planned: Vec<Planned>) -> Result<Vec<Result<Cost, String>>> {
    Ok(rows(session, planned)?.into_iter().map(cost).collect())
}

fn cost(row: Row) -> Result<Cost, String> {
    match row.figure {
        Ok(figure) => Ok(Cost { time: figure.median, times_empty_call: figure.times_empty_call }),
        Err(failure) => Err(failure.message),
    }
}

fn rows(session: Session, planned: Vec<Planned>) -> Result<Vec<Row>> {
    let (run, _) = session.measure(planned, &Progress::new(true), None);
    if !run.complete {
        bail!("interrupted");
    }
    Ok(summarize(&run).rows)
}

#[derive(Serialize)]
struct OneJson<'a> {
    #[serde(flatten)]
    explanation: &'a Explanation,
    cost: Option<Cost>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counters: Option<EventCounts>,
}

#[derive(Serialize)]
struct VariantsJson<'a> {
    family: &'a str,
    variants: Vec<VariantJson<'a>>,
    answer: &'a str,
}

#[derive(Serialize)]
struct VariantJson<'a> {
    operation: &'a str,
    cost: Option<Cost>,
    explanation: Option<&'a Explanation>,
    /// Why there is no explanation.
    failure: Option<&'a str>,
}

impl<'a> VariantsJson<'a> {
    fn new(family: &'a str, variants: &'a [Variant], answer: &'a str) -> VariantsJson<'a> {
        let row = |variant: &'a Variant| VariantJson {
            operation: &variant.operation,
            cost: variant.cost,
            explanation: variant.explained.as_ref().ok(),
            failure: variant.explained.as_ref().err().map(|failure| failure.message.as_str()),
        };
        VariantsJson { family, variants: variants.iter().map(row).collect(), answer }
    }
}

impl Document for OneJson<'_> {
    const SCHEMA: &'static str = "syscost.explain/1";
}

impl Document for VariantsJson<'_> {
    const SCHEMA: &'static str = OneJson::SCHEMA;
}
