//! `syscost explain`: the code that runs when an operation is called, in one environment or several.
//!
//! Turns flags into cases, gets the code from `explain` and the time from `session`, and writes them in a format.

pub(super) mod kernel;
pub(super) mod program;

use super::complete;
use super::error::{bail_usage, usage};
use super::progress::Progress;
use super::run::{EnvironmentName, seconds};
use super::terminal::screen;

use analysis::summary::summarize;
use anyhow::{Context, Result, bail};
use measure::plan::{self, Choices, Code, Setting, Subject, Surroundings};
use measure::session::{Job, Keep, RunOptions, Session, Sides};
use model::code::{Cost, Explained, Explanation};
use model::{COLD, Operation, Planned, Role, SHARED, THREADS, pattern};
use report::{Format, write_answer};
use std::ffi::OsString;
use std::io::Write;
use std::time::Duration;
use sys::affinity::Wanted;

/// Show which code serves an operation, instruction by instruction.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ExplainArgs {
    /// An operation's id, e.g. call.getpid, or its last part if unique, e.g. getpid (see 'syscost list'); several are
    /// explained one after the other. With one emulated kernel, also a C snippet, e.g. 'c:getppid()'.
    #[arg(value_name = "OPERATION", required_unless_present = "command", add = complete::operations())]
    pub operations: Vec<String>,
    /// A command instead of an operation, in one or more emulated kernels: its instructions, in user mode and
    /// in the kernel, by system call and by kernel function. It runs here once, to find the files that it needs.
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["operations", "params", "setups", "preludes", "view"])]
    pub command: Vec<OsString>,
    /// Explain it in these environments, one after the other. With one emulated kernel, e.g. linux-6.1 or linux:PATH,
    /// show the kernel call tree of one iteration, with instruction counts.
    #[arg(long = "env", value_name = "NAME[,NAME...]", value_delimiter = ',', value_parser = EnvironmentName, group = "place")]
    pub environments: Vec<String>,
    /// Value of a parameter; repeatable.
    #[arg(long = "param", value_name = "KEY=VALUE", add = complete::parameters())]
    pub params: Vec<Setting>,
    /// Untimed setup code of a snippet; @FILE reads it from a file.
    #[arg(long = "setup", value_name = "c:CODE", requires = "place")]
    pub setups: Vec<Code>,
    /// File-scope code of a snippet (headers, functions); @FILE reads it from a file.
    #[arg(long = "prelude", value_name = "c:CODE", requires = "place")]
    pub preludes: Vec<Code>,
    /// Run the code of @FILE even if other users could have written it.
    #[arg(long)]
    pub trust_files: bool,
    #[command(flatten)]
    pub kernels: kernel::KernelArgs,
    /// Output format; csv of an emulated kernel only. 'show' and 'report' open JSON.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// CPU to pin to, or 'none' to let the scheduler choose [default: the last allowed CPU].
    #[arg(long, value_name = "N|none")]
    pub cpu: Option<Wanted>,
    /// Wall time to spend measuring [default: 0.6, for several 2].
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub time: Option<Duration>,
}

const EXAMPLES: &str = "\
Examples:
  syscost explain call.getpid
  syscost explain id.umask id.getppid --env native,m32
  syscost explain time.clock_gettime --format json | jq '.verdict'
  syscost explain file.fstat --env linux-6.1
  syscost explain file.fstat --env linux-6.1 --versus linux-6.12
  syscost explain file.fstat --env linux-6.1 --view flame > fstat.svg
  syscost explain 'c:access(\"/etc/hosts\", R_OK)' --env linux-6.1
  syscost explain file.fstat --env linux-6.1 --versus linux-6.12 --format json > fstat.json && syscost report fstat.json
  syscost explain --env linux-6.1 --versus linux-6.12 -- git status";

/// Explains a command or operations, natively or in emulated kernels, by the options given.
pub fn run(args: &ExplainArgs, out: &mut dyn Write) -> Result<()> {
    if !args.command.is_empty() {
        let names = args.environments.iter().chain(&args.kernels.versus);
        return program::run(args, &names.cloned().collect::<Vec<_>>(), out);
    }
    let emulated = args
        .environments
        .iter()
        .find(|name| kernel::is_emulated(name));
    check(args, emulated)?;
    let mut session = usage(Session::open(options(args), Sides::One))?;
    let catalogue = std::mem::take(&mut session.catalogue);
    if let Some(environment) = emulated {
        let subject = usage(subject(args, &catalogue))?;
        let what = match &subject {
            Subject::Operation(operation) => &operation.what,
            _ => "a C snippet",
        };
        let planned = planned(args, &catalogue, std::slice::from_ref(&subject))?;
        return kernel::run(args, environment, &session, &planned[0], what, out);
    }
    let named = args
        .operations
        .iter()
        .map(|id| find(&catalogue, id))
        .collect::<Result<Vec<_>>>();
    let named = usage(named)?;
    each(args, session, &catalogue, &named, out)
}

fn subject<'a>(args: &ExplainArgs, catalogue: &'a [Operation]) -> Result<Subject<'a>> {
    let word = &args.operations[0];
    if !word.contains(':') {
        return find(catalogue, word).map(Subject::Operation);
    }
    args.setups
        .iter()
        .chain(&args.preludes)
        .try_for_each(|code| code.may_run(args.trust_files))?;
    let surroundings = Surroundings {
        preludes: &args.preludes,
        setups: &args.setups,
        trust_files: args.trust_files,
    };
    Ok(plan::subjects(catalogue, std::slice::from_ref(word), &surroundings)?.remove(0))
}

