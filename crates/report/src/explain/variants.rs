//! Operations side by side, in one environment or in several: what answers them and by which code.

use crate::explain::results;
use crate::numbers::{self, nanoseconds, significant};
use crate::{Cell, Columns, Style, Table};
use itertools::Itertools;
use model::Entries;
use model::code::{Answer, Code, Explanation, Variant};

pub fn variant_table(title: &str, variants: &[Variant], answer: &str) -> Table {
    fn number(value: Option<f64>, text: fn(f64) -> String) -> Cell {
        value.map_or(Cell::from("-"), |value| Cell::number(text(value), value))
    }

    let mut columns = Columns::of(variants).same("operation", |v| &v.operation);
    if several_environments(variants) {
        columns = columns.same("environment", |v| &v.environment);
    }
    let columns = columns
        .right("ns/op", |v| number(ns(v), nanoseconds))
        .field("median_ns", ns)
        .right("x getppid", |v| number(times(v), significant))
        .field("times_getppid", times)
        .left("kernel entries", |v| explained(v, entries))
        .field("kernel_entries", |v| Some(counted(v)?.total()))
        .field("kernel_entries_by_call", |v| {
            counted(v).map(ToString::to_string)
        })
        .left("returned", |v| {
            explained(v, |e| results(&e.returned).into())
        })
        .expendable(2)
        .field("returned", |v| Some(results(&known(v)?.returned)))
        .right("bytes", |v| explained(v, bytes))
        .expendable(1)
        .field("caller_bytes", |v| Some(code(v)?.caller_bytes))
        .field("callee_bytes", |v| Some(code(v)?.callee_bytes))
        .left("answered by", answered_by)
        .wrapping()
        .field("answered_by", |v| Some(&known(v)?.verdict.short))
        .field("error", |v| {
            v.explained.as_ref().err().map(|failure| &failure.message)
        });
    let mut notes = vec!["bytes: of the code executed, caller + callee".to_string()];
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
    columns.table().titled(title).noted(notes)
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
    variant.cost?.times_getppid
}

fn known(variant: &Variant) -> Option<&Explanation> {
    variant.explained.as_ref().ok()
}

fn counted(variant: &Variant) -> Option<&Entries> {
    known(variant)?.entries.as_ref()
}

fn code(variant: &Variant) -> Option<&Code> {
    known(variant)?.code.as_ref()
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
    explanation
        .verdict
        .remarks
        .iter()
        .chain(&explanation.notes)
        .map(|remark| format!("{name}: {remark}"))
        .collect()
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
    fn range(known: &[(String, &Explanation, f64)]) -> String {
        let ends = |pick: fn(f64, f64) -> f64| {
            nanoseconds(known.iter().map(|(.., ns)| *ns).reduce(pick).unwrap_or(0.0))
        };
        if known.len() == 1 {
            format!("{} ns", ends(f64::min))
        } else {
            format!("{} to {} ns", ends(f64::min), ends(f64::max))
        }
    }

    let known = variants
        .iter()
        .filter_map(|v| Some((name(v, variants), known(v)?, ns(v)?)));
    let (entering, staying): (Vec<_>, Vec<_>) =
        known.partition(|(_, explanation, _)| enters(explanation));
    let names = staying.iter().map(|(name, ..)| name.as_str()).join(", ");
    match (&entering[..], &staying[..]) {
        ([], []) => String::new(),
        ([], _) => format!("No variant enters the kernel ({}).", range(&staying)),
        (_, []) => format!("Every variant enters the kernel ({}).", range(&entering)),
        _ => format!(
            "{} of {} variants enter the kernel ({}); answered in user space: {} ({}).",
            entering.len(),
            entering.len() + staying.len(),
            range(&entering),
            names,
            range(&staying)
        ),
    }
}
