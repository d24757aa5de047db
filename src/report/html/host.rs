//! The machine of each file, how it was measured, and the warnings of each run.

use super::page::Page;
use crate::compare::ColumnInfo;
use crate::model::{EnvironmentFacts, Host, Unit};
use crate::prose::few;
use crate::report::conditions;
use crate::report::numbers::{date, three_figures};
use crate::report::run::instructions;
use crate::report::run::portrait::Portrait;
use crate::report::{Cell, Spec, Table};
use crate::write::html as cells;
use crate::write::markup::{Markup, cut};
use indexmap::IndexMap;

/// `AMD EPYC, Linux 6.18, kvm, measured on CPU 1`; without the CPU if instructions alone were counted.
pub fn one_line(info: &ColumnInfo, is_counted: bool) -> String {
    let host = &info.host;
    let kernel: Vec<&str> = [&host.system, &host.kernel].into_iter().filter_map(|part| part.as_deref()).collect();
    let cpu = host.measuring_cpu.filter(|_| !is_counted).map(|cpu| format!("measured on CPU {cpu}"));
    let source = info.source.as_ref().map(|source| source.title.clone());
    let kernel = Some(kernel.join(" ")).filter(|text| !text.is_empty());
    let parts = [source, host.name.clone(), host.cpu.clone(), kernel, host.hypervisor.clone(), cpu];
    cut(&parts.into_iter().flatten().collect::<Vec<_>>().join(", "), 300)
}

pub fn write(html: &mut Markup, page: &Page) {
    html.raw("<section id=\"host\" aria-labelledby=\"host-h\"><h2 id=\"host-h\">");
    html.raw(if page.files.len() == 1 { "The machine" } else { "The machines" }).raw("</h2>");
    let table = facts_table(page.files);
    cells::plain(html, &table, "What is known of each machine and run");
    cells::notes(html, table.notes.iter());
    environments(html, page);
    html.raw("</section>");
}

/// What is known of environments other than the native one, a row for each of each file.
fn environments(html: &mut Markup, page: &Page) {
    type Known<'a> = (&'a str, &'a EnvironmentFacts);
    let of = |file: &'_ Portrait| file.column.info.environments.len();
    if page.files.iter().map(of).sum::<usize>() == 0 {
        return;
    }
    let all =
        page.files.iter().flat_map(|file| file.column.info.environments.iter().map(|facts| (file.label(), facts)));
    let rows: Vec<Known> = all.take(MOST_ENVIRONMENTS).collect();
    let unit = |(_, facts): &Known| match facts.unit {
        Unit::Nanoseconds => Cell::from("ns/op"),
        Unit::Instructions => Cell::from("instr/op"),
    };
    let known = |text: &Option<String>| text.clone().map_or(Cell::default(), Cell::from);
    let specs = [
        Spec::left("environment", |(_, facts): &Known| facts.name.as_str().into()),
        Spec::left("file", |(label, _): &Known| (*label).into()).shown_if(page.files.len() > 1),
        Spec::left("figures", unit),
        Spec::left("kernel", move |(_, facts): &Known| known(&facts.kernel)),
        Spec::left("emulator", move |(_, facts): &Known| known(&facts.emulator)).wrapping(),
        Spec::left("started with", |(_, facts): &Known| instructions::command(facts).into()).wrapping(),
        Spec::left("what misleads", |(_, facts): &Known| facts.notes.join("; ").into()).wrapping(),
    ];
    html.raw("<h3>Environments</h3>");
    cells::plain(html, &Table::of(&specs, &rows).without_empty(), "What is known of each environment");
}

/// Environments that the page describes.
const MOST_ENVIRONMENTS: usize = 200;

/// Warnings that are shown at once.
const MOST: usize = 6;

/// What taxes every system call of a machine and what concerns whole runs: before the results, which it changes. What holds
/// for several files is said once.
pub fn warnings(html: &mut Markup, files: &[Portrait]) {
    let mut labels: IndexMap<String, Vec<String>> = IndexMap::new();
    for file in files {
        let info = &file.column.info;
        let taxes = info.host.taxes.iter().map(conditions::tax);
        let incomplete = (!info.complete).then(|| "the run was interrupted: what is missing says so".to_string());
        for warning in taxes.chain(info.warnings.iter().map(ToString::to_string)).chain(incomplete) {
            labels.entry(warning).or_default().push(info.label.clone());
        }
    }
    let line = |(text, labels): (String, Vec<String>)| match files.len() {
        1 => text,
        _ => format!("{text} ({})", few(&labels)),
    };
    let lines: Vec<String> = labels.into_iter().map(line).collect();
    if lines.is_empty() {
        return;
    }
    html.raw("<aside aria-label=\"Warnings\"><b class=\"warn\">Before you read the results</b>");
    let (first, more) = lines.split_at(lines.len().min(MOST));
    cells::notes(html, first.iter());
    if !more.is_empty() {
        html.raw("<details><summary>").text(&format!("{} more warnings", more.len())).raw("</summary>");
        cells::notes(html, more.iter());
        html.raw("</details>");
    }
    html.raw("</aside>");
}

