//! Operations side by side, in one environment or in several: what answers them and by which code.

use crate::explain::returned::results;
use crate::numbers::{self, nanoseconds, three_figures};
use crate::{Cell, Spec, Style, Table};
use model::Entries;
use model::code::{Answer, Code, Explanation, Variant};

pub fn variant_table(title: &str, variants: &[Variant], answer: &str) -> Table {
    let number = |value: Option<f64>, text: fn(f64) -> String| {
        value.map_or(Cell::from("-"), |value| Cell::number(text(value), value))
    };
    let environments = Spec::same("environment", |v: &Variant| v.environment.clone());
    let mut specs = vec![Spec::same("operation", |v: &Variant| v.operation.clone())];
    specs.extend(several_environments(variants).then_some(environments));
    specs.extend([
        Spec::right("ns/op", move |v| number(ns(v), nanoseconds)).number("median_ns", ns),
        Spec::right("x call", move |v| number(times(v), three_figures))
            .number("times_empty_call", times),
        Spec::left("kernel entries", |v| explained(v, entries))
            .number("kernel_entries", |v| Some(counted(v)?.total()))
            .text("kernel_entries_by_call", |v| {
                counted(v).map(ToString::to_string)
            }),
        Spec::left("returned", |v| {
            explained(v, |e| results(&e.returned).into())
        })
        .expendable(2)
        .text("returned", |v| {
            v.explained.as_ref().ok().map(|e| results(&e.returned))
        }),
        Spec::right("bytes", |v| explained(v, bytes))
            .expendable(1)
            .count("caller_bytes", |v| Some(code(v)?.caller_bytes))
            .count("callee_bytes", |v| Some(code(v)?.callee_bytes)),
        Spec::left("answered by", answered_by)
            .wrapping()
            .text("answered_by", |v| {
                v.explained.as_ref().ok().map(|e| e.verdict.short.clone())
            })
            .text("error", |v| {
                v.explained
                    .as_ref()
                    .err()
                    .map(|failure| failure.message.clone())
            }),
    ]);
    let mut notes = vec![
        "bytes: of the code executed, caller + callee; x call: times an empty call".to_string(),
    ];
    notes.extend(
        variants
            .iter()
            .flat_map(|variant| remarks(variant, &name(variant, variants))),
    );
    notes.extend(
        Some(answer)
            .filter(|answer| !answer.is_empty())
            .map(str::to_string),
    );
    Table::of(&specs, variants).titled(title).noted(notes)
}

fn several_environments(variants: &[Variant]) -> bool {
    variants
        .iter()
        .any(|variant| variant.environment != variants[0].environment)
}

fn name(variant: &Variant, among: &[Variant]) -> String {
    if several_environments(among) {
        format!("{} in {}", variant.operation, variant.environment)
    } else {
        variant.operation.clone()
    }
}

fn ns(variant: &Variant) -> Option<f64> {
    Some(variant.cost?.time.0)
}

fn times(variant: &Variant) -> Option<f64> {
    variant.cost?.times_empty_call
}

fn counted(variant: &Variant) -> Option<&Entries> {
    variant.explained.as_ref().ok()?.entries.as_ref()
}

fn code(variant: &Variant) -> Option<&Code> {
    variant.explained.as_ref().ok()?.code.as_ref()
}

fn explained(variant: &Variant, cell: fn(&Explanation) -> Cell) -> Cell {
    variant.explained.as_ref().map_or(Cell::from("-"), cell)
}

fn answered_by(variant: &Variant) -> Cell {
    match &variant.explained {
        Err(failure) => Cell::styled(failure.message.clone(), Style::Bad),
        Ok(explanation) => verdict(explanation),
    }
}

fn remarks(variant: &Variant, name: &str) -> Vec<String> {
    let Ok(explanation) = &variant.explained else {
        return Vec::new();
    };
    let remarks = explanation.verdict.remarks.iter().chain(&explanation.notes);
    remarks.map(|remark| format!("{name}: {remark}")).collect()
}

fn entries(explanation: &Explanation) -> Cell {
    explanation
        .entries
        .as_ref()
        .map_or(Cell::from("unverified"), |entries| {
            Cell::from(numbers::entries(entries))
        })
}

fn bytes(explanation: &Explanation) -> Cell {
    explanation.code.as_ref().map_or(Cell::from("-"), |c| {
        Cell::from(format!("{}+{}", c.caller_bytes, c.callee_bytes))
    })
}

fn verdict(explanation: &Explanation) -> Cell {
    let stays = !enters(explanation);
    Cell::styled(
        explanation.verdict.short.clone(),
        if stays { Style::Good } else { Style::Plain },
    )
}

