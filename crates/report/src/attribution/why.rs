//! An attribution on one screen: the answer, the parts of the time, the longest calls and their callers, further savings, and
//! predictions for other machines. This module decides their order and length.

use super::answer::answer;
use super::hung::{SHOWS_ALL, all_hung, hung_lines};
use super::ledger::ledger_table;
use super::notes::{is_traced, range};
use super::rings::rings;
use super::time::time_table;
use super::{advice, calls, csv, elsewhere};
use crate::conditions::tracers;
use crate::numbers::{counted, percent, seconds};
use crate::profile::notes::{self, PROGRAMS, title};
use crate::{Cell, Columns, Format, Screen, Table, write_document};
use analysis::attribute::Attribution;
use analysis::attribute::calls::Entering;
use analysis::attribute::goroutines::processes;
use analysis::attribute::seconds::s;
use analysis::attribute::spent::{PartKind, Spent};
use analysis::compare::RaceFound;
use clap::ValueEnum;
use document::{Block, Document};
use model::program::ProgramInKernels;
use model::{JsonDocument, Profile};
use schemars::JsonSchema;
use serde::Serialize;

const MOST_WARNINGS: usize = 2;
const MOST_TITLE: usize = 50;
/// Lines of a screen: of one process, and of several, which have threads or a tree.
const LINES: [usize; 2] = [24, 40];

/// How much `syscost why` shows.
#[derive(Clone, Copy, Default, PartialEq, ValueEnum)]
pub enum WhyView {
    /// The answer, and as much of the rest as fits on 24 lines.
    #[default]
    Screen,
    /// All of it.
    All,
}

/// The most rows, and names in one.
#[derive(Clone, Copy)]
pub struct Length {
    pub parts: usize,
    pub calls: usize,
    pub names: usize,
}

pub const ALL: Length = length(usize::MAX, usize::MAX, 4);

/// Lengths of a screen, from the longest to the shortest: the first that fits is used.
const LENGTHS: [Length; 6] = [
    length(6, 5, 4),
    length(6, 5, 2),
    length(5, 4, 1),
    length(4, 3, 1),
    length(3, 2, 1),
    length(2, 1, 1),
];

const fn length(parts: usize, calls: usize, names: usize) -> Length {
    Length {
        parts,
        calls,
        names,
    }
}

/// The output of `syscost why`: the parts of a command's time, and possible savings.
#[derive(Serialize, JsonSchema)]
pub struct WhyDocument<'a> {
    #[serde(flatten)]
    pub attribution: &'a Attribution,
    /// With `--env`: the command in environments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub race: Option<&'a RaceFound>,
    /// With `--env`: the command in emulated kernels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernels: Option<&'a ProgramInKernels>,
}

impl JsonDocument for WhyDocument<'_> {
    const SCHEMA: &'static str = "syscost.why/1";
}

/// The answer, the parts of the time, the calls, and further advice. A [`WhyView::Screen`] is shortened to fit `screen`.
pub fn why_document(
    profile: &Profile,
    attribution: &Attribution,
    view: WhyView,
    screen: Screen,
) -> Document {
    let lengths: &[Length] = match view {
        WhyView::Screen => &LENGTHS,
        WhyView::All => &[ALL],
    };
    let most = LINES[usize::from(attribution.threads.is_some() || profile.tree.len() > 1)];
    let mut tables = Vec::new();
    for length in lengths {
        tables = why_tables(profile, attribution, *length);
        if lines(&tables, screen) <= most {
            break;
        }
    }
    tables.extend(attribution.elsewhere.iter().map(elsewhere::table));
    Document {
        blocks: tables.into_iter().map(Block::Table).collect(),
        records: csv::records(attribution),
    }
}

fn lines(tables: &[Table], screen: Screen) -> usize {
    let mut text = Vec::new();
    let document = Document {
        blocks: tables.iter().cloned().map(Block::Table).collect(),
        ..Document::default()
    };
    match write_document(&document, Format::Text, screen, &mut text) {
        Ok(()) => text.iter().filter(|byte| **byte == b'\n').count(),
        Err(_) => 0,
    }
}

