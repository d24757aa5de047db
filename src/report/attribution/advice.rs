//! Advice in words: who makes which calls, and what to do about them. All formats of attributions call it.

use crate::attribute::Attribution;
use crate::attribute::advice::{Advice, PathUse, Rule, Time};
use crate::model::{DescriptorKind, Profile};
use crate::prose::some;
use crate::report::attribution::notes::{basis, range, seconds};
use crate::report::numbers::{size, thousands, three_figures};
use crate::report::{Cell, Spec, Table};

/// All advice as a table, or that there is none.
pub fn table(profile: &Profile, found: &Attribution) -> Table {
    let advice = &found.advice[..];
    let number = |value: f64| Cell::number(seconds(value), value);
    let columns = [
        Spec::right("saves s", move |advice: &Advice| advice.saved.map_or("?".into(), |saved| number(saved.value))),
        Spec::right("range", |advice: &Advice| advice.saved.map_or(Cell::default(), |saved| range(saved).into())),
        Spec::right("calls", |advice: &Advice| Cell::number(thousands(advice.calls as f64), advice.calls as f64)),
        Spec::right("took s", move |advice: &Advice| advice.measured_s.map_or(Cell::default(), number)),
        Spec::left("what", |advice: &Advice| what(advice).into()).wrapping(),
        Spec::left("by unit costs", |advice: &Advice| unit_costs(advice).into()).wrapping().expendable(1),
    ];
    let notes = if advice.is_empty() { none(profile, found) } else { vec![SECONDS.to_string()] };
    Table::of(&columns, advice).titled("What could be saved").noted(notes)
}

/// That no rule found anything, and what the rules could not look at.
pub fn none(profile: &Profile, found: &Attribution) -> Vec<String> {
    let mut lines = vec![
        "Nothing to save: no rule found calls that could be avoided and that take a thousandth of the wall time."
            .to_string(),
    ];
    if found.here.costs.is_none() {
        lines.push(
            "Without unit costs most rules cannot say what would take the place of a call: pass --costs.".to_string(),
        );
    }
    if profile.source.is_none() && profile.objects.is_empty() {
        lines.push("Which paths were asked for again is not known: 'syscost trace --paths' records them.".to_string());
    }
    lines
}

fn unit_costs(advice: &Advice) -> String {
    advice.basis.iter().map(basis).collect::<Vec<_>>().join(" and ")
}

const SECONDS: &str = "Seconds are CPU time, so of wall time as well where one thread does the work, and with waiting where that \
                       is said. Savings overlap: they do not add up.";

/// One line: `0.0312 s (0.0156 to 0.0624): cat: read of 1 byte each of a file: ...`
pub fn line(advice: &Advice) -> String {
    let Some(saved) = advice.saved else { return what(advice) };
    let range =
        Some(range(saved)).filter(|range| !range.is_empty()).map_or_else(String::new, |range| format!(" ({range})"));
    format!("{} s{range}: {}", seconds(saved.value), what(advice))
}

/// Who makes the calls, and what to do.
pub fn what(advice: &Advice) -> String {
    let (calls, todo) = (calls(advice), todo(advice));
    let waiting = if advice.time == Time::Elapsed { " (with waiting)" } else { "" };
    match advice.process.as_str() {
        "" => format!("{calls}: {todo}{waiting}"),
        process => format!("{process}: {calls}: {todo}{waiting}"),
    }
}

