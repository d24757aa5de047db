//! Release notes: changes between neighbouring releases, in sentences.

use super::data::{machine_name, machines};
use crate::html::page::Part;
use crate::numbers::thousands;
use document::Block;
use itertools::Itertools;
use model::atlas::{Atlas, AtlasFunction, AtlasStep, AtlasSteps, are_alike, series};
use model::grouped;
use model::prose::counted;

/// Steps of a release that are shown, and functions of a step.
const MOST_STEPS: usize = 10;
const MOST_FUNCTIONS: usize = 3;
const OPEN: usize = 2;

/// Notes of all machines, with headings if there are several.
pub fn parts(atlas: &Atlas) -> Vec<Part> {
    if atlas.steps.iter().all(|pair| pair.steps.is_empty()) {
        return vec![Part::note(
            "No operation differs between neighbouring releases here.",
        )];
    }
    let machines = machines(atlas);
    let mut parts = Vec::new();
    for machine in &machines {
        if machines.len() > 1 {
            parts.push(Part::heading(format!("In {}:", machine_name(machine))));
        }
        let mut pairs: Vec<&AtlasSteps> = atlas
            .steps
            .iter()
            .filter(|pair| pair.machine == **machine && !pair.steps.is_empty())
            .collect();
        pairs.reverse();
        for (index, of_series) in pairs
            .chunk_by(|a, b| series(&a.after) == series(&b.after))
            .enumerate()
        {
            parts.push(of_one_series(of_series, index < OPEN));
        }
    }
    parts
}

fn of_one_series(pairs: &[&AtlasSteps], is_open: bool) -> Part {
    let name = pairs.first().map_or("", |pair| series(&pair.after));
    let mut pairs = pairs.to_vec();
    pairs.sort_by_key(|pair| are_alike(&pair.before, &pair.after));
    Part::Folded(
        format!("Linux {name}"),
        is_open,
        pairs.into_iter().flat_map(of_pair).collect(),
    )
}

fn of_pair(pair: &AtlasSteps) -> Vec<Part> {
    let (unchanged, mut steps): (Vec<&AtlasStep>, Vec<&AtlasStep>) =
        pair.steps.iter().partition(|step| step.is_unchanged());
    let heading = Part::Block(Block::Heading {
        title: format!("{}, after {}", short(&pair.after), short(&pair.before)),
        what: kind(pair, steps.len(), unchanged.len()),
    });
    steps.sort_by(|a, b| b.share().total_cmp(&a.share()));
    let lists = if are_alike(&pair.before, &pair.after) {
        vec![steps]
    } else {
        let (fewer, more) = steps.into_iter().partition(|step| step.after < step.before);
        vec![fewer, more]
    };
    let lines = lists.into_iter().map(|steps| {
        Part::Block(Block::Notes(
            steps
                .iter()
                .take(MOST_STEPS)
                .map(|step| {
                    format!(
                        "{}: {} {}",
                        short(&pair.after),
                        step.operation,
                        sentence(step)
                    )
                })
                .collect(),
        ))
    });
    std::iter::once(heading).chain(lines).collect()
}

fn kind(pair: &AtlasSteps, steps: usize, unchanged: usize) -> String {
    let (before, after) = (series(&pair.before), series(&pair.after));
    let each = if are_alike(&pair.before, &pair.after) {
        ""
    } else {
        " each way"
    };
    let of_shown = if steps > MOST_STEPS {
        format!("; the {MOST_STEPS} that changed the most in proportion{each} are below")
    } else {
        String::new()
    };
    let place = if before == after {
        format!("inside series {after}: a backport, a fix, or another build")
    } else {
        format!("from series {before} to {after}")
    };
    let first = format!("{} {place}{of_shown}.", differ(steps, "operation"));
    match unchanged {
        0 => first,
        more => format!(
            "{first} {}, but no function changed in one iteration: these counts depend on what ran before.",
            differ(more, "other count")
        ),
    }
}

fn differ(number: usize, what: &str) -> String {
    format!(
        "{} {}",
        counted(number, what),
        if number == 1 { "differs" } else { "differ" }
    )
}

/// `executes 59% fewer instructions (2,731 to 1,115): path walk: getname_flags −310, ...`
fn sentence(step: &AtlasStep) -> String {
    let (from, to) = (thousands(step.before), thousands(step.after));
    let way = if step.after < step.before {
        "fewer"
    } else {
        "more"
    };
    let share = 100.0 * step.instructions() / step.before;
    let much = match share {
        share if !share.is_finite() => thousands(step.instructions()),
        share if share < 1.0 => format!("{share:.1}%"),
        share => format!("{}%", thousands(share.round())),
    };
    let functions = functions(&step.functions);
    let end = if functions.is_empty() {
        String::new()
    } else {
        format!(": {functions}")
    };
    format!("executes {much} {way} instructions ({from} to {to}){end}.")
}

fn functions(functions: &[AtlasFunction]) -> String {
    let mut largest: Vec<&AtlasFunction> =
        functions.iter().filter(|f| f.before != f.after).collect();
    largest.sort_by_key(|f| std::cmp::Reverse(f.after.abs_diff(f.before)));
    largest.truncate(MOST_FUNCTIONS);
    let groups = grouped(largest.into_iter().map(|f| {
        let sign = if f.after < f.before { '−' } else { '+' };
        let change = thousands(f.after.abs_diff(f.before) as f64);
        (f.group.title(), format!("{} {sign}{change}", f.name))
    }));
    groups
        .iter()
        .map(|(group, texts)| format!("{group}: {}", texts.join(", ")))
        .join("; ")
}

/// Without the kernel's flavour.
fn short(release: &str) -> &str {
    release
        .split_once("-cloud-")
        .map_or(release, |(version, _)| version)
}
