//! Several profiles as one table: their most frequent calls, and how many of the profiles have each.

use crate::numbers::counted;
use crate::{Columns, Table};
use document::params;
use model::{By, Profile};
use std::collections::BTreeMap;

/// A call in all profiles.
struct Row {
    call: String,
    calls: u64,
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

/// The most frequent call first. Each profile has the name of its file.
pub fn together_table(profiles: &[(String, Profile)]) -> Table {
    let rows = rows(profiles);

    let names = profiles.iter().map(|(name, _)| name);
    let mut columns = Columns::new(&rows)
        .same("call", |row| &row.call)
        .counts("calls", "calls", |row| row.calls)
        .numbers("%", "percent", tenths, |row| Some(row.percent))
        .numbers("sum %", "percent_so_far", tenths, |row| {
            Some(row.percent_so_far)
        })
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
    columns.table().titled(title).noted(cautions)
}

fn tenths(percent: f64) -> String {
    format!("{percent:.1}")
}

fn rows(profiles: &[(String, Profile)]) -> Vec<Row> {
    let mut calls: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (index, (_, profile)) in profiles.iter().enumerate() {
        for total in profile.totals(By::Call) {
            let each = calls.entry(total.count.call);
            let each = each.or_insert_with(|| vec![0; profiles.len()]);
            each[index] += total.count.calls;
        }
    }
    let all: u64 = calls.values().flatten().sum();
    let mut sorted: Vec<(String, Vec<u64>)> = calls.into_iter().collect();
    sorted.sort_by_key(|(_, each)| std::cmp::Reverse(each.iter().sum::<u64>()));
    let mut so_far = 0;
    let percent = |calls: u64| 100.0 * calls as f64 / all.max(1) as f64;
    let rows = sorted.into_iter().map(|(call, each)| {
        let calls: u64 = each.iter().sum();
        so_far += calls;
        Row {
            call,
            calls,
            each,
            percent: percent(calls),
            percent_so_far: percent(so_far),
        }
    });
    rows.collect()
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
        let rows = rows(&profiles);
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
