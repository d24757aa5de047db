//! The data block of the page: rows as arrays, with names by index. The script beside this file reads it.

use analysis::atlas::environment;
use indexmap::IndexSet;
use itertools::Itertools;
use model::atlas::{Atlas, AtlasCell, AtlasCount, AtlasMachine, AtlasStep, UNCHANGED, ends};
use model::clean;
use model::explained::Group;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Texts that are named by index.
type Names = IndexSet<String>;

fn index(names: &mut Names, name: &str) -> usize {
    names.insert_full(name.to_string()).0
}

#[derive(Default)]
struct Block {
    operations: Names,
    reasons: Names,
    functions: Names,
}

/// The data as JSON, which must be escaped for a script element.
pub fn block(atlas: &Atlas) -> String {
    let mut block = Block::default();
    // Kernels are the oldest first; the newest knows the most operations, in the order of the list.
    for cell in atlas.kernels.iter().rev().flat_map(|kernel| &kernel.cells) {
        index(&mut block.operations, &cell.operation);
    }
    let machines: Vec<Value> = machines(atlas)
        .into_iter()
        .map(|machine| block.machine(atlas, machine))
        .collect();
    let groups = Group::ALL.map(|(_, title)| title);
    let block = json!({
        "machines": machines, "operations": block.operations, "reasons": block.reasons,
        "functions": block.functions, "groups": groups, "unchanged": UNCHANGED,
    });
    cleaned(block).to_string()
}

/// The script shows each text as a line, and makes commands of some.
fn cleaned(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(clean::line(&text)),
        Value::Array(all) => all.into_iter().map(cleaned).collect(),
        Value::Object(all) => all
            .into_iter()
            .map(|(key, value)| (key, cleaned(value)))
            .collect(),
        other => other,
    }
}

/// Those with the most kernels first.
pub fn machines(atlas: &Atlas) -> Vec<&AtlasMachine> {
    let mut number: BTreeMap<&AtlasMachine, usize> = BTreeMap::new();
    atlas
        .kernels
        .iter()
        .for_each(|kernel| *number.entry(&kernel.machine).or_default() += 1);
    let mut machines: Vec<(&AtlasMachine, usize)> = number.into_iter().collect();
    machines.sort_by_key(|(_, kernels)| std::cmp::Reverse(*kernels));
    machines.into_iter().map(|(machine, _)| machine).collect()
}

/// The processor of most kernels for its architecture, which need not be named.
fn usual_cpu<'a>(atlas: &'a Atlas, machine: &AtlasMachine) -> &'a str {
    machines(atlas)
        .into_iter()
        .find(|other| other.architecture == machine.architecture)
        .map_or("", |usual| usual.cpu.as_str())
}

/// `x86_64 qemu64 mitigations=off`
pub fn machine_name(machine: &AtlasMachine) -> String {
    [&machine.architecture, &machine.cpu, &machine.append]
        .into_iter()
        .filter(|word| !word.is_empty())
        .cloned()
        .join(" ")
}

impl Block {
    fn machine(&mut self, atlas: &Atlas, machine: &AtlasMachine) -> Value {
        let kernels: Vec<_> = atlas
            .kernels
            .iter()
            .filter(|kernel| kernel.machine == *machine)
            .collect();
        let releases: Vec<&str> = kernels
            .iter()
            .map(|kernel| kernel.release.as_str())
            .collect();
        let cells: Vec<Value> = kernels
            .iter()
            .map(|kernel| self.cells(&kernel.cells))
            .collect();
        let index = |release: &str| releases.iter().position(|other| *other == release);
        let pairs = atlas.steps.iter().filter(|steps| steps.machine == *machine);
        let known =
            pairs.filter_map(|pair| Some((pair, index(&pair.before)?, index(&pair.after)?)));
        let mut steps = Vec::new();
        for (pair, before, after) in known {
            steps.extend(
                pair.steps
                    .iter()
                    .filter_map(|step| self.step(step, before, after)),
            );
        }
        let cpu = Some(machine.cpu.as_str()).filter(|cpu| *cpu != usual_cpu(atlas, machine));
        let environments: Vec<String> = releases
            .iter()
            .map(|release| environment(release, cpu, &machine.append))
            .collect();
        let ends: Vec<usize> = ends(&kernels)
            .iter()
            .filter_map(|end| index(&end.release))
            .collect();
        json!({
            "name": machine_name(machine), "append": machine.append, "releases": releases, "environments": environments,
            "ends": ends, "cells": cells, "steps": steps,
        })
    }

    fn cells(&mut self, cells: &[AtlasCell]) -> Value {
        let mut values = vec![Value::Null; self.operations.len()];
        for cell in cells {
            values[index(&mut self.operations, &cell.operation)] = match (&cell.count, &cell.reason)
            {
                (Some(count), _) => counted(count),
                (None, Some(reason)) => json!([index(&mut self.reasons, reason)]),
                (None, None) => Value::Null,
            };
        }
        Value::Array(values)
    }

    fn step(&mut self, step: &AtlasStep, before: usize, after: usize) -> Option<Value> {
        let operation = self.operations.get_index_of(&step.operation)?;
        let functions: Vec<Value> = step
            .functions
            .iter()
            .map(|f| {
                json!([
                    index(&mut self.functions, &f.name),
                    f.group as usize,
                    f.before,
                    f.after
                ])
            })
            .collect();
        Some(json!([
            before,
            after,
            operation,
            number(step.before),
            number(step.after),
            functions,
            step.reason
        ]))
    }
}

fn counted(count: &AtlasCount) -> Value {
    if count.least == count.most {
        number(count.mode)
    } else {
        json!([number(count.mode), number(count.least), number(count.most)])
    }
}

fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        json!(value as i64)
    } else {
        json!(value)
    }
}
