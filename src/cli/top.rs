//! `syscost top`: who calls what right now: a live table in a terminal, or tables and JSON lines for scripts and logs, and
//! metrics for a collector.
//!
//! The state is `crate::top`, columns and documents are `report::top`; here are the clock, the terminal and the files.

mod live;
mod metrics;
mod plain;
mod serve;

use super::error::usage;
use super::exit::Exit;
use super::messages::{Notes, tell};
use super::target::TargetArgs;
use crate::kernel::usage::own_cpu_ns;
use crate::model::Profile;
use crate::top::{By, Counts, Sort, View};
use crate::trace::{Detail, Grouping, More, TraceOptions, Tracer, Watcher};
use anyhow::{Result, anyhow};
use live::Live;
use metrics::Metrics;
use plain::Plain;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Show who calls what right now: calls, errors and times per second, live.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct TopArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Time between two tables.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = interval)]
    interval: f64,
    /// End after N intervals.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Print one table, and end: '--plain --count 1'.
    #[arg(long, conflicts_with = "count")]
    once: bool,
    /// The rows of the table.
    #[arg(long, value_enum, default_value = "process")]
    by: By,
    /// The column that rows are sorted by, the most first.
    #[arg(long, value_enum, default_value = "calls")]
    sort: Sort,
    /// The most rows to print [default: 20 as text, all as JSON].
    #[arg(long, value_name = "N")]
    rows: Option<usize>,
    /// Count only, do not time: less overhead.
    #[arg(long)]
    counts: bool,
    /// Sample the CPUs and count no call: shares of CPU time by call, for less than 1% of it.
    #[arg(long, conflicts_with_all = ["counts", "textfile", "listen"])]
    sampled: bool,
    /// Print tables one after another, as is done where standard output is no terminal.
    #[arg(long)]
    plain: bool,
    /// Output format: a table, or one JSON document a line.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Also write all counts as OpenMetrics to a file, replaced each interval, for node_exporter's textfile collector.
    #[arg(long, value_name = "FILE")]
    textfile: Option<PathBuf>,
    /// Also answer 'GET /metrics' with all counts as OpenMetrics; the address is the local one unless named.
    #[arg(long, value_name = "[ADDRESS:]PORT")]
    listen: Option<String>,
}

/// How intervals are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
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
  sudo syscost top --all --once --by error
  sudo syscost top --all --sampled --by call
  sudo syscost top --all --format json --interval 10 --count 6 > minute.jsonl
  sudo syscost top --all --quiet --listen 9099

Keys: q quit, s sort, b rows by, arrows and Enter into a row, Esc out of it, p pause, ? help.

Only eBPF can do this: it needs root, or CAP_BPF and CAP_PERFMON. A COMMAND has neither input
nor output, and is ended (SIGTERM) with syscost.

Exit status: 0 also when interrupted, or if events were lost; 1 if tracing failed; 126 if COMMAND cannot be run, 127 if not found; 2 usage.";

/// The shortest interval: below, reading all counts would take much of it.
const SHORTEST_S: f64 = 0.1;

fn interval(text: &str) -> Result<f64, String> {
    let seconds = super::run::positive(text)?;
    if seconds < SHORTEST_S { Err(format!("at least {SHORTEST_S} seconds")) } else { Ok(seconds) }
}

/// Traces, and shows. Errors: why there is no such target, why it cannot be traced, or what cannot be written.
pub fn run(args: &TopArgs, notes: Notes) -> Result<Exit> {
    usage(args.target.check())?;
    if args.sampled && matches!(args.by, By::Class | By::Error) {
        return usage(Err(anyhow!("--sampled has rows by process, call or cgroup: no call is looked at")));
    }
    let metrics = Metrics::open(args.textfile.clone(), args.listen.as_deref())?;
    let nothing = notes.quiet && metrics.is_some();
    let options = args.options(nothing)?;
    let scope = options.target.scope().unwrap_or_else(|| args.target.command());
    let show = args.show(nothing, &scope)?;
    let is_live = matches!(show, Show::Live(_));
    let count = if args.once { Some(1) } else { args.count };
    let mut session = Session::new(Duration::from_secs_f64(args.interval), count, show, metrics, scope);
    // A live screen has its own headline.
    let ended = crate::trace::watch(
        &options,
        &mut |line| {
            if !is_live {
                notes.tell(&line)
            }
        },
        &mut session,
    );
    // Dropped first: what is said after this is not for the live screen.
    let (lost, torn) = session.finish();
    let ending = ended?;
    if ending.is_some() && is_live {
        notes.tell(&"top: the command has ended");
    }
    if lost > 0 {
        tell(&format!("top: {lost} events were lost: the counts are lower bounds"));
    }
    if torn > 0 {
        notes.tell(&format!("top: {torn} times, calls were counted while the counts were read: some may have been there twice or not at all"));
    }
    Ok(Exit::Success)
}