fn why_tables(profile: &Profile, attribution: &Attribution, length: Length) -> Vec<Table> {
    let is_all = length.parts == ALL.parts;
    let title = if is_all {
        title(profile)
    } else {
        cut(title(profile))
    };
    // Services have no end that something could delay: their wall time is not divided.
    let by_wall = attribution.threads.is_none() || !profile.is_service();
    let threads = attribution.threads.iter();
    let mut tables: Vec<Table> = threads
        .map(|ledger| ledger_table(profile, &title, ledger, length))
        .collect();
    // One name in a row: without what is rarely the answer.
    let is_short = length.names == 1;
    if tables.is_empty() || by_wall && !is_short {
        let time = &attribution.time;
        tables.push(time_table(&title, time, &attribution.waits, length));
    }
    tables[0].cautions = answer(profile, attribution);
    tables[0]
        .cautions
        .retain(|line| !is_all || !line.ends_with(SHOWS_ALL));
    if let Some(last) = tables.last_mut() {
        last.notes.extend(verdicts(profile, attribution));
        if !is_short {
            last.notes.extend(gap(profile));
        }
        if is_all {
            last.notes.extend(open_calls(attribution));
        }
        if !is_short && attribution.advice.is_empty() && attribution.hung.is_empty() {
            last.notes.extend(paths(profile));
        }
    }
    tables.push(calls::table(profile, attribution, length.calls));
    tables.push(rings(profile, attribution));
    tables.push(further(attribution, length.calls));
    if tables[0]
        .cautions
        .iter()
        .any(|line| line.contains(PROGRAMS))
    {
        for table in &mut tables {
            table
                .notes
                .retain(|note| is_all || !note.starts_with(PROGRAMS));
        }
    }
    tables.retain(|table| {
        !table.rows().is_empty() || !table.notes.is_empty() || !table.cautions.is_empty()
    });
    if let Some(last) = tables.last_mut() {
        last.notes.extend(warnings(profile, attribution));
    }
    tables.iter().map(Table::without_empty).collect()
}

/// Long waits that the answer leaves out.
fn open_calls(attribution: &Attribution) -> Vec<String> {
    let told = hung_lines(attribution);
    let all = all_hung(attribution).into_iter().map(|(_, line)| line);
    all.filter(|line| !told.contains(line)).collect()
}

/// A long command leaves room for the answer.
fn cut(title: String) -> String {
    match title.char_indices().nth(MOST_TITLE) {
        Some((end, _)) => format!("{}...", &title[..end]),
        None => title,
    }
}

fn warnings(profile: &Profile, attribution: &Attribution) -> impl Iterator<Item = String> {
    let warnings = attribution.warnings.iter().cloned();
    let warnings = warnings
        .chain(tracers(&profile.host))
        .map(|warning| format!("Warning: {}.", warning.trim_end_matches('.')));
    let all = notes::incomplete(profile).into_iter().chain(warnings);
    all.take(MOST_WARNINGS)
}

fn verdicts(profile: &Profile, attribution: &Attribution) -> impl Iterator<Item = String> {
    let entering = attribution.entering.as_ref();
    entering
        // Calls that only wait take no time that could bound the entries.
        .filter(|entering| entering.null_call_ns >= 0.5)
        .map(|entering| without_entering(entering, &attribution.time))
        .into_iter()
        .chain(goroutines(profile))
        .chain(unnamed(profile, &attribution.time))
        .chain(stopped(&attribution.time))
        .chain(priced(profile))
        .chain(notes::source(profile))
}

fn without_entering(entering: &Entering, time: &Spent) -> String {
    let of_time = match (entering.of_wall, is_traced(time)) {
        (true, true) => "of the wall time without tracing",
        (true, false) => "of the wall time",
        (false, _) => "of the CPU time",
    };
    // Stops hide the real time of calls, of which this is then only an upper bound.
    let at_most = if entering.upper_bound || time.seconds_of(PartKind::Stops) > 0.0 {
        "at most "
    } else {
        ""
    };
    format!(
        "Entering the kernel: {at_most}{}% {of_time} ({} x {:.0} ns).",
        percent(100.0 * entering.share),
        counted(entering.calls, "call"),
        entering.null_call_ns
    )
}

