//! The first lines of `why`: threads that hang, the greatest saving or, if none is known, the largest parts of the time.

use super::advice;
use super::hung::hung_lines;
use super::ledger::ledger_rows;
use super::rows::Row;
use super::time::time_rows;
use super::why::ALL;
use crate::numbers::{counted, duration, percent};
use analysis::attribute::Attribution;
use analysis::attribute::spent::{PartKind, Spent};
use model::Profile;

/// From this share of user mode on, system calls are not the problem.
const USER_BOUND: f64 = 0.8;
const MOST_ROWS: usize = 3;
/// Parts with a smaller share of the time are not named in the answer.
const LEAST: f64 = 0.05;

/// Hung threads first, then the greatest saving. At least one line, even if no rule applies.
pub fn answer(profile: &Profile, attribution: &Attribution) -> Vec<String> {
    let threads = attribution.threads.as_ref();
    let mut lines = threads.map_or_else(Vec::new, |ledger| hung_lines(attribution, ledger));
    if !profile.is_service() {
        lines.extend(user_bound(&attribution.time));
    }
    let entering_s = entering_s(attribution);
    match attribution.advice.first() {
        Some(first) => lines.push(advice::line(first, &attribution.time, entering_s)),
        None if lines.is_empty() => lines.push(most(profile, attribution)),
        None => {}
    }
    lines
}

/// The answer, and the other savings.
pub fn all_lines(profile: &Profile, attribution: &Attribution) -> Vec<String> {
    let further = attribution.advice.iter().skip(1);
    let entering_s = entering_s(attribution);
    let further = further.map(|advice| advice::line(advice, &attribution.time, entering_s));
    answer(profile, attribution)
        .into_iter()
        .chain(further)
        .collect()
}

fn entering_s(attribution: &Attribution) -> f64 {
    attribution
        .entering
        .map_or(0.0, |entering| entering.seconds)
}

/// The first rows of the table below.
fn most(profile: &Profile, attribution: &Attribution) -> String {
    let time = &attribution.time;
    if let Some(entering) = attribution.entering
        && time.seconds_of(PartKind::Stops) > 0.0
    {
        return format!(
            "No advice: no rule applies. {} take at least {}; ptrace stops hide the rest.",
            counted(entering.calls, "call"),
            duration(entering.seconds)
        );
    }
    let rows = match &attribution.threads {
        Some(ledger) => ledger_rows(profile, ledger, ALL),
        None => time_rows(&untraced(time), &attribution.waits, MOST_ROWS),
    };
    let least_s = LEAST * rows.iter().map(|row| row.seconds).sum::<f64>();
    let rows = rows.iter().filter(|row| row.seconds >= least_s);
    let rows: Vec<String> = rows.take(MOST_ROWS).map(part).collect();
    if rows.is_empty() {
        return "No advice: no rule applies.".to_string();
    }
    format!(
        "Most time: {}. No advice: no rule applies.",
        rows.join("; ")
    )
}

fn untraced(time: &Spent) -> Spent {
    let parts = time.parts.iter();
    let traced_program = parts.filter(|part| part.kind != PartKind::Tracer);
    Spent {
        parts: traced_program.cloned().collect(),
        ..Spent::default()
    }
}

/// `waiting for disk 0.20 s (fsync of /a/log)`
fn part(row: &Row) -> String {
    let what = if row.what.is_empty() {
        String::new()
    } else {
        format!(" ({})", row.what)
    };
    format!("{} {}{what}", row.name, duration(row.seconds))
}

/// The answer for a program that computes. Waiting for a CPU, which other programs cause, and tracing are left out of the share.
fn user_bound(time: &Spent) -> Option<String> {
    let (whole_s, user_s) = (time.untraced_s(0.0)?, time.seconds_of(PartKind::UserMode));
    // Stops slow down user mode too: with many stops its share is too large to blame the program.
    if time.seconds_of(PartKind::Tracer) + time.seconds_of(PartKind::Stops) > user_s {
        return None;
    }
    let waiting_s = time.seconds_of(PartKind::WaitingForCpu);
    let share = user_s / (whole_s - waiting_s);
    if share.is_nan() || share < USER_BOUND {
        return None;
    }
    let without = if waiting_s > 0.0 {
        " without waiting for a CPU"
    } else {
        ""
    };
    let whole = match time.wall_s {
        Some(_) => "wall time",
        None => "CPU time",
    };
    Some(format!(
        "CPU-bound in user mode: no system call explains {}% of the {whole}{without}.",
        percent(100.0 * share)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::attribute::spent::Part;

    #[test]
    fn the_share_of_user_mode_is_that_without_waiting_for_a_cpu() {
        fn part(kind: PartKind, seconds: f64) -> Part {
            Part {
                kind,
                wall_s: Some(seconds),
                cpu_s: None,
                what: Vec::new(),
            }
        }

        let time = Spent {
            wall_s: Some(10.0),
            parts: vec![
                part(PartKind::WaitingForCpu, 8.0),
                part(PartKind::UserMode, 1.7),
            ],
            ..Spent::default()
        };
        let expected = "85% of the wall time without waiting for a CPU";
        let actual = user_bound(&time).unwrap();
        assert!(actual.contains(expected), "{actual}");
    }
}