/// The calls that are meant, as a phrase: `read of under 128 bytes of a file`.
fn calls(advice: &Advice) -> String {
    let names = some(&advice.names, 4);
    match &advice.rule {
        Rule::SmallTransfers { descriptor, bytes, .. } => {
            let each = *bytes as f64 / advice.calls.max(1) as f64;
            let unit = if each < 1.5 { "1 byte".to_string() } else { format!("{} bytes", three_figures(each)) };
            format!("{names} of {unit} each{}", on(*descriptor))
        }
        Rule::EmptyReads { descriptor } => format!("{names}{} with nothing to read (EAGAIN)", on(*descriptor)),
        Rule::EmptyPolls { inputs } => {
            format!("{names} with nothing ready, beyond the {} reads", thousands(*inputs as f64))
        }
        Rule::LargePollSets => format!("{names} of 64 or more descriptors"),
        Rule::Probing { found, paths } => {
            let each = advice.calls as f64 / (*found).max(1) as f64;
            format!("{names} of names that do not exist, {} for each that does{}", three_figures(each), of(paths))
        }
        Rule::StatStorm { paths, distinct } => {
            let distinct = thousands(*distinct as f64);
            format!("{names} of the same paths again, {distinct} of them{}", of(paths))
        }
        Rule::SyncPerRecord { writes } => format!("{names} for {} writes", thousands(*writes as f64)),
        Rule::FutexTraffic { waits, wakes, raced, blocked_s } => {
            let [waits, wakes, raced] = [*waits, *wakes, *raced].map(|n| thousands(n as f64));
            let blocked = blocked_s.map_or_else(String::new, |s| format!(", {} s blocked", seconds(s)));
            format!("{names}: {waits} waits ({raced} came too late), {wakes} wakes{blocked}")
        }
        Rule::SmallMaps { size: bytes, faults } => {
            let (bytes, faults) = (size(*bytes as f64), thousands(*faults as f64));
            format!("{names} of {bytes} and more, with {faults} page faults")
        }
        Rule::ForkForExec { peak_rss_kib } => {
            let rss = peak_rss_kib.map(|kib| format!(", of processes of up to {} MiB", thousands(kib as f64 / 1024.0)));
            format!("{names} followed by exec{}", rss.unwrap_or_default())
        }
        Rule::TemporaryFiles | Rule::RealClockCalls | Rule::IdentityCalls => names,
    }
}

/// What to do about them.
fn todo(advice: &Advice) -> String {
    let text = match &advice.rule {
        Rule::SmallTransfers { buffered, .. } => {
            return format!("a buffer of 4 KiB would move the same data in {} calls", thousands(*buffered as f64));
        }
        Rule::EmptyReads { .. } => "stop after a short read, or wait with poll or epoll before reading",
        Rule::EmptyPolls { .. } => "let one poll wait (timeout -1) instead of asking again",
        Rule::LargePollSets => "epoll keeps the set in the kernel and looks at what is ready",
        Rule::Probing { .. } => "shorten the search path or put the right directory first, or remember what is where",
        Rule::StatStorm { .. } => "keep the first answer",
        Rule::TemporaryFiles => {
            "files are created and unlinked: keep one and empty it with ftruncate, or keep the data in memory"
        }
        Rule::SyncPerRecord { .. } => "one sync for ten records saves nine of ten",
        Rule::RealClockCalls => {
            "enters the kernel although the vDSO could answer; another clock source, a static or 32-bit program or a direct \
             syscall() prevents that"
        }
        Rule::IdentityCalls => "the answer does not change: keep it",
        Rule::FutexTraffic { .. } => {
            "at most this: hand over several items for each wake, and hold locks for less time"
        }
        Rule::SmallMaps { .. } => "keep the memory, e.g. with a higher M_MMAP_THRESHOLD and M_TRIM_THRESHOLD (mallopt)",
        Rule::ForkForExec { .. } => "posix_spawn or vfork copies no page tables",
    };
    text.to_string()
}

fn on(kind: Option<DescriptorKind>) -> &'static str {
    match kind {
        None => "",
        Some(DescriptorKind::File) => " on files",
        Some(DescriptorKind::Directory) => " on directories",
        Some(DescriptorKind::Pipe) => " on pipes",
        Some(DescriptorKind::Socket) => " on sockets",
        Some(DescriptorKind::Terminal) => " on terminals",
        Some(DescriptorKind::Device) => " on devices",
        Some(DescriptorKind::Event) => " on event descriptors",
        Some(DescriptorKind::None) => " on closed descriptors",
    }
}

/// ` (most: a.h 150,000, b.h 149,000)`
fn of(paths: &[PathUse]) -> String {
    let one = |path: &PathUse| format!("{} {}", path.path, thousands(path.calls as f64));
    let named: Vec<String> = paths.iter().map(one).collect();
    if named.is_empty() { String::new() } else { format!(" (most: {})", named.join(", ")) }
}
