//! Warnings of an attribution, in words. All formats of attributions call it.

use crate::attribute::{AttributionWarning, UnlikeCall};
use crate::prose::{counted, some};
use crate::report::numbers::significant;

/// Calls that a warning names.
const MOST_CALLS: usize = 3;

/// A warning, without a full stop.
pub fn warning(warning: &AttributionWarning) -> String {
    match warning {
        AttributionWarning::NoUnitCosts { .. } => {
            "no unit costs for this machine, so bare crossings, page faults and savings have no price; measure them with \
             'syscost run --profile profile.json --out here.json' and pass --costs here.json"
                .to_string()
        }
        AttributionWarning::NoNullCall { costs } => {
            format!("{costs}: no null call, so bare crossings have no price; measure id.getppid too")
        }
        AttributionWarning::IncompleteProfile => "the profile is incomplete: all counts are lower bounds".to_string(),
        AttributionWarning::NoIntervals { costs } => {
            format!(
                "{costs}: results without intervals, so ranges hold the model's error alone, and crossings have none"
            )
        }
        AttributionWarning::Concurrency { peak, costs, measured_with } => {
            let ran = match peak {
                Some(peak) => format!("up to {peak} threads were in the kernel at once"),
                None => "several processes or threads ran (it is not known how many at once)".to_string(),
            };
            let threads = counted(*measured_with, "thread");
            format!(
                "{ran}, but the unit costs ({costs}) were measured with {threads}: calls that contend for \
                 a lock or an object cost more than that"
            )
        }
        AttributionWarning::UnlikeUnitCosts { costs, calls } => {
            let us = |ns: f64| significant(ns / 1e3);
            let call = |own: &UnlikeCall| format!("{} takes {} us a call here but {} us alone", own.name, us(own.each_ns), us(own.alone_ns));
            let calls: Vec<String> = calls.iter().map(call).collect();
            format!(
                "{}; the program's calls do other work than the measured operation ({costs}), so predictions for them are uncertain",
                some(&calls, MOST_CALLS)
            )
        }
        AttributionWarning::Recorded { text } => text.clone(),
    }
}
