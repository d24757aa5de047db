//! What the sections of a page about a profile share.

use crate::model::{By, Profile, Total};
use crate::report::Table;
use crate::report::profile::profile_table;
use crate::write::html as cells;
use crate::write::markup::Markup;

/// What the colours of a difference are.
pub const CHANGES: &str = "Red boxes have more, blue ones less: pale from 2%, strong from 25% of the larger side on; grey ones \
                           changed less. Each box is as wide as its larger side, so that what is gone is seen too. Click to zoom.";

/// Rows of tables of objects, errors and attributions.
pub const MOST_ROWS: usize = 100;
/// A section with its heading.
pub fn section(html: &mut Markup, (id, heading): (&'static str, &'static str), body: impl FnOnce(&mut Markup)) {
    html.raw("<section id=\"").raw(id).raw("\" aria-labelledby=\"").raw(id).raw("-h\"><h2 id=\"").raw(id).raw("-h\">");
    html.raw(heading).raw("</h2>");
    body(html);
    html.raw("</section>");
}

/// A table, if it has rows, and its notes.
pub fn plain(html: &mut Markup, table: &Table, caption: &str) {
    folding(html, table, caption, |_| false);
}

fn folding(html: &mut Markup, table: &Table, caption: &str, is_small: impl Fn(usize) -> bool) {
    if !table.rows().is_empty() {
        cells::folding(html, &spelled(table.without_empty()), caption, is_small);
    }
    cells::notes(html, table.notes.iter());
}

/// The same with the first rows only, of which those with `is_small` are folded.
pub fn top(html: &mut Markup, mut table: Table, caption: &str, is_small: impl Fn(usize) -> bool) {
    let more = table.rows().len().saturating_sub(MOST_ROWS);
    table.truncate(MOST_ROWS);
    table.notes = if more > 0 { vec![format!("{more} more rows are in the profile.")] } else { vec![] };
    folding(html, &table, caption, is_small);
}

/// The calls of a profile by something, the small ones folded.
pub fn top_by(html: &mut Markup, profile: &Profile, by: By, caption: &str) {
    let totals = profile.totals(by);
    let is_small = |i: usize| totals.get(i).is_some_and(|total| is_small(profile, total));
    top(html, profile_table(profile, by), caption, is_small);
}

/// Rows below this share of the whole are folded: so many would hide the others. The script's button names it.
pub const SMALL: f64 = 0.001;

/// Whether a row is below 0.1% of the wall time, or of what else is known of all calls.
pub fn is_small(profile: &Profile, total: &Total) -> bool {
    let all = profile.all_calls();
    let count = &total.count;
    let known = [
        count.samples.zip(profile.samples()),
        count.elapsed_ns().zip(profile.usage.wall_ns.or_else(|| all.elapsed_ns())),
        Some((count.calls, all.calls)),
    ];
    let share = known.into_iter().flatten().next().map(|(own, whole)| own as f64 / whole.max(1) as f64);
    share.is_some_and(|share| share < SMALL)
}

/// The table with the names of times in full, as sentences and bars have them.
pub fn spelled(table: Table) -> Table {
    const NAMES: [(&str, &str); 3] =
        [("on CPU ", "on a CPU, "), ("runnable ", "waiting for a CPU, "), ("blocked ", "blocked in calls, ")];
    let full =
        |title: &str| NAMES.iter().find_map(|(short, full)| Some(format!("{full}{}", title.strip_prefix(short)?)));
    table.with_titles(full)
}
