//! Bars on a logarithmic axis, a row each, with marks for the same operation in further files.

use super::drawing::{Drawing, NAMED, label, percent};
use super::marks::{LINE, duration, grid, legend, mark};
use crate::report::figure::axis::LogAxis;
use crate::report::figure::palette::SERIES;
use crate::report::figure::{Bar, Bars, Group, Kernel};
use crate::report::format::markup::Markup;
use crate::report::numbers::nanoseconds;

/// Pixels of a row and of a heading.
const ROW: u32 = 17;
const HEADING: u32 = 24;

pub fn draw(bars: &Bars) -> Drawing {
    let mut drawing = Drawing { left: NAMED, ..Drawing::default() };
    let mut top = kinds(&mut drawing.legend, bars);
    // The first series has the bars; the others have marks, as many as there are marks.
    let others = bars.series.get(1..).unwrap_or_default();
    top += legend(&mut drawing.legend, top, &others[..others.len().min(SERIES - 1)], 1) + LINE;
    let bottom = top + height(&bars.groups);
    let axis = axis(bars);
    grid(&mut drawing.plot, &axis, 0.09, (top, bottom), duration);
    for (y, row) in placed(&bars.groups, top) {
        match row {
            Ok(name) => label(&mut drawing.labels, y + HEADING - 7, name, "h"),
            Err(bar) => {
                label(&mut drawing.labels, y + 13, &bar.label, "m");
                draw_bar(&mut drawing.plot, bar, y, &axis);
            }
        }
    }
    Drawing { height: bottom + LINE, ..drawing }
}

fn axis(bars: &Bars) -> LogAxis {
    let rows = bars.groups.iter().flat_map(|group| &group.rows);
    let costs = rows.flat_map(|bar| bar.ns.into_iter().chain(bar.others.iter().flatten().copied()));
    LogAxis::holding(costs).begun_at_decade()
}

/// What bars look like, for the kinds that are there.
fn kinds(svg: &mut Markup, bars: &Bars) -> u32 {
    let all = [
        (Kernel::Enters, "b", "makes system calls"),
        (Kernel::Never, "n", "makes none"),
        (Kernel::Unknown, "u", "not counted"),
    ];
    let has = |kind| bars.groups.iter().flat_map(|group| &group.rows).any(|bar| bar.kernel == kind);
    for (i, (_, class, words)) in all.iter().filter(|(kind, ..)| has(*kind)).enumerate() {
        let x = 150 * i;
        svg.raw("<rect").set("class", class).set("x", x + 1).raw(" y=\"3\" width=\"14\" height=\"9\"/>");
        svg.raw("<text").set("x", x + 20).raw(" y=\"12\">").text(words).raw("</text>");
    }
    LINE
}

fn height<T>(groups: &[Group<T>]) -> u32 {
    groups.iter().map(|group| heading(group) + ROW * group.rows.len() as u32).sum()
}

fn heading<T>(group: &Group<T>) -> u32 {
    if group.name.is_empty() { 0 } else { HEADING }
}

/// Headings and rows with the upper edge of each.
fn placed<T>(groups: &[Group<T>], top: u32) -> Vec<(u32, Result<&str, &T>)> {
    let mut y = top;
    let mut all = Vec::new();
    for group in groups {
        if heading(group) > 0 {
            all.push((y, Ok(group.name.as_str())));
        }
        y += heading(group);
        for row in &group.rows {
            all.push((y, Err(row)));
            y += ROW;
        }
    }
    all
}

fn draw_bar(svg: &mut Markup, bar: &Bar, y: u32, axis: &LogAxis) {
    svg.raw("<g>").element("title", &words(bar));
    let shares = bar.ns.into_iter().chain(bar.others.iter().flatten().copied()).map(|ns| axis.share(ns));
    let end = shares.fold(0.0, f64::max);
    if let Some(ns) = bar.ns {
        svg.raw("<rect").set("class", class(bar.kernel)).set("y", y + 3).raw(" height=\"11\"");
        svg.set("width", percent(axis.share(ns).max(0.002))).raw("/>");
        whisker(svg, bar, y, axis);
    }
    for (i, ns) in bar.others.iter().take(SERIES - 1).enumerate() {
        ns.iter().for_each(|ns| mark(svg, i + 1, axis.share(*ns), f64::from(y) + 8.5, false));
    }
    let value = bar.ns.map_or("no cost".to_string(), nanoseconds);
    svg.raw("<text class=\"m\"").set("x", percent(end)).raw(" dx=\"7\"").set("y", y + 13).raw(">").text(&value);
    svg.raw("</text></g>");
}

/// The interval, where it is wide enough to be seen.
fn whisker(svg: &mut Markup, bar: &Bar, y: u32, axis: &LogAxis) {
    let Some((low, high)) = bar.low_high else { return };
    let (from, to) = (axis.share(low), axis.share(high));
    if to - from > 0.006 {
        let y = format!("{y}.5", y = y + 8);
        svg.raw("<line class=\"w\"")
            .set("x1", percent(from))
            .set("x2", percent(to))
            .set("y1", &y)
            .set("y2", &y)
            .raw("/>");
    }
}

fn class(kernel: Kernel) -> &'static str {
    match kernel {
        Kernel::Enters => "b",
        Kernel::Never => "n",
        Kernel::Unknown => "u",
    }
}

fn words(bar: &Bar) -> String {
    let cost = bar.ns.map_or("no cost".to_string(), |ns| format!("{} ns", nanoseconds(ns)));
    let interval = bar.low_high.map(|(low, high)| format!(" ({} .. {})", nanoseconds(low), nanoseconds(high)));
    let kernel = match bar.kernel {
        Kernel::Enters => "",
        Kernel::Never => ", no system call",
        Kernel::Unknown => ", system calls not counted",
    };
    format!("{}: {cost}{}{kernel}", bar.label, interval.unwrap_or_default())
}