type Fact = (&'static str, fn(&Portrait) -> Option<String>);

/// What is shown, in this order.
const FACTS: [Fact; 33] = [
    ("labels", |p| conditions::labels(&p.column.info.labels)),
    ("measured by", |p| Some(measured_by(&p.column.info))),
    ("at", |p| Some(p.column.info.started_unix_s).filter(|s| *s > 0).map(|s| format!("{} UTC", date(s)))),
    ("took", |p| {
        p.detail.as_ref().map(|d| format!("{} s of {} s", three_figures(d.elapsed_s), three_figures(d.budget_s)))
    }),
    ("runs", |p| Some(p.column.info.runs).filter(|runs| *runs > 1).map(|runs| runs.to_string())),
    ("target precision", |p| {
        Some(format!("{}%", p.column.info.precision_percent)).filter(|_| p.column.info.source.is_none())
    }),
    ("note", |p| Some(p.column.info.source.as_ref()?.note.clone()).filter(|note| !note.is_empty())),
    ("host", |p| host(p).name.clone()),
    ("kernel", |p| Some([host(p).system.clone()?, host(p).kernel.clone()?].join(" "))),
    ("kernel build", |p| host(p).kernel_version.clone()),
    ("kernel options", |p| host(p).command_line.clone()),
    ("distribution", |p| host(p).distribution.clone()),
    ("CPU", |p| host(p).cpu.clone()),
    ("CPU revision", |p| host(p).cpu_revision.clone()),
    ("architecture", |p| host(p).architecture.clone()),
    ("processors", |p| host(p).cpus.map(|cpus| cpus.to_string())),
    ("memory", |p| host(p).memory_mib.map(|mib| format!("{mib} MiB"))),
    ("hypervisor", |p| host(p).hypervisor.clone()),
    ("container", |p| host(p).container.clone()),
    ("mitigations", |p| Some(host(p).mitigations.join("; ")).filter(|text| !text.is_empty())),
    ("clock", |p| host(p).clock_source.clone()),
    ("reading the clock", |p| host(p).clock_cost_ns.map(|ns| format!("{} ns", three_figures(ns)))),
    ("frequency", |p| host(p).frequency_mhz.map(|mhz| format!("{} MHz", three_figures(mhz)))),
    ("governor", |p| host(p).governor.clone()),
    ("turbo", |p| host(p).turbo.map(on_off)),
    ("SMT", |p| host(p).smt.map(on_off)),
    ("C library", |p| host(p).libc.clone()),
    ("compiler of the probe", |p| Some(p.column.info.tool.compiler.clone()).filter(|text| !text.is_empty())),
    ("file system", |p| host(p).file_system.clone()),
    ("load at the start", |p| timed(p)?.load_1min.map(three_figures)),
    ("stolen by the hypervisor", |p| timed(p)?.steal_percent.map(|percent| format!("{}%", three_figures(percent)))),
    ("measured on", |p| timed(p)?.measuring_cpu.map(|cpu| format!("CPU {cpu}{}", reason(host(p))))),
    ("user", |p| host(p).user.clone()),
];

fn host(file: &Portrait) -> &Host {
    &file.column.info.host
}

/// The machine, if its other work changes figures: counted instructions are the same however busy it is.
fn timed(file: &Portrait) -> Option<&Host> {
    let is_counted = file.detail.as_ref().is_some_and(|detail| detail.summary.is_counted());
    (!is_counted).then(|| host(file))
}

fn reason(host: &Host) -> String {
    host.measuring_cpu_reason.as_ref().map_or(String::new(), |reason| format!(", {reason}"))
}

fn on_off(on: bool) -> String {
    if on { "on".to_string() } else { "off".to_string() }
}

fn measured_by(info: &ColumnInfo) -> String {
    info.source
        .as_ref()
        .map_or_else(|| format!("{} {}", info.tool.name, info.tool.version), |source| source.title.clone())
}

/// Facts as rows and files as columns; what no file has is listed below.
fn facts_table(files: &[Portrait]) -> Table {
    let values = |fact: &Fact| -> Vec<Option<String>> { files.iter().map(fact.1).collect() };
    let (known, unknown): (Vec<_>, Vec<_>) =
        FACTS.iter().map(|fact| (fact.0, values(fact))).partition(|(_, values)| values.iter().any(Option::is_some));
    let mut specs = vec![Spec::left("fact", |(name, _): &(&str, Vec<Option<String>>)| (*name).into())];
    specs.extend(files.iter().enumerate().map(|(i, file)| {
        Spec::left(file.label(), move |(_, values): &(&str, Vec<Option<String>>)| {
            Cell::from(values[i].clone().unwrap_or("unknown".to_string()))
        })
    }));
    let unknown: Vec<&str> = unknown.into_iter().map(|(name, _)| name).collect();
    let notes = if unknown.is_empty() { vec![] } else { vec![format!("Not known: {}.", unknown.join(", "))] };
    Table::of(&specs, &known).noted(notes)
}