fn goroutines(profile: &Profile) -> Option<String> {
    if processes(profile).is_empty() {
        return None;
    }
    Some("Goroutines: waits for channels and sync.Mutex do not enter the kernel and are unknown. They move between threads, so the time of \
         requests is not divided."
        .to_string())
}

/// By the beginning of a function of a language's runtime, how its programs' functions would be named.
const NAMING: [(&str, &str); 2] = [
    (
        "node::",
        "Functions of JavaScript are named with 'node --perf-basic-prof'.",
    ),
    (
        "JavaCalls::",
        "Functions of Java are named with 'java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit'.",
    ),
];
/// The function that interprets Python. Calls have the function of the script, samples do not.
const PYTHON: &str = "_PyEval_EvalFrameDefault";

fn unnamed(profile: &Profile, time: &Spent) -> Option<String> {
    let mut user_mode = time
        .parts
        .iter()
        .filter(|part| part.kind == PartKind::UserMode);
    if user_mode.any(|part| part.what.first().is_some_and(|name| name == PYTHON)) {
        return Some("User mode names the interpreter's functions; Python's own are in 'python3 -m cProfile'.".to_string());
    }
    let (_, hint) = NAMING.iter().find(|(begin, _)| {
        let stacks = profile.stacks.iter();
        let mut stacks = stacks
            .filter(|stack| stack.frames.iter().any(|frame| frame.starts_with(begin)))
            .peekable();
        stacks.peek().is_some() && stacks.all(|stack| stack.function.is_none())
    })?;
    Some((*hint).to_string())
}

fn stopped(time: &Spent) -> Option<String> {
    let is_hidden = time.seconds_of(PartKind::Stops) > 0.0;
    if !is_hidden {
        return None;
    }
    Some("The time of calls is not known, because ptrace stops the program at each call for longer than most calls take. As root, eBPF \
         measures it."
            .to_string())
}

fn priced(profile: &Profile) -> Option<String> {
    if profile.tracer.priced_by.is_empty() {
        return None;
    }
    Some("Times of calls are estimates: their number x the cost of such a call here after the run. ptrace stops hide the real times, and slow down user mode. As \
         root, eBPF measures them."
        .to_string())
}

fn paths(profile: &Profile) -> Option<String> {
    if profile.source.is_some() || !profile.objects.is_empty() || profile.all_calls().calls == 0 {
        return None;
    }
    Some("Repeated look-ups are unknown: 'syscost trace --paths' records them.".to_string())
}

/// From this share of the wall time on, the longest time between two calls is shown.
const LEAST_GAP: f64 = 0.01;

fn gap(profile: &Profile) -> Option<String> {
    let usage = &profile.usage;
    let gap = usage.longest_gap.as_ref()?;
    let with = match profile.all_calls().elapsed_ns {
        Some(_) => "",
        None => ", with the first of them",
    };
    if gap.ns as f64 >= LEAST_GAP * usage.wall_ns? as f64 {
        Some(format!(
            "The longest time between two calls{with}: {} s, from {} to {} (line {}).",
            seconds(s(gap.ns)),
            gap.after,
            gap.before,
            gap.line
        ))
    } else {
        None
    }
}

/// All but the first, which is the answer.
fn further(attribution: &Attribution, most: usize) -> Table {
    let advice = attribution.advice.get(1..).unwrap_or_default();
    let columns = Columns::new(&advice[..advice.len().min(most)])
        .right("saves s", |advice| {
            advice.saved.map_or_else(
                || Cell::from("?"),
                |saved| Cell::number(seconds(saved.value), saved.value),
            )
        })
        .right("range", |advice| {
            advice.saved.map(range).unwrap_or_default()
        })
        .left("what", advice::what)
        .wrapping();
    columns.table().titled("Further savings")
}
