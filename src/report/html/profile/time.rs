//! Before everything else: what is doubtful, and where the time went.

use super::parts::section;
use crate::model::Profile;
use crate::report::attribution::{RUNNABLE, advice_lines, time_figure};
use crate::report::html::charts::figure;
use crate::report::numbers::thousands;
use crate::report::profile::notes;
use crate::write::html as cells;
use crate::write::markup::Markup;

/// What must be known before the numbers are read.
pub fn warnings(html: &mut Markup, profile: &Profile) {
    let lines: Vec<String> = notes::cautions(profile);
    if lines.is_empty() {
        return;
    }
    html.raw("<aside aria-label=\"Warnings\"><b class=\"warn\">Before you read the results</b>");
    cells::notes(html, lines.iter());
    html.raw("</aside>");
}

pub fn write(html: &mut Markup, profile: &Profile) {
    section(html, ("answer", "Where did the time go?"), |html| {
        html.raw("<p class=\"lead\">").text(&in_short(profile)).raw("</p>");
        match time_figure(profile) {
            Some(drawn) => figure(html, &drawn, "time"),
            None => {
                html.raw("<p class=\"rule\">What the wall time was spent on is not known: several threads ran, and the tracer did \
                          not follow when each was on a CPU.</p>");
            }
        }
        let advice = advice_lines(profile);
        if !advice.is_empty() {
            html.raw("<h3>What could be saved</h3><ul class=\"lead\">");
            advice.iter().for_each(|line| _ = html.element("li", line));
            html.raw("</ul>");
        }
        cells::notes(html, notes::accounting(profile).iter());
    });
}

/// `50,138 system calls in 4.000 s: 0.169 s on a CPU, 0.010 s runnable (waiting for a CPU), 1.540 s blocked, of all threads together; 10,004 failed.`
fn in_short(profile: &Profile) -> String {
    let all = profile.all_calls();
    let s = |ns: u64| format!("{:.3} s", ns as f64 / 1e9);
    let wall = profile.usage.wall_ns.map_or_else(String::new, |ns| format!(" in {}", s(ns)));
    let parts = [
        all.on_cpu_ns.map(|ns| format!("{} on a CPU", s(ns))),
        all.runnable_ns.map(|ns| format!("{} {RUNNABLE}", s(ns))),
        all.blocked_ns.map(|ns| format!("{} blocked, of all threads together", s(ns))),
        (all.failures() > 0).then(|| format!("{} failed", thousands(all.failures() as f64))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let details = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    let what = match profile.samples() {
        Some(samples) => format!("{} samples of CPUs", thousands(samples as f64)),
        None => format!("{} system calls", thousands(all.calls as f64)),
    };
    format!("{what}{wall}{details}.")
}
