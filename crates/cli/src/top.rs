//! `syscost top`: who calls what right now: a live table in a terminal, or tables and JSON lines for scripts and logs.
//!
//! The state is `analysis::top`, columns and documents are `report::top`; here are the clock, the terminal and the files.

mod arguments;
mod live;
mod plain;
mod session;

use super::error::bail_usage;
use super::exit::Exit;
use super::messages::note;
use super::target::TargetArgs;
use super::terminal::is_dumb;
use super::trace::{detail, tell_lost};
use analysis::top::{By, Sort, View};
use anyhow::Result;
use live::Live;
use measure::runner::RunDirectory;
use plain::Plain;
use session::{Session, Show, grouping};
use std::cell::RefCell;
use std::io::IsTerminal;
use std::rc::Rc;
use std::time::Duration;
use trace::{More, TraceOptions};

/// Show which programs make which calls right now: calls, errors and times per second, live.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct TopArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Time between updates.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    interval: Duration,
    /// End after N intervals.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// The rows of the table.
    #[arg(long, default_value = "program")]
    by: By,
    /// The column to sort by, largest first.
    #[arg(long, default_value = "calls")]
    sort: Sort,
    /// The most rows to print [default: 20 as text, all as JSON].
    #[arg(long, value_name = "N")]
    rows: Option<usize>,
    /// Count only, without times: less overhead.
    #[arg(long)]
    counts: bool,
    /// Sample the CPUs instead of counting calls: shares of CPU time by call, for less than 1% overhead.
    #[arg(long, conflicts_with = "counts")]
    sampled: bool,
    /// Output format: a table, or one JSON document a line.
    #[arg(long, default_value = "text")]
    format: Format,
}

/// How intervals are printed.
#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Format {
    /// A table, live in a terminal.
    Text,
    /// One document a line, `syscost.top/2`.
    Json,
}

const EXAMPLES: &str = "\
Examples:
  sudo syscost top --all
  sudo syscost top -p 1234,1250 --by call
  sudo syscost top --container web --interval 5
  sudo syscost top --all --count 1 --by error
  sudo syscost top --all --sampled --by call
  sudo syscost top --all --format json --interval 10 --count 6 > minute.jsonl

Keys: F1 or ? help, F4 or / filter, F6 or s sort, b rows by, arrows and Enter into a row, Esc out of
it, p pause, F10 or q quit.

Only eBPF can do this: it needs root, or CAP_BPF and CAP_PERFMON. A COMMAND has neither input nor output, and is ended with syscost.

Exit status: 0 also when interrupted, or if events were lost; 1 if tracing failed; 126 if COMMAND cannot be run, 127 if not found; 2 usage.";

/// The shortest interval: below, reading all counts would take much of it.
const SHORTEST: Duration = Duration::from_millis(100);

fn interval(text: &str) -> Result<Duration, String> {
    let time = super::run::seconds(text)?;
    if time < SHORTEST {
        Err(format!("at least {} seconds", SHORTEST.as_secs_f64()))
    } else {
        Ok(time)
    }
}

pub fn run(args: &TopArgs) -> Result<Exit> {
    if args.sampled && matches!(args.by, By::Class | By::Error) {
        bail_usage!(
            "--sampled has rows by program, process, call or cgroup only: it does not look into calls"
        );
    }
    let grouping = grouping(args.by);
    let options = TraceOptions {
        target: args.target.resolve()?,
        tracer: Some(trace::bpf::KIND),
        detail: detail(args.sampled, args.counts),
        time: args.target.time,
        more: More {
            grouping,
            live: true,
            ..More::default()
        },
    };
    let scope = options
        .target
        .scope()
        .unwrap_or_else(|| args.target.command());
    // Its janitor ends the command, and gives the terminal back, if this process is killed.
    let run = RunDirectory::create_empty()
        .ok()
        .map(|run| Rc::new(RefCell::new(run)));
    let show = args.show(&scope, run.clone())?;
    let is_live = matches!(show, Show::Live(_));
    let mut session = Session::new(args.interval, args.count, show, grouping);
    // A live screen has its own headline.
    let ended = trace::watch(
        &options,
        run.as_deref(),
        &mut |line| {
            if !is_live {
                note(line);
            }
        },
        &mut session,
    );
    let (lost, torn) = session.trouble();
    // Messages after this go to the ordinary screen.
    drop(session);
    if ended?.is_some() && is_live {
        note("top: the command has ended");
    }
    tell_lost(lost);
    if torn > 0 {
        note(&format!(
            "top: {torn} times, calls were counted while the counts were read: some may be counted twice or not at all"
        ));
    }
    Ok(Exit::Success)
}

impl TopArgs {
    fn show(&self, scope: &str, run: Option<Rc<RefCell<RunDirectory>>>) -> Result<Show> {
        let view = if self.sampled {
            View::for_samples(self.by, self.sort)
        } else {
            View::new(self.by, self.sort)
        };
        let terminal =
            std::io::stdout().is_terminal() && std::env::var_os("TERM").is_some() && !is_dumb();
        let json = self.format == Format::Json;
        Ok(if terminal && self.count != Some(1) && !json {
            Show::Live(Box::new(Live::new(view, scope, run)))
        } else {
            Show::Plain(Box::new(Plain::open(view, json, self.rows, scope)?))
        })
    }
}
