//! Who makes the calls: the stacks of a profile, as a table, as folded lines that flame graph programs read, and as a flame
//! graph of our own.

use crate::document::{Block, Document};
use crate::model::{Profile, StackCount};
use crate::report::figure::{Chart, Figure, Flame, Frame, FrameKind};
use crate::report::numbers::thousands;
use crate::report::{Cell, Spec, Table};
use std::collections::HashMap;

/// What a stack weighs.
#[derive(Clone, Debug, PartialEq)]
pub enum Weight {
    Calls,
    OnCpu,
    Blocked,
    /// Seconds per call by unit costs, by name of the call.
    Attributed(HashMap<String, f64>),
}

impl Weight {
    /// The weight of `stack`: calls, or nanoseconds; `None` if it is not known.
    fn of(&self, stack: &StackCount) -> Option<f64> {
        match self {
            Weight::Calls => Some(stack.calls as f64),
            Weight::OnCpu => stack.on_cpu_ns.map(|ns| ns as f64),
            Weight::Blocked => stack.blocked_ns.map(|ns| ns as f64),
            Weight::Attributed(each_s) => Some(each_s.get(&stack.call)? * 1e9 * stack.calls as f64),
        }
    }

    fn words(&self) -> &'static str {
        match self {
            Weight::Calls => "calls",
            Weight::OnCpu => "time on the CPU in calls",
            Weight::Blocked => "time blocked in calls",
            Weight::Attributed(_) => "time of calls by unit costs",
        }
    }

    fn value(&self, weight: f64) -> String {
        match self {
            Weight::Calls => format!("{} calls", thousands(weight)),
            _ => format!("{:.4} s", weight / 1e9),
        }
    }
}

/// The stacks: `folded` as lines (`process;outermost;innermost;call WEIGHT`, times in nanoseconds), else as a table.
pub fn stacks_document(profile: &Profile, weight: &Weight, folded: bool) -> Document {
    match folded {
        true if profile.stacks.is_empty() => Block::drawn(vec![NONE.to_string()]).into(),
        true => Block::drawn(folded_lines(profile, weight)).into(),
        false => stack_table(profile).into(),
    }
}

const NONE: &str = "This profile has no stacks: trace with --stacks.";

/// One line per stack. A semicolon or line end in a name would be read as a frame's end.
fn folded_lines(profile: &Profile, weight: &Weight) -> Vec<String> {
    let name = |name: &str| name.replace([';', '\n'], ":");
    let line = |stack: &StackCount| {
        let weight = weight.of(stack).filter(|weight| *weight >= 0.5)?;
        let frames: Vec<String> = path(stack).map(|(_, frame)| name(frame)).collect();
        Some(format!("{} {weight:.0}", frames.join(";")))
    };
    profile.stacks.iter().filter_map(line).collect()
}

fn stack_table(profile: &Profile) -> Table {
    let s = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e9);
    let cell = move |ns| s(ns).map_or(Cell::default(), |s| Cell::number(format!("{s:.4}"), s));
    let specs = [
        Spec::left("process", |stack: &StackCount| stack.process.as_str().into())
            .text("process", |stack: &StackCount| stack.process.clone()),
        Spec::left("stack", |stack: &StackCount| stack.frames.join(" > ").into())
            .wrapping()
            .text("frames", |stack: &StackCount| stack.frames.join(";")),
        Spec::left("call", |stack: &StackCount| stack.call.as_str().into())
            .text("call", |stack: &StackCount| stack.call.clone()),
        Spec::right("calls", |stack: &StackCount| Cell::number(thousands(stack.calls as f64), stack.calls as f64))
            .count("calls", |stack: &StackCount| stack.calls),
        Spec::right("on CPU s", move |stack: &StackCount| cell(stack.on_cpu_ns))
            .number("on_cpu_s", move |stack: &StackCount| s(stack.on_cpu_ns)),
        Spec::right("blocked s", move |stack: &StackCount| cell(stack.blocked_ns))
            .number("blocked_s", move |stack: &StackCount| s(stack.blocked_ns)),
    ];
    let notes = if profile.stacks.is_empty() { vec![NONE.to_string()] } else { vec![] };
    Table::of(&specs, &profile.stacks).noted(notes)
}

/// The process, its functions from the outermost, and the call.
fn path(stack: &StackCount) -> impl Iterator<Item = (FrameKind, &str)> {
    let frames = stack.frames.iter().map(|frame| (FrameKind::Function, frame.as_str()));
    let process = std::iter::once((FrameKind::Process, stack.process.as_str()));
    process.chain(frames).chain(std::iter::once((FrameKind::Call, stack.call.as_str())))
}

/// The flame graph; `None` without stacks that have this weight.
pub fn flame_figure(profile: &Profile, weight: &Weight) -> Option<Figure> {
    let mut root = Node::default();
    for stack in &profile.stacks {
        if let Some(weight) = weight.of(stack).filter(|weight| *weight > 0.0) {
            root.add(path(stack), weight);
        }
    }
    if root.weight <= 0.0 {
        return None;
    }
    let frames = root.frames(0, 0.0, root.weight, weight);
    let description = format!(
        "Flame graph of {} stacks: processes at the top, below each function those that it calls, system calls at the \
         bottom; widths are shares of {}, {} in all.",
        profile.stacks.len(),
        weight.words(),
        weight.value(root.weight)
    );
    let title = format!("Who makes the calls, by {}", weight.words());
    Some(Figure { title, description, chart: Chart::Flame(Flame { frames }) })
}

/// A function of the graph, with those below it.
#[derive(Default)]
struct Node<'a> {
    weight: f64,
    below: Vec<((FrameKind, &'a str), Node<'a>)>,
}

/// Frames narrower than this share are left out: they could not be seen.
const NARROWEST: f64 = 0.0005;

impl<'a> Node<'a> {
    fn add(&mut self, mut path: impl Iterator<Item = (FrameKind, &'a str)>, weight: f64) {
        self.weight += weight;
        let Some(frame) = path.next() else { return };
        let known = self.below.iter().position(|(other, _)| *other == frame);
        let at = known.unwrap_or_else(|| {
            self.below.push((frame, Node::default()));
            self.below.len() - 1
        });
        // A path is as long as a stack, at most some hundred frames.
        self.below[at].1.add_dyn(&mut path, weight);
    }

    /// The same without a type of its own for each depth.
    fn add_dyn(&mut self, path: &mut dyn Iterator<Item = (FrameKind, &'a str)>, weight: f64) {
        self.add(path, weight);
    }

    /// The frames below this one, the widest first, beginning at `left`.
    fn frames(&self, depth: usize, left: f64, whole: f64, weight: &Weight) -> Vec<Frame> {
        let mut below: Vec<_> = self.below.iter().collect();
        below.sort_by(|a, b| b.1.weight.total_cmp(&a.1.weight).then_with(|| a.0.cmp(&b.0)));
        let (mut frames, mut left) = (Vec::new(), left);
        for ((kind, name), node) in below {
            let share = node.weight / whole;
            if share >= NARROWEST {
                let words = format!("{name}: {}, {:.1}%", weight.value(node.weight), 100.0 * share);
                frames.push(Frame { name: (*name).to_string(), words, kind: *kind, depth, left, share });
                frames.extend(node.frames(depth + 1, left, whole, weight));
            }
            left += share;
        }
        frames
    }
}
