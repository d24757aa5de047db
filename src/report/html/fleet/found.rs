//! Outliers and upgrades as tables.

use super::names::{Names, day, group};
use crate::fleet::questions::{
    DEVIATIONS, FEWEST_HOSTS, FEWEST_UPGRADED, LEAST_CHANGE, Outlier, SMALL_GROUPS, Survey, Upgrade,
};
use crate::report::comparison::row::number;
use crate::report::html::profile::parts::plain;
use crate::report::numbers::{nanoseconds, three_figures};
use crate::report::{Cell, Spec, Style, Table};
use crate::write::markup::Markup;

/// Rows of each table.
const MOST: usize = 100;

pub fn outlier_section(html: &mut Markup, survey: &Survey, names: &Names) {
    let specs = [
        Spec::left("operation", |one: &Outlier| names.case(&one.case).into()),
        Spec::left("host", |one: &Outlier| one.host.clone().into()),
        Spec::right("ratio", |one: &Outlier| ratio(one.ratio)),
        Spec::right("deviations", |one: &Outlier| deviations(one.deviations)),
        Spec::right("host, ns", |one: &Outlier| Cell::number(nanoseconds(one.host_ns), one.host_ns)),
        Spec::right("group, ns", |one: &Outlier| Cell::number(nanoseconds(one.group_ns), one.group_ns)),
        Spec::left("group", |one: &Outlier| group(&one.group).into()),
        Spec::right("hosts", |one: &Outlier| one.hosts.to_string().into()),
    ];
    let rows: Vec<Outlier> = spread_over_hosts(&survey.outliers);
    shown(html, &specs, &rows, survey.outliers.len(), "Hosts far from the others of their group");
    let least = 100.0 * LEAST_CHANGE;
    html.raw("<p class=\"rule\">").text(&format!(
        "Called an outlier: among {FEWEST_HOSTS} hosts or more with the same processor and kernel, by {least}% and by {DEVIATIONS} + \
         {SMALL_GROUPS} / hosts standard deviations, which the median absolute deviation of the hosts gives."
    ));
    html.raw("</p>");
}

/// The worst of each host first, so that one host does not fill the table.
fn spread_over_hosts(all: &[Outlier]) -> Vec<Outlier> {
    let mut places: Vec<(usize, &Outlier)> =
        all.chunk_by(|a, b| a.host == b.host).flat_map(|host| host.iter().enumerate()).collect();
    places.sort_by_key(|(place, _)| *place);
    places.into_iter().take(MOST).map(|(_, one)| one.clone()).collect()
}

pub fn upgrade_section(html: &mut Markup, survey: &Survey, names: &Names) {
    let specs = [
        Spec::left("operation", |one: &Upgrade| names.case(&one.case).into()),
        Spec::left("processor", |one: &Upgrade| group(&one.group).into()),
        Spec::left("from", |one: &Upgrade| one.kernel_from.clone().into()),
        Spec::left("to", |one: &Upgrade| one.kernel_to.clone().into()),
        Spec::right("ratio", |one: &Upgrade| ratio(one.ratio)),
        Spec::right("errors", |one: &Upgrade| deviations(one.deviations)),
        Spec::right("hosts", |one: &Upgrade| one.hosts.to_string().into()),
        Spec::left("since", |one: &Upgrade| day(one.since_unix_s).into()),
    ];
    let rows = &survey.upgrades[..survey.upgrades.len().min(MOST)];
    shown(html, &specs, rows, survey.upgrades.len(), "Kernel upgrades that changed the cost of an operation");
    html.raw("<p class=\"rule\">").text(&format!(
        "Each host is compared with itself before the upgrade, and the median of {FEWEST_UPGRADED} hosts or more is given. What else \
         changed on them with the kernel is part of it."
    ));
    html.raw("</p>");
}

fn shown<R>(html: &mut Markup, specs: &[Spec<'_, R>], rows: &[R], all: usize, caption: &str) {
    if rows.is_empty() {
        html.raw("<p>There are none.</p>");
        return;
    }
    let more = all - rows.len();
    let notes = (more > 0).then(|| format!("{more} more: 'syscost fleet sql' finds all.")).into_iter().collect();
    plain(html, &Table::of(specs, rows).noted(notes), caption);
}

fn ratio(ratio: f64) -> Cell {
    Cell {
        style: if ratio > 1.0 { Style::Bad } else { Style::Good },
        ..Cell::number(format!("×{}", number(ratio)), ratio)
    }
}

fn deviations(count: f64) -> Cell {
    let text = three_figures(count.abs());
    Cell::number(if count < 0.0 { format!("-{text}") } else { text }, count)
}