impl TopArgs {
    /// `nothing`: whether only metrics are wanted.
    fn options(&self, nothing: bool) -> Result<TraceOptions> {
        let grouping = match self.by {
            By::Cgroup => Grouping::Cgroup,
            // Metrics have names only, and processes that come and go do not fill the tables.
            _ if nothing => Grouping::Name,
            _ => Grouping::Process,
        };
        let detail = match () {
            () if self.sampled => Detail::Samples,
            () if self.counts => Detail::Counts,
            () => Detail::Times,
        };
        Ok(TraceOptions {
            target: self.target.resolve()?,
            tracer: Some(crate::trace::bpf::KIND),
            detail,
            calls: Vec::new(),
            more: More { grouping, ..More::default() },
        })
    }

    fn show(&self, nothing: bool, scope: &str) -> Result<Show> {
        let view = if self.sampled { View::of_samples(self.by, self.sort) } else { View::new(self.by, self.sort) };
        let terminal = std::io::stdout().is_terminal() && std::env::var_os("TERM").is_some_and(|term| term != "dumb");
        Ok(if nothing {
            Show::Nothing
        } else if terminal && !self.plain && !self.once && self.format == Format::Text {
            Show::Live(Box::new(Live::new(view, scope)))
        } else {
            Show::Plain(Box::new(Plain::open(view, self.format == Format::Json, self.rows, scope)?))
        })
    }
}

enum Show {
    Live(Box<Live>),
    Plain(Box<Plain>),
    /// Only metrics are wanted.
    Nothing,
}

/// Takes counts in intervals, and hands them to what shows them.
struct Session {
    begun: Instant,
    interval: Duration,
    due: Instant,
    left: Option<u64>,
    before: Counts,
    now: Counts,
    show: Show,
    metrics: Option<Metrics>,
    scope: String,
}

/// How long a key may wait for its answer.
const KEYS: Duration = Duration::from_millis(50);

impl Session {
    fn new(interval: Duration, left: Option<u64>, show: Show, metrics: Option<Metrics>, scope: String) -> Session {
        let begun = Instant::now();
        let (before, now) = (Counts::default(), Counts::default());
        Session { begun, interval, due: begun, left, before, now, show, metrics, scope }
    }

    /// Restores the terminal; returns how many events were lost, and how many reads were torn.
    fn finish(self) -> (u64, u64) {
        (self.now.tracer.lost, self.now.torn)
    }

    fn take(&self, (collected, torn): (Profile, bool)) -> Counts {
        Counts {
            at_ns: u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX),
            groups: collected.groups,
            latencies: collected.latencies,
            tracer: collected.tracer,
            torn: self.now.torn + u64::from(torn),
            own_cpu_ns: own_cpu_ns(),
        }
    }

    fn show(&mut self) -> Result<bool> {
        if let Some(metrics) = &mut self.metrics {
            metrics.publish(&self.now, &self.scope)?;
        }
        match &mut self.show {
            Show::Live(live) => live.update(&self.before, &self.now),
            Show::Plain(plain) => plain.print(&self.before, &self.now),
            Show::Nothing => Ok(true),
        }
    }
}

impl Watcher for Session {
    fn delay(&self) -> Duration {
        let left = self.due.saturating_duration_since(Instant::now());
        if matches!(self.show, Show::Live(_)) { left.min(KEYS) } else { left }
    }

    fn look(&mut self, ended: bool, tracer: &mut dyn Tracer) -> Result<bool> {
        if let Show::Live(live) = &mut self.show
            && !live.keys()?
        {
            return Ok(false);
        }
        if Instant::now() < self.due && !ended {
            return Ok(true);
        }
        let first = self.now.at_ns == 0;
        let taken = self.take(tracer.snapshot()?);
        self.before = std::mem::replace(&mut self.now, taken);
        // Late counts are not made up for.
        let now = Instant::now();
        let next = self.due + self.interval;
        self.due = if first || next < now { now + self.interval } else { next };
        if first && !ended {
            return Ok(true);
        }
        let goes_on = self.show()?;
        self.left = self.left.map(|left| left.saturating_sub(1));
        Ok(goes_on && self.left != Some(0))
    }
}
