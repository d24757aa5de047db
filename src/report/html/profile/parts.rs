//! What the sections of a page about a profile share.

use crate::attribute::Attribution;
use crate::model::Profile;
use crate::report::Table;
use crate::write::html as cells;
use crate::write::markup::Markup;

/// What the page is about.
pub struct ProfilePage<'a> {
    pub profile: &'a Profile,
    /// With unit costs: what they explain, and what those of others would change.
    pub attribution: Option<&'a Attribution>,
}

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
    if !table.rows().is_empty() {
        cells::plain(html, &table.without_empty(), caption);
    }
    cells::notes(html, table.notes.iter());
}

/// The same with the first rows only.
pub fn top(html: &mut Markup, mut table: Table, caption: &str) {
    let more = table.rows().len().saturating_sub(MOST_ROWS);
    table.truncate(MOST_ROWS);
    table.notes = if more > 0 { vec![format!("{more} more rows are in the profile.")] } else { vec![] };
    plain(html, &table, caption);
}