fn enters(explanation: &Explanation) -> bool {
    matches!(
        explanation.verdict.answer,
        Answer::Kernel | Answer::LegacyGate | Answer::PageFaults
    )
}

pub fn variants_answer(variants: &[Variant]) -> String {
    let known = variants
        .iter()
        .filter_map(|v| Some((name(v, variants), v.explained.as_ref().ok()?, ns(v)?)));
    let (entering, staying): (Vec<_>, Vec<_>) =
        known.partition(|(_, explanation, _)| enters(explanation));
    let range = |known: &[(String, &Explanation, f64)]| {
        let ends = |pick: fn(f64, f64) -> f64| {
            nanoseconds(known.iter().map(|(.., ns)| *ns).reduce(pick).unwrap_or(0.0))
        };
        if known.len() == 1 {
            format!("{} ns", ends(f64::min))
        } else {
            format!("{} to {} ns", ends(f64::min), ends(f64::max))
        }
    };
    let names: Vec<&str> = staying.iter().map(|(name, ..)| name.as_str()).collect();
    match (&entering[..], &staying[..]) {
        ([], []) => String::new(),
        ([], _) => format!("No variant enters the kernel ({}).", range(&staying)),
        (_, []) => format!("Every variant enters the kernel ({}).", range(&entering)),
        _ => format!(
            "{} of {} variants enter the kernel ({}); answered in user space: {} ({}).",
            entering.len(),
            entering.len() + staying.len(),
            range(&entering),
            names.join(", "),
            range(&staying)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::code::{Cost, Gate, GateUse, Verdict};
    use model::{Failure, FailureKind, Nanos, Returned};

    fn variant(id: &str, ns: f64, gate: Option<Gate>, callee_bytes: u64) -> Variant {
        let gates = gate.map(|gate| GateUse {
            gate,
            function: id.into(),
            object: "o".into(),
            inline: false,
            count: 1,
        });
        let answer = if gate.is_some() {
            Answer::Kernel
        } else {
            Answer::Program
        };
        let verdict = Verdict {
            answer,
            gates: gates.into_iter().collect(),
            text: "".into(),
            short: "".into(),
            remarks: vec![],
        };
        let code = Code {
            resolved: vec![],
            instructions: 3,
            caller_bytes: 10,
            callee_bytes,
            functions: vec![],
        };
        let explanation = Explanation {
            returned: Returned::default(),
            operation: id.into(),
            what: String::new(),
            params: Default::default(),
            verdict,
            entries: None,
            page_faults: None,
            entries_unverified: None,
            code: Some(code),
            notes: vec![],
        };
        let cost = Some(Cost {
            time: Nanos(ns),
            times_empty_call: Some(ns),
        });
        Variant {
            operation: id.into(),
            environment: "native".into(),
            cost,
            explained: Ok(explanation),
        }
    }

    #[test]
    fn the_answer_is_made_from_the_table() {
        let variants = [
            variant("call.cached_pid", 2.0, None, 30),
            variant("call.getpid", 60.0, Some(Gate::Syscall), 8),
            variant("call.int80", 180.0, Some(Gate::Int80), 12),
        ];
        assert_eq!(
            variants_answer(&variants),
            "2 of 3 variants enter the kernel (60.0 to 180.0 ns); answered in user space: call.cached_pid (2.00 ns)."
        );
        assert_eq!(variants_answer(&[]), "");
    }

    #[test]
    fn environments_are_told_apart() {
        let old = Variant {
            environment: "m32".into(),
            ..variant("id.umask", 90.0, Some(Gate::Sysenter), 28)
        };
        let variants = [variant("id.umask", 60.0, Some(Gate::Syscall), 17), old];
        let table = variant_table("two", &variants, "");
        assert_eq!(table.columns()[1].title, "environment");
        assert_eq!(table.rows()[1][1].text, "m32");
        assert_eq!(
            variants_answer(&variants),
            "Every variant enters the kernel (60.0 to 90.0 ns)."
        );
        assert_eq!(
            variant_table("one", &variants[..1], "").columns()[1].title,
            "ns/op"
        );
    }

    #[test]
    fn a_failure_is_a_row() {
        let failure = Failure::new(FailureKind::Unsupported, "ENOSYS: int $0x80");
        let failed = Variant {
            operation: "call.int80".into(),
            environment: "native".into(),
            cost: None,
            explained: Err(failure),
        };
        let table = variant_table("getpid", &[failed], "");
        assert_eq!(
            table.rows()[0].last().map(|c| c.text.as_str()),
            Some("ENOSYS: int $0x80")
        );
        let fields: Vec<String> = table.records().rows()[0][1..]
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            fields,
            ["", "", "", "", "", "", "", "", "ENOSYS: int $0x80"]
        );
    }
}
