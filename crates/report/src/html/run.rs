//! The page about result files: the documents that `show` and `compare` print, with the
//! distribution of the samples of each row, charts, and the machines.

mod answer;
mod charts;
mod compared;
mod operations;

use super::host;
use super::kernel::{self, Explained};
use super::page::{Page, Part, Section};
use crate::conditions;
use crate::run::columns;
use crate::run::portrait::{Detail, Portrait};
use crate::run::warnings::{INTERRUPTED, of_run};
use analysis::compare::Comparison;
use indexmap::IndexMap;
use itertools::Itertools;
use model::prose::{counted, few, some};

/// The page about one or several result files.
pub fn runs_page(page: &RunsPage) -> Page {
    let machine = if page.files.len() == 1 {
        "The machine"
    } else {
        "The machines"
    };
    let hosts = vec![Part::table(host::of_runs(page.files))];
    let compared = page
        .comparison
        .map(|comparison| compared::parts(page, comparison))
        .unwrap_or_default();
    Page {
        title: title(page),
        subtitle: subtitle(page),
        warnings: warnings(page.files),
        sections: vec![
            Section::new("answer", "Answer", answer::parts(page)).headed(answer::question(page)),
            Section::new("charts", "Charts", charts::parts(page)),
            Section::new("compared", "Side by side", compared),
            Section::new("operations", "Operations", operations::parts(page)),
            Section::new("latency", "Single calls", charts::singles(page)),
            Section::new("parameters", "Parameters", charts::parameters(page))
                .headed("Cost over parameters"),
            kernel::section(page.explained),
            Section::new("host", "Machine", hosts).headed(machine),
        ],
        made_from: counted(page.files.len(), "result file"),
        numbers: "Costs are medians over batches of undisturbed rounds; their intervals are for the next run, not counting speed changes of the whole machine. Ratios have 95% confidence intervals.",
        ..Page::default()
    }
}

fn title(page: &RunsPage) -> String {
    let detail = page.detail();
    let places = detail.map_or_else(Default::default, |detail| {
        columns::environments(&detail.summary)
    });
    let study = detail.and_then(|detail| detail.summary.study.as_ref());
    match (
        study.filter(|study| !study.title.is_empty()),
        page.files.len(),
    ) {
        (Some(study), _) => study.title.clone(),
        (None, 1) if places.len() > 1 => format!("Cost of system calls in {}", some(places, 4)),
        (None, 1) => "Cost of system calls".to_string(),
        (None, count) => format!("Cost of system calls: {count} runs side by side"),
    }
}

fn subtitle(page: &RunsPage) -> String {
    let (None, Some(main)) = (page.comparison, page.main()) else {
        return some(page.files.iter().map(Portrait::label), 6);
    };
    let info = &main.column.info;
    let runs = if info.runs > 1 {
        Some(counted(info.runs, "run"))
    } else {
        None
    };
    let source = info.source.as_ref().map(|source| source.title.clone());
    [
        conditions::labels(&info.labels),
        runs,
        source,
        Some(host::one_line(&info.host)),
    ]
    .into_iter()
    .flatten()
    .filter(|part| !part.is_empty())
    .join("; ")
}

fn warnings(files: &[Portrait]) -> Vec<String> {
    let mut labels: IndexMap<String, Vec<String>> = IndexMap::new();
    for file in files {
        let info = &file.column.info;
        let taxes = info.host.taxes.iter().map(conditions::tax);
        let incomplete = (!info.complete).then(|| INTERRUPTED.to_string());
        for warning in taxes
            .chain(info.warnings.iter().map(of_run))
            .chain(incomplete)
        {
            labels.entry(warning).or_default().push(info.label.clone());
        }
    }
    labels
        .into_iter()
        .map(|(text, labels)| match files.len() {
            1 => text,
            _ => format!("{text} ({})", few(&labels)),
        })
        .collect()
}

/// With more files, the page has no distributions.
pub const MOST_DETAILED: usize = 8;

pub struct RunsPage<'a> {
    /// In the order in which they were named; at least one.
    pub files: &'a [Portrait],
    /// `None` for one file.
    pub comparison: Option<&'a Comparison>,
    pub explained: &'a [Explained],
}

impl RunsPage<'_> {
    /// The file that the others are compared with; of one file, that one.
    pub fn main(&self) -> Option<&Portrait> {
        self.files
            .get(self.comparison.map_or(0, |comparison| comparison.baseline))
    }

    /// The detail of the baseline file; `None` if that file is too far down the list to have any.
    pub fn detail(&self) -> Option<&Detail> {
        self.main()?.detail.as_ref()
    }
}
