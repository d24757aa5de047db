//! Advice in words: who makes which calls, where, and what to change. All formats of attributions call it.

use crate::attribution::notes::range;
use crate::numbers::{self, duration, percent, seconds, thousands};
use analysis::attribute::advice::{Advice, PathUse, Time, advice, largest};
use analysis::attribute::spent::spent;
use model::Profile;
use model::prose::{counted, some};

/// A sentence for each piece of advice, or that there is none.
pub fn advice_lines(profile: &Profile) -> Vec<String> {
    let advice = advice(profile, profile.null_call_ns, &spent(profile));
    if advice.is_empty() {
        none(profile)
    } else {
        advice.iter().map(line).collect()
    }
}

const LITTLE: f64 = 0.02;

pub fn none(profile: &Profile) -> Vec<String> {
    let (groups, share) = largest(profile, 3);
    let mut lines = match share {
        Some(share) if share < LITTLE => {
            vec![format!(
                "No rule applies: system calls take {}% of the wall time.",
                percent(100.0 * share)
            )]
        }
        _ => {
            let named: Vec<String> = groups
                .iter()
                .map(|group| {
                    let takes = if group.takes_s > 0.0 {
                        format!(" ({})", duration(group.takes_s))
                    } else {
                        String::new()
                    };
                    format!(
                        "{} for {}{takes}",
                        numbers::counted(group.calls, "call"),
                        group.items
                    )
                })
                .collect();
            let most_of = if groups.iter().any(|group| group.takes_s > 0.0) {
                "time"
            } else {
                "calls"
            };
            let most = if named.is_empty() {
                String::new()
            } else {
                format!(" Most {most_of}: {}.", named.join(", "))
            };
            vec![format!("No rule applies.{most}")]
        }
    };
    if profile.source.is_none() && profile.objects.is_empty() {
        lines.push(
            "Repeated look-ups are not known: 'syscost trace --paths' records them.".to_string(),
        );
    }
    lines
}

pub fn line(advice: &Advice) -> String {
    let range = advice
        .saved
        .map(range)
        .filter(|range| !range.is_empty())
        .map_or_else(String::new, |range| format!(" ({range})"));
    let saved = advice
        .saved
        .map_or_else(|| "?".to_string(), |saved| seconds(saved.value));
    format!("{saved} s{range}: {}", what(advice))
}

pub fn what(advice: &Advice) -> String {
    let process = if advice.process.is_empty() {
        String::new()
    } else {
        format!("{}: ", advice.process)
    };
    let function = advice
        .function
        .as_ref()
        .map_or_else(String::new, |name| format!(" in {name}()"));
    let waiting = if advice.time == Time::Elapsed {
        " (with waiting)"
    } else {
        ""
    };
    format!(
        "{process}{}{function}{}: {}{waiting}",
        calls(advice),
        most(&advice.paths),
        advice.change
    )
}

/// `20,000 read of 1 byte each`
fn calls(advice: &Advice) -> String {
    let names = some(&advice.names, 4);
    let of = advice.of.as_deref().unwrap_or_default();
    [
        (
            "{calls}",
            format!("{} {names}", thousands(advice.calls as f64)),
        ),
        ("{names}", names),
        ("{items}", thousands(advice.items as f64)),
        ("{files}", counted(advice.items, "file")),
        ("{paths}", counted(advice.items, "path")),
        (
            "{bytes}",
            format!("{of} {}", if of == "1" { "byte" } else { "bytes" }),
        ),
        ("{of}", of.to_string()),
    ]
    .iter()
    .fold(advice.phrase.to_string(), |phrase, (word, text)| {
        phrase.replace(word, text)
    })
}

/// ` (most: a.h 150,000, b.h 149,000)`
fn most(paths: &[PathUse]) -> String {
    let named: Vec<String> = paths
        .iter()
        .map(|path| format!("{} {}", path.path, thousands(path.calls as f64)))
        .collect();
    if named.is_empty() {
        String::new()
    } else {
        format!(" (most: {})", named.join(", "))
    }
}
