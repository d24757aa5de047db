//! Several profiles as one table: their most frequent calls, and how many of the profiles have each.

use crate::numbers::{self, counted};
use crate::{Columns, Table};
use document::params;
use model::{By, Profile};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A call in all profiles.
struct Row {
    call: String,
    calls: u64,
    /// Elapsed time in seconds; `None` unless all profiles that have the call know it.
    seconds: Option<f64>,
    /// In the order of the profiles.
    each: Vec<u64>,
    /// Share of all calls.
    percent: f64,
    /// Share of all calls, added up from the first row.
    percent_so_far: f64,
}

impl Row {
    fn profiles(&self) -> usize {
        self.each.iter().filter(|calls| **calls > 0).count()
    }
}

/// The most frequent call first, or the one with the most time. Each profile has the name of its file.
pub fn together_table(profiles: &[(String, Profile)], by_time: bool) -> Table {
    let rows = rows(profiles, by_time);

    let names = profiles.iter().map(|(name, _)| name);
    let mut columns = Columns::new(&rows)
        .same("call", |row| &row.call)
        .counts("calls", "calls", |row| row.calls)
        .numbers("%", "percent", tenths, |row| Some(row.percent))
        .numbers("sum %", "percent_so_far", tenths, |row| {
            Some(row.percent_so_far)
        })
        .numbers("time s", "seconds", numbers::seconds, |row| row.seconds)
        .right("profiles", |row| {
            format!("{} of {}", row.profiles(), profiles.len())
        })
        .field("profiles", |row| row.profiles() as u64)
        .field("calls_by_profile", |row| {
            params(names.clone().zip(&row.each))
        });
    for (index, (name, _)) in profiles.iter().enumerate() {
        columns = columns
            .right(name, move |row| row.each[index])
            .expendable(1);
    }
    let all: u64 = rows.iter().map(|row| row.calls).sum();
    let incomplete = profiles.iter().filter(|(_, profile)| !profile.complete);
    let cautions =
        incomplete.map(|(name, _)| format!("{name} was cut short: its counts are lower bounds."));
    let title = format!("{} of {} profiles", counted(all, "call"), profiles.len());
    let times = (rows.iter().any(|row| row.seconds.is_some()))
        .then(|| "time s: elapsed, in all threads; empty if a profile has no times.".to_string());
    columns
        .table()
        .titled(title)
        .noted(times.into_iter().chain(cautions))
}

fn tenths(percent: f64) -> String {
    format!("{percent:.1}")
}

fn rows(profiles: &[(String, Profile)], by_time: bool) -> Vec<Row> {
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    for (index, (_, profile)) in profiles.iter().enumerate() {
        for total in profile.totals(By::Call) {
            let count = total.count;
            let row = rows.entry(count.call.clone()).or_insert_with(|| Row {
                call: count.call.clone(),
                calls: 0,
                seconds: Some(0.0),
                each: vec![0; profiles.len()],
                percent: 0.0,
                percent_so_far: 0.0,
            });
            row.calls += count.calls;
            row.each[index] += count.calls;
            let elapsed_ns = count.elapsed_ns().map(|ns| ns as f64);
            row.seconds = row.seconds.zip(elapsed_ns).map(|(sum, ns)| sum + ns / 1e9);
        }
    }
    let all: u64 = rows.values().map(|row| row.calls).sum();
    let mut rows: Vec<Row> = rows.into_values().collect();
    rows.sort_by_key(|row| Reverse(row.calls));
    if by_time {
        let seconds = |row: &Row| row.seconds.unwrap_or(-1.0);
        rows.sort_by(|a, b| seconds(b).total_cmp(&seconds(a)));
    }
    let mut so_far = 0;
    let percent = |calls: u64| 100.0 * calls as f64 / all.max(1) as f64;
    for row in &mut rows {
        so_far += row.calls;
        row.percent = percent(row.calls);
        row.percent_so_far = percent(so_far);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::fixtures::{called, profile};

    #[test]
    fn calls_are_added_and_ranked() {
        let profiles = [
            (
                "a".to_string(),
                profile(vec![called("read", 3), called("write", 1)]),
            ),
            ("b".to_string(), profile(vec![called("write", 6)])),
        ];
        let rows = rows(&profiles, false);
        let shown = rows.iter().map(|row| {
            (
                row.call.as_str(),
                row.calls,
                row.profiles(),
                row.percent_so_far,
            )
        });
        let expected = [("write", 7, 2, 70.0), ("read", 3, 1, 100.0)];
        assert!(shown.eq(expected));
    }
}
