//! The output of `kernel bisect`: one row for each step between kernels.

use super::numbers::{count, thousands};
use super::{Cell, Spec, Style, Table};
use crate::compare::{KernelStep, KernelSteps, NotCounted};
use crate::prose::{counted, some};
use indexmap::IndexMap;

/// Maximum number of names in a note.
const MOST_NAMES: usize = 6;

const UNIT: &str = "instructions of an emulated machine per operation, in user and kernel mode: cache and TLB misses have no \
                    part in them";

/// The steps, one for each operation and change of kernel.
pub fn kernel_steps_table(steps: &KernelSteps) -> Table {
    let style = |step: &KernelStep| if step.difference > 0.0 { Style::Bad } else { Style::Good };
    let number = |value: f64| Cell::number(count(value), value);
    let signed = |value: f64| format!("{}{}", if value > 0.0 { "+" } else { "" }, thousands(value));
    let specs = [
        Spec::left("operation", |step: &KernelStep| step.operation.clone().into())
            .text("operation", |step| step.operation.clone()),
        Spec::left("from", |step: &KernelStep| step.from.clone().into()).text("from", |step| step.from.clone()),
        Spec::left("to", |step: &KernelStep| step.to.clone().into()).text("to", |step| step.to.clone()),
        Spec::right("before", move |step: &KernelStep| number(step.before)).number("before", |step| Some(step.before)),
        Spec::right("after", move |step: &KernelStep| number(step.after)).number("after", |step| Some(step.after)),
        Spec::right("change", move |step: &KernelStep| Cell::styled(signed(step.difference), style(step)))
            .number("difference", |step| Some(step.difference)),
        Spec::right("%", move |step: &KernelStep| Cell::from(signed(step.percent)))
            .number("percent", |step| Some(step.percent)),
    ];
    Table::of(&specs, &steps.steps).titled(title(steps)).cautioned(vec![UNIT.to_string()]).noted(notes(steps))
}

fn title(steps: &KernelSteps) -> String {
    let of = |kernel: &crate::compare::ComparedKernel| match &kernel.release {
        Some(release) => format!("{} ({release})", kernel.environment),
        None => kernel.environment.clone(),
    };
    format!("steps from {}", steps.kernels.iter().map(of).collect::<Vec<_>>().join(" to "))
}

fn notes(steps: &KernelSteps) -> Vec<String> {
    let operations = counted(steps.operations, "operation");
    let looked = format!("{operations} compared; steps of at least {}%", steps.threshold_percent);
    let mut by_reason: IndexMap<(&str, &str), Vec<&str>> = IndexMap::new();
    for NotCounted { operation, environment, reason } in &steps.not_counted {
        by_reason.entry((environment, reason)).or_default().push(operation);
    }
    let missing = by_reason.into_iter().map(|((environment, reason), operations)| {
        format!("no count in {environment}: {}: {reason}", some(&operations, MOST_NAMES))
    });
    std::iter::once(looked).chain(missing).collect()
}
