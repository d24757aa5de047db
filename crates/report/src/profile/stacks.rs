//! Who makes the calls: the stacks of a profile, as a table, as folded lines that flame graph programs read, and as a flame
//! graph of our own.

use crate::figure::tree::{Step, Tree};
use crate::figure::{Chart, Figure, FrameKind};
use crate::numbers::{counted, duration, in_seconds};
use crate::{Columns, Table};
use document::{Block, Document};
use itertools::Itertools;
use model::{Profile, StackCount};

/// The quantity that stacks are weighted by.
#[derive(Clone, Copy, Default, clap::ValueEnum)]
pub enum Weight {
    /// Its calls.
    #[default]
    Calls,
    /// Their time on a CPU, in nanoseconds.
    OnCpu,
    /// Their time blocked, in nanoseconds.
    Blocked,
}

impl Weight {
    /// Calls, or nanoseconds.
    pub fn weigh(&self, stack: &StackCount) -> Option<f64> {
        match self {
            Weight::Calls => Some(stack.calls as f64),
            Weight::OnCpu => stack.on_cpu_ns.map(|ns| ns as f64),
            Weight::Blocked => stack.blocked_ns.map(|ns| ns as f64),
        }
    }

    fn words(&self) -> &'static str {
        match self {
            Weight::Calls => "calls",
            Weight::OnCpu => "time on the CPU in calls",
            Weight::Blocked => "time blocked in calls",
        }
    }

    fn value(&self, weight: f64) -> String {
        match self {
            Weight::Calls => counted(weight as u64, "call"),
            _ => duration(weight / 1e9),
        }
    }
}

/// Folded: `process;outermost;innermost;call WEIGHT`, times in nanoseconds.
pub fn stacks_document(profile: &Profile, weight: &Weight, folded: bool) -> Document {
    match folded {
        true if profile.stacks.is_empty() => Block::drawn(vec![NONE.to_string()]).into(),
        true => Block::drawn(folded_lines(profile, weight)).into(),
        false => stack_table(profile).into(),
    }
}

const NONE: &str = "This profile has no stacks: no call ended, or it was traced without --stacks.";

/// A semicolon or line end in a name would be read as the end of a frame.
fn folded_lines(profile: &Profile, weight: &Weight) -> Vec<String> {
    profile
        .stacks
        .iter()
        .filter_map(|stack| {
            let weight = weight.weigh(stack).filter(|weight| *weight >= 0.5)?;
            let frames = path(stack)
                .map(|(_, frame)| frame.replace([';', '\n'], ":"))
                .join(";");
            Some(format!("{frames} {weight:.0}"))
        })
        .collect()
}

fn stack_table(profile: &Profile) -> Table {
    fn text(s: f64) -> String {
        format!("{s:.4}")
    }

    let columns = Columns::new(&profile.stacks)
        .same("process", |stack| &stack.process)
        .left("stack", |stack| stack.frames.join(" > "))
        .wrapping()
        .field("frames", |stack| stack.frames.join(";"))
        .same("call", |stack| &stack.call)
        .counts("calls", "calls", |stack| stack.calls)
        .numbers("on CPU s", "on_cpu_s", text, |stack| {
            in_seconds(stack.on_cpu_ns)
        })
        .numbers("blocked s", "blocked_s", text, |stack| {
            in_seconds(stack.blocked_ns)
        });
    columns
        .table()
        .noted(profile.stacks.is_empty().then_some(NONE))
}

/// The frames from the process to the call, outermost first.
pub fn path(stack: &StackCount) -> impl Iterator<Item = (FrameKind, &str)> {
    let frames = stack
        .frames
        .iter()
        .map(|frame| (FrameKind::Function, frame.as_str()));
    let process = std::iter::once((FrameKind::Process, stack.process.as_str()));
    process
        .chain(frames)
        .chain(std::iter::once((FrameKind::Call, stack.call.as_str())))
}

/// `None` without stacks of this weight.
pub fn flame_figure(profile: &Profile, weight: &Weight) -> Option<Figure> {
    let mut tree = Tree::default();
    grow(&mut tree, profile, weight, 0);
    let whole = Some(tree.sum(0)).filter(|sum| *sum > 0.0)?;
    let description = format!(
        "Flame graph of {} stacks: processes at the top, below each function those that it calls, system calls at the \
         bottom; widths are shares of {}, {} in all.",
        profile.stacks.len(),
        weight.words(),
        weight.value(whole)
    );
    Some(Figure {
        title: format!("Who makes the calls, by {}", weight.words()),
        description,
        chart: Chart::Flame(tree.flame(&|sum| weight.value(sum))),
    })
}

/// `None` unless both have stacks of this weight.
pub fn flame_difference(profiles: [&Profile; 2], weight: &Weight) -> Option<Figure> {
    let mut tree = Tree::default();
    profiles
        .into_iter()
        .enumerate()
        .for_each(|(side, profile)| grow(&mut tree, profile, weight, side));
    let [before, after] = [0, 1].map(|side| Some(tree.sum(side)).filter(|sum| *sum > 0.0));
    let (before, after) = (weight.value(before?), weight.value(after?));
    let description = format!(
        "Flame graph of two profiles: widths are the larger of both sides in {}, {before} before and {after} after in all; \
         frames with more are red, those with less blue.",
        weight.words()
    );
    Some(Figure {
        title: format!(
            "What changed, by {}: {before} before, {after} after",
            weight.words()
        ),
        description,
        chart: Chart::Flame(tree.difference(&|sum| weight.value(sum))),
    })
}

fn grow<'a>(tree: &mut Tree<'a>, profile: &'a Profile, weight: &Weight, side: usize) {
    for stack in &profile.stacks {
        if let Some(weight) = weight.weigh(stack).filter(|weight| *weight > 0.0) {
            tree.add(named(path(stack)), side, weight);
        }
    }
}

/// Functions of one file that have no symbols, one below the other, become one frame: `[git]`. Their addresses say nothing to a reader.
fn named<'a>(path: impl Iterator<Item = Step<'a>>) -> impl Iterator<Item = Step<'a>> {
    path.map(|(kind, name)| match file_without_symbol(name) {
        Some(file) if kind == FrameKind::Function => (FrameKind::NoSymbol, file),
        _ => (kind, name),
    })
    .dedup_by(|one, next| one == next && one.0 == FrameKind::NoSymbol)
}

/// Of `git:0x1e7690` or `lib.so+0x80c4`.
fn file_without_symbol(frame: &str) -> Option<&str> {
    let (file, address) = frame.rsplit_once("0x")?;
    if address.is_empty() || !address.chars().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    file.strip_suffix([':', '+'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_without_symbols_are_one_frame_a_file() {
        let frames = [
            "main",
            "git:0x1e7690",
            "git:0x10",
            "libz.so.1+0x80c4",
            "git:0x1",
            "0x12",
            "a::0xg",
        ];
        let path = frames.map(|name| (FrameKind::Function, name));
        let names: Vec<&str> = named(path.into_iter()).map(|(_, name)| name).collect();
        assert_eq!(names, ["main", "git", "libz.so.1", "git", "0x12", "a::0xg"]);
    }
}
