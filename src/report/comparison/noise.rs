//! The noise of a machine as a table: how far it moves, how often it disturbs, and which differences runs show there.

use crate::compare::Noise;
use crate::document::{Cell, Spec, Table};
use crate::prose::counted;
use crate::report::numbers::{percent, three_figures};

/// One figure of the noise.
struct Line {
    name: &'static str,
    what: String,
    value: Option<f64>,
    unit: &'static str,
}

/// A row for each figure, below the one number.
pub fn noise_table(noise: &Noise) -> Table {
    let specs = [
        Spec::left("what", |line: &Line| line.what.clone().into())
            .wrapping()
            .text("figure", |line| line.name.to_string()),
        Spec::right("found", |line: &Line| shown(line)).number("value", |line| line.value),
        Spec::hidden().text("unit", |line: &Line| line.unit.to_string()),
    ];
    Table::of(&specs, &lines(noise)).titled(headline(noise)).noted(notes(noise))
}

fn shown(line: &Line) -> Cell {
    let Some(value) = line.value else { return Cell::from("unknown") };
    let text = match line.unit {
        "percent" => format!("{}%", percent(value)),
        "runs" => format!("{value:.0}"),
        _ => three_figures(value),
    };
    Cell::number(text, value)
}

/// The one number, and what it lets one detect.
fn headline(noise: &Noise) -> String {
    let moves = noise.next_run_percent.map_or("by an unknown amount".into(), |own| format!("by ±{}%", percent(own)));
    let finds: Vec<String> = noise
        .finds
        .iter()
        .filter_map(|finds| {
            let change = percent(finds.change_percent?);
            Some(match finds.runs_a_side {
                1 => format!("comparing single runs finds differences from {change}% on"),
                runs => format!("{runs} runs a side from {change}% on"),
            })
        })
        .collect();
    format!("This machine moves {moves} from run to run; {}.", finds.join(", "))
}

fn lines(noise: &Noise) -> Vec<Line> {
    let line = |name, what: &str, value, unit| Line { name, what: what.to_string(), value, unit };
    let disturbed = &noise.disturbed;
    let mut lines = vec![
        line(
            "next_run_percent",
            "the machine as a whole in the next run, 95% interval (±)",
            noise.next_run_percent,
            "percent",
        ),
        line("between_runs_percent", "standard deviation from run to run", noise.between_runs_percent, "percent"),
        line("within_run_percent", "standard deviation within a run", noise.within_run_percent, "percent"),
        line("blocks_percent", "time blocks that were disturbed", Some(disturbed.blocks_percent), "percent"),
        line("preempted_percent", "batches that were preempted", Some(disturbed.preempted_percent), "percent"),
        line("state_changes", "runs in which the kernel's state changed", Some(disturbed.state_changes as f64), "runs"),
        line("stolen_percent", "CPU time that the hypervisor took", disturbed.stolen_percent, "percent"),
        line("busy_cpus", "CPUs that other programs kept busy", disturbed.busy_cpus, "CPUs"),
    ];
    lines.extend(noise.finds.iter().map(|finds| Line {
        name: if finds.runs_a_side == 1 { "found_by_single_runs" } else { "found_by_five_runs_a_side" },
        what: format!("smallest difference found with {} a side", counted(finds.runs_a_side, "run")),
        value: finds.change_percent,
        unit: "percent",
    }));
    lines
}

fn notes(noise: &Noise) -> Vec<String> {
    let runs = counted(noise.runs as u64, "run");
    vec![
        format!("By {runs} of the panel of cheap operations, {:.1} s in all.", noise.seconds),
        "Differences are of an operation relative to the machine, found nine times in ten.".to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Disturbed, Finds};
    use crate::report::{Format, Screen, write_table};

    fn noise(next_run_percent: Option<f64>) -> Noise {
        let finds = |runs_a_side, percent| Finds { runs_a_side, change_percent: Some(percent) };
        Noise {
            runs: 5,
            seconds: 30.0,
            next_run_percent,
            between_runs_percent: Some(0.5),
            within_run_percent: Some(0.25),
            disturbed: Disturbed { blocks: 60, blocks_percent: 5.0, ..Disturbed::default() },
            finds: vec![finds(1, 2.5), finds(5, 1.75)],
        }
    }

    fn written(format: Format, noise: &Noise) -> String {
        let mut out = Vec::new();
        write_table(&noise_table(noise), format, Screen::PLAIN, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn one_number_and_what_it_lets_one_detect_come_first() {
        let text = written(Format::Text, &noise(Some(2.0)));
        let first = "This machine moves by ±2.0% from run to run; comparing single runs finds differences from 2.5% \
                     on, 5 runs a side from 1.8% on.";
        assert_eq!(text.lines().next(), Some(first));
        assert!(text.contains("time blocks that were disturbed") && text.contains("5.0%"), "{text}");
        assert!(written(Format::Text, &noise(None)).contains("by an unknown amount"));
    }

    #[test]
    fn programs_get_a_line_for_each_figure() {
        let csv = written(Format::Csv, &noise(Some(2.0)));
        assert!(csv.starts_with("figure,value,unit\nnext_run_percent,2,percent\n"), "{csv}");
        assert!(csv.contains("stolen_percent,,percent\n"), "{csv}");
    }
}
