//! JSON for github-action-benchmark with `tool: customSmallerIsBetter`: a list of one entry for each case
//! (<https://github.com/benchmark-action/github-action-benchmark#examples>), with the interval as `range` and the kernel entries
//! as `extra`. Of a profile, one for each system call. It has no place for failures: they are left out.

use super::exported::{ExportFormat, Exported};
use crate::clean;
use crate::model::{By, Profile, Run};
use crate::report::numbers;
use crate::summary::RowFigure;
use anyhow::Result;
use serde::Serialize;
use std::io::Write;

pub const FORMAT: ExportFormat = ExportFormat {
    name: "github-action-benchmark",
    what: "JSON for github-action-benchmark's customSmallerIsBetter",
    write: Some(write),
    holds_instructions: true,
    write_profile: Some(write_profile),
};

#[derive(Serialize)]
struct Entry {
    name: String,
    unit: &'static str,
    value: f64,
    /// Shown beside the value; not read as a number.
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    /// Shown when pointing at the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    extra: Option<String>,
}

fn write(run: &Run, cases: &[Exported], out: &mut dyn Write) -> Result<()> {
    let kernel = run.host.kernel.as_ref().map(|kernel| format!("kernel {kernel}"));
    let entries: Vec<Entry> = cases.iter().filter_map(|case| entry(case, kernel.as_deref())).collect();
    written(&entries, out)
}

fn written(entries: &[Entry], out: &mut dyn Write) -> Result<()> {
    serde_json::to_writer_pretty(&mut *out, entries)?;
    Ok(writeln!(out)?)
}

fn entry(case: &Exported, kernel: Option<&str>) -> Option<Entry> {
    let (unit, value, ends) = match case.row.figure.as_ref().ok()? {
        RowFigure::Time(cost) => ("ns/op", cost.median.0, cost.interval.map(|interval| (interval.low, interval.high))),
        RowFigure::Instructions(count) => ("instructions/op", count.per_operation, Some((count.low, count.high))),
    };
    let range = ends.map(|(low, high)| format!("{} .. {}", numbers::three_figures(low), numbers::three_figures(high)));
    let entries = case.row.entries.as_ref().map(|entries| format!("kernel entries: {}", numbers::entries(entries)));
    let extra: Vec<String> = entries.into_iter().chain(kernel.map(clean::line)).collect();
    let extra = (!extra.is_empty()).then(|| extra.join("\n"));
    Some(Entry { name: case.name.clone(), unit, value, range, extra })
}

fn write_profile(profile: &Profile, out: &mut dyn Write) -> Result<()> {
    let ranges = profile.ranges();
    let entry = |name: &str, value: u64, range: Option<&(u64, u64)>, failed: u64| Entry {
        name: clean::line(name),
        unit: "calls",
        value: value as f64,
        range: range.filter(|(least, most)| least < most).map(|(least, most)| format!("{least} .. {most}")),
        extra: (failed > 0).then(|| format!("{failed} of the first run's failed")),
    };
    let all = profile.all_calls();
    let total = entry("total", all.calls, None, all.failures());
    let calls = profile.totals(By::Call).into_iter().map(|call| {
        let count = call.count;
        entry(&count.call, count.calls, ranges.get(&count.call), count.failures())
    });
    written(&[total].into_iter().chain(calls).collect::<Vec<_>>(), out)
}

#[cfg(test)]
mod tests {
    use super::super::tests::written;
    use super::*;
    use crate::model::{CallCount, ProcessGroup, ProfileRun};

    #[test]
    fn a_case_is_one_entry() {
        let document: serde_json::Value = serde_json::from_str(&written(FORMAT)).unwrap();
        let entries = document.as_array().unwrap();
        assert_eq!(entries.len(), 5, "all but the one that failed");
        assert_eq!((&entries[1]["name"], &entries[1]["unit"]), (&"file.lstat depth=4 in m32".into(), &"ns/op".into()));
        assert!(entries[0]["range"].as_str().unwrap().contains(" .. ") && entries[0]["value"].is_f64());
        assert!(entries.iter().any(|entry| entry["extra"].as_str().is_some_and(|text| text.contains("umask"))));
    }

    #[test]
    fn a_profile_is_one_entry_for_each_call() {
        let count = |calls| vec![CallCount { call: "read".into(), calls, ..CallCount::default() }];
        let group = ProcessGroup { calls: count(5), ..ProcessGroup::default() };
        let repeats = vec![ProfileRun { calls: count(9), ..ProfileRun::default() }];
        let mut out = Vec::new();
        write_profile(&Profile { groups: vec![group], repeats, ..Profile::default() }, &mut out).unwrap();
        let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(document[1], serde_json::json!({"name": "read", "unit": "calls", "value": 5.0, "range": "5 .. 9"}));
    }
}