fn planned(
    args: &ExplainArgs,
    catalogue: &[Operation],
    subjects: &[Subject],
) -> Result<Vec<Planned>> {
    let choices = Choices {
        settings: &args.params,
        environments: &args.environments,
        ..Choices::default()
    };
    usage(plan::select(catalogue, subjects, &choices))
}

fn has_several(args: &ExplainArgs) -> bool {
    args.operations.len() > 1 || args.environments.len() > 1
}

/// Kernel entries are counted together with the code, not again while measuring.
fn options(args: &ExplainArgs) -> RunOptions {
    let usual = Duration::from_millis(if has_several(args) { 2000 } else { 600 });
    RunOptions {
        cpu: args.cpu.unwrap_or_default(),
        budget: Some(args.time.unwrap_or(usual)),
        timeout: TIMEOUT,
        verify: false,
        ..RunOptions::default()
    }
}

fn check(args: &ExplainArgs, emulated: Option<&String>) -> Result<()> {
    if let Some(name) = emulated
        && has_several(args)
    {
        bail_usage!(
            "--env {name}: explain takes one kernel and one operation; --versus adds another kernel"
        );
    }
    check_snippets(args, emulated.is_some())?;
    if emulated.is_none() && (args.kernels.versus.is_some() || args.kernels.all) {
        bail_usage!("--versus and --all need an emulated kernel: add --env linux-6.1, for example");
    }
    if args.format == Format::Csv && emulated.is_none() {
        bail_usage!("--format csv is for emulated kernels; use text, markdown or json");
    }
    if args.format == Format::Json && has_several(args) {
        bail_usage!("--format json is for one operation in one environment: name one");
    }
    for Setting { name, values } in &args.params {
        let wrong = match name.as_str() {
            THREADS | SHARED => "explain follows one thread; omit it",
            COLD => "explain shows the instructions, not the effect of caches; omit it",
            _ if values.len() != 1 => "explain takes one value of each parameter",
            _ => continue,
        };
        bail_usage!("--param {name}: {wrong}");
    }
    Ok(())
}

fn check_snippets(args: &ExplainArgs, in_kernel: bool) -> Result<()> {
    let snippet = args.operations.iter().find(|word| word.contains(':'));
    match snippet {
        None if !args.setups.is_empty() || !args.preludes.is_empty() => {
            bail_usage!("--setup and --prelude are for snippets: give one, e.g. 'c:getppid()'")
        }
        Some(snippet) if !snippet.starts_with("c:") => {
            bail_usage!(
                "'{snippet}': explain takes snippets in C, because only C is built for an emulated kernel; 'syscost run' counts its kernel entries"
            )
        }
        Some(snippet) if !in_kernel => {
            bail_usage!(
                "'{snippet}': snippets are explained only in an emulated kernel: add --env linux-6.1, for example, or count its kernel entries with 'syscost run'"
            )
        }
        _ => Ok(()),
    }
}

fn find<'a>(catalogue: &'a [Operation], id: &str) -> Result<&'a Operation> {
    match pattern::named(catalogue, &[id.to_string()])?[..] {
        [one] => Ok(one),
        ref several => bail_usage!(
            "'{id}' names several operations; explain takes one, e.g. {}",
            several[0].id
        ),
    }
}

const TIMEOUT: Duration = Duration::from_secs(20);

fn each(
    args: &ExplainArgs,
    session: Session,
    catalogue: &[Operation],
    operations: &[&Operation],
    out: &mut dyn Write,
) -> Result<()> {
    let subjects: Vec<Subject> = operations.iter().map(|o| Subject::Operation(o)).collect();
    let planned = planned(args, catalogue, &subjects)?;
    let explanations = planned
        .iter()
        .filter(|planned| planned.role == Role::Asked)
        .map(|planned| explanation(args, &session, planned, operations))
        .collect::<Result<Vec<_>>>()?;
    let costs = costs(session, planned)?;
    for (index, (explanation, cost)) in explanations.into_iter().zip(costs).enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        let explained = Explained { explanation, cost };
        write_answer(
            &explained,
            || report::explanation_document(&explained),
            args.format,
            screen(),
            out,
        )?;
    }
    Ok(())
}

fn explanation(
    args: &ExplainArgs,
    session: &Session,
    planned: &Planned,
    operations: &[&Operation],
) -> Result<Explanation> {
    let case = &planned.case;
    let operation = operations
        .iter()
        .find(|operation| operation.id == case.operation)
        .context("a case without an operation")?;
    let mut explanation = explain::explain(&session.workers, planned, operation)
        .with_context(|| format!("{case} in {}", case.environment))?;
    if !args.environments.is_empty() {
        explanation.what += &format!(", in {}", case.environment);
    }
    Ok(explanation)
}

/// `None` if it failed or was counted in instructions.
fn costs(mut session: Session, planned: Vec<Planned>) -> Result<Vec<Option<Cost>>> {
    let job = Job {
        planned,
        ..Job::default()
    };
    session.check(&job)?;
    let ready = session.prepare(job)?;
    let (run, _) = ready.measure(&Progress::shown(false), &Keep::default());
    if !run.complete {
        bail!("interrupted");
    }
    Ok(summarize(&run)
        .rows
        .iter()
        .map(|row| {
            row.cost().map(|cost| Cost {
                time: cost.median,
                times_getppid: cost.times_getppid,
                is_traced: row.is_traced(),
            })
        })
        .collect())
}
