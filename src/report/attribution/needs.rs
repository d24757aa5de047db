//! What `run --profile` measures and why, in lines. The command prints them before it begins.

use crate::attribute::needs::Needs;
use crate::model::{Need, parameter_value};
use crate::prose::{counted, some};
use crate::report::numbers::percent;
use std::collections::BTreeMap;

/// Calls without an operation that are named.
const MOST_NAMES: usize = 8;

/// `profile` says what they are for; `threads` of the probe run each operation at once.
pub fn needs_lines(needs: &Needs, profile: &str, threads: u64) -> Vec<String> {
    let of = if needs.by_time { "the time of its calls" } else { "its calls (it has no times)" };
    let count = counted(needs.cases.len() as u64, "case");
    let price = if needs.cases.len() == 1 { "prices" } else { "price" };
    let priced = format!("{profile}: {count} {price} {} of {of}", share(needs.priced));
    let mut lines = vec![priced];
    lines.extend(operations(&needs.cases));
    let named = |(call, part): &(String, f64)| format!("{call} ({})", share(*part));
    let unpriced: Vec<String> = needs.unpriced.iter().map(named).collect();
    lines.extend((!unpriced.is_empty()).then(|| format!("No operation is like {}.", some(&unpriced, MOST_NAMES))));
    let ran = needs.threads.filter(|ran| *ran > 1 || threads > 1).map(|ran| {
        let measured = counted(threads, "CPU");
        format!("The command ran on {ran} CPUs at once, on average; each operation is measured on {measured} at once.")
    });
    lines.extend(ran);
    lines
}

/// `io.read_file size=1,4K (35%)`: each operation with all values of its parameters, and the share that it prices.
fn operations(cases: &[Need]) -> Vec<String> {
    let same = |a: &Need, b: &Need| a.operation == b.operation;
    cases.chunk_by(same).map(operation).collect()
}

fn operation(cases: &[Need]) -> String {
    let mut values: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (name, value) in cases.iter().flat_map(|need| &need.params) {
        values.entry(name).or_default().push(parameter_value(name, *value));
    }
    let values: String = values.into_iter().map(|(name, values)| format!(" {name}={}", values.join(","))).collect();
    let part = cases.iter().filter_map(|need| need.share).reduce(|a, b| a + b);
    let part = part.map_or(String::new(), |part| format!(" ({})", share(part)));
    format!("  {}{values}{part}", cases[0].operation)
}

/// Neither all nor nothing unless it is that.
fn share(part: f64) -> String {
    match part {
        part if part > 0.0 && part < 0.0005 => "<0.1%".to_string(),
        part if part < 1.0 && part > 0.995 => ">99%".to_string(),
        part => format!("{}%", percent(100.0 * part)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixtures::need;

    #[test]
    fn lines_say_what_is_measured_and_what_is_left_out() {
        let cases = vec![
            need("id.getppid", None, None),
            need("io.read_file", Some(1), Some(0.1)),
            need("io.read_file", Some(4096), Some(0.85)),
        ];
        let unpriced = vec![("keyctl".to_string(), 0.05)];
        let found = Needs { cases, by_time: true, priced: 0.95, unpriced, threads: Some(3) };
        let lines = [
            "--profile p.json: 3 cases price 95% of the time of its calls",
            "  id.getppid",
            "  io.read_file size=1,4K (95%)",
            "No operation is like keyctl (5.0%).",
            "The command ran on 3 CPUs at once, on average; each operation is measured on 1 CPU at once.",
        ];
        assert_eq!(needs_lines(&found, "--profile p.json", 1), lines);
        let counted = Needs { by_time: false, unpriced: Vec::new(), threads: Some(1), ..found };
        assert_eq!(
            needs_lines(&counted, "--profile p.json", 1)[0],
            "--profile p.json: 3 cases price 95% of its calls (it has no times)"
        );
        assert_eq!(needs_lines(&counted, "--profile p.json", 1).len(), 3);
        assert_eq!([0.0, 0.0001, 0.05, 0.9999, 1.0].map(share), ["0.0%", "<0.1%", "5.0%", ">99%", "100%"]);
    }
}
