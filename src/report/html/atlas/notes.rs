//! Release notes: what changed between neighbouring releases, in sentences.

use super::data::{machine_name, machines};
use crate::atlas::{Atlas, are_alike, series};
use crate::model::atlas::{AtlasFunction, AtlasStep, AtlasSteps};
use crate::prose::counted;
use crate::report::numbers::thousands;
use crate::write::markup::Markup;

/// Steps of a release that are told, and functions of a step.
const MOST_STEPS: usize = 10;
const MOST_FUNCTIONS: usize = 3;
/// Series that are unfolded at first.
const OPEN: usize = 2;

/// All notes, the newest release first.
pub fn write(html: &mut Markup, atlas: &Atlas) {
    if atlas.steps.iter().all(|pair| pair.steps.is_empty()) {
        html.raw("<p>No operation differs between neighbouring releases here.</p>");
        return;
    }
    let machines = machines(atlas);
    html.raw("<div class=\"releases\">");
    for machine in &machines {
        if machines.len() > 1 {
            html.element("p", &format!("In {}:", machine_name(machine)));
        }
        let mut pairs: Vec<&AtlasSteps> =
            atlas.steps.iter().filter(|pair| pair.machine == **machine && !pair.steps.is_empty()).collect();
        pairs.reverse();
        for (index, of_series) in pairs.chunk_by(|a, b| series(&a.after) == series(&b.after)).enumerate() {
            write_series(html, of_series, index < OPEN);
        }
    }
    html.raw("</div>");
}

fn write_series(html: &mut Markup, pairs: &[&AtlasSteps], is_open: bool) {
    let name = pairs.first().map_or("", |pair| series(&pair.after));
    html.raw(if is_open { "<details open>" } else { "<details>" });
    html.raw("<summary>").element("h3", &format!("Linux {name}")).raw("</summary>");
    let mut pairs = pairs.to_vec();
    pairs.sort_by_key(|pair| are_alike(&pair.before, &pair.after));
    for pair in pairs {
        html.element("h4", &format!("{}, after {}", short(&pair.after), short(&pair.before)));
        let (unchanged, mut steps): (Vec<&AtlasStep>, Vec<&AtlasStep>) =
            pair.steps.iter().partition(|step| step.is_unchanged());
        html.element("p", &kind(pair, steps.len(), unchanged.len()));
        steps.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
        if are_alike(&pair.before, &pair.after) {
            write_steps(html, pair, steps.into_iter());
            continue;
        }
        let (fewer, more): (Vec<&AtlasStep>, Vec<&AtlasStep>) =
            steps.into_iter().partition(|step| step.after < step.before);
        for (title, steps) in [("Fewer instructions", fewer), ("More instructions", more)] {
            if !steps.is_empty() {
                html.element("h5", title);
                write_steps(html, pair, steps.into_iter());
            }
        }
    }
    html.raw("</details>");
}

fn write_steps<'a>(html: &mut Markup, pair: &AtlasSteps, steps: impl Iterator<Item = &'a AtlasStep>) {
    html.raw("<ul>");
    for step in steps.take(MOST_STEPS) {
        html.raw("<li>").text(&format!("{}: ", short(&pair.after))).element("code", &step.operation);
        html.text(&format!(" {}", sentence(step))).raw("</li>");
    }
    html.raw("</ul>");
}

/// What kind of change the steps are, how many there are, and how many more counts differ without a changed function.
fn kind(pair: &AtlasSteps, steps: usize, unchanged: usize) -> String {
    let (before, after) = (series(&pair.before), series(&pair.after));
    let each = if are_alike(&pair.before, &pair.after) { "" } else { " each way" };
    let told = if steps > MOST_STEPS {
        format!("; the {MOST_STEPS} that changed the most in proportion{each} are below")
    } else {
        String::new()
    };
    let place = if before == after {
        format!("inside series {after}: a backport, a fix, or another build")
    } else {
        format!("from series {before} to {after}")
    };
    let first = format!("{} {place}{told}.", differ(steps, "operation"));
    match unchanged {
        0 => first,
        more => format!(
            "{first} {}, but no function changed in one iteration: these counts depend on what ran before.",
            differ(more, "other count")
        ),
    }
}

fn differ(number: usize, what: &str) -> String {
    format!("{} {}", counted(number, what), if number == 1 { "differs" } else { "differ" })
}

fn size(step: &AtlasStep) -> f64 {
    (step.after - step.before).abs()
}

/// Of the smaller count, as a build chooses which steps it explains.
fn weight(step: &AtlasStep) -> f64 {
    size(step) / step.before.min(step.after).max(1.0)
}

/// `executes 59% fewer instructions (2,731 to 1,115): path walk: getname_flags −310, link_path_walk −280.`
fn sentence(step: &AtlasStep) -> String {
    let (from, to) = (thousands(step.before), thousands(step.after));
    let way = if step.after < step.before { "fewer" } else { "more" };
    let share = 100.0 * size(step) / step.before;
    let much = match share {
        share if !share.is_finite() => thousands(size(step)),
        share if share < 1.0 => format!("{share:.1}%"),
        share => format!("{}%", thousands(share.round())),
    };
    let functions = functions(&step.functions);
    let end = if functions.is_empty() { String::new() } else { format!(": {functions}") };
    format!("executes {much} {way} instructions ({from} to {to}){end}.")
}

/// The largest changes, by group.
fn functions(functions: &[AtlasFunction]) -> String {
    let mut largest: Vec<&AtlasFunction> = functions.iter().filter(|f| f.before != f.after).collect();
    largest.sort_by_key(|f| std::cmp::Reverse(f.after.abs_diff(f.before)));
    largest.truncate(MOST_FUNCTIONS);
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for function in largest {
        let sign = if function.after < function.before { '−' } else { '+' };
        let change = thousands(function.after.abs_diff(function.before) as f64);
        let text = format!("{} {sign}{change}", function.name);
        match groups.iter_mut().find(|(group, _)| *group == function.group.title()) {
            Some((_, texts)) => texts.push(text),
            None => groups.push((function.group.title(), vec![text])),
        }
    }
    let texts = groups.into_iter().map(|(group, texts)| format!("{group}: {}", texts.join(", ")));
    texts.collect::<Vec<_>>().join("; ")
}

/// Without the kernel's flavour.
fn short(release: &str) -> &str {
    release.split_once("-cloud-").map_or(release, |(version, _)| version)
}
