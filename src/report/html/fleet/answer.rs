//! The short answer: outliers, upgrades and changes in time, each in a sentence or a few.

use super::names::{Names, day, group};
use crate::fleet::questions::{FEWEST_HOSTS, Outlier, Since, Survey, Upgrade};
use crate::report::comparison::row::number;
use crate::write::markup::{Markup, cut};

/// Lines of each kind.
const MOST: usize = 5;
/// Characters of a name.
const NAME: usize = 60;

pub fn write(html: &mut Markup, survey: &Survey, names: &Names) {
    html.raw("<ul class=\"lead\">");
    outliers(html, survey, names);
    let upgrades = survey.upgrades.iter().map(|one| upgrade(one, names)).collect();
    list(html, "Kernel upgrades that changed a cost", upgrades, survey.upgrades.len());
    let since = survey.since.iter().map(|one| change(one, names)).collect();
    list(html, "Changes in time", since, survey.since.len());
    html.raw("</ul>");
}

/// The first of `lines` below a heading, and how many more there are.
fn list(html: &mut Markup, what: &'static str, lines: Vec<String>, all: usize) {
    html.raw("<li><b>").raw(what).raw("</b>: ");
    if lines.is_empty() {
        html.raw("none");
    }
    html.text(&lines.iter().take(MOST).map(String::as_str).collect::<Vec<_>>().join("; "));
    if all > MOST {
        html.text(&format!("; {} more below", all - MOST));
    }
    html.raw(".</li>");
}

fn outliers(html: &mut Markup, survey: &Survey, names: &Names) {
    if survey.most_alike < FEWEST_HOSTS {
        let text = format!(
            "an outlier takes {FEWEST_HOSTS} hosts with the same processor and kernel; the largest such group has {}.",
            survey.most_alike
        );
        html.raw("<li><b>Outliers</b>: ").text(&text).raw("</li>");
        return;
    }
    let hosts: Vec<String> = survey.outliers.chunk_by(|a, b| a.host == b.host).map(|all| host(all, names)).collect();
    let count = hosts.len();
    list(html, "Outliers", hosts, count);
}

/// `n07: 3 cases, most file.stat ×1.4 on Xeon · 6.1`; of the outliers of one host.
fn host(all: &[Outlier], names: &Names) -> String {
    let Some(first) = all.first() else { return String::new() };
    let (case, ratio) = (cut(&names.case(&first.case), NAME), number(first.ratio));
    let how_many = match all.len() {
        1 => String::new(),
        count => format!("{count} cases, most "),
    };
    format!("{}: {how_many}{case} ×{ratio} the cost of {}", cut(&first.host, NAME), cut(&group(&first.group), NAME))
}

fn upgrade(one: &Upgrade, names: &Names) -> String {
    let (case, on) = (cut(&names.case(&one.case), NAME), cut(&group(&one.group), NAME));
    let (from, to) = (cut(&one.kernel_from, NAME), cut(&one.kernel_to, NAME));
    let since = day(one.since_unix_s);
    format!("{case} ×{} on {on} from {from} to {to} ({} hosts, since {since})", number(one.ratio), one.hosts)
}

fn change(one: &Since, names: &Names) -> String {
    let (case, on) = (cut(&names.case(&one.case), NAME), cut(&group(&one.group), NAME));
    format!("{case} ×{} on {on} since {}", number(one.ratio), day(one.since_unix_s))
}
