//! Describes how a called name resolved to the code that ran: through linkage tables, IFUNCs and pointers. Pure.

use super::iteration::Iteration;
use super::symbols::Symbols;
use model::code::{Flow, Function, Instruction, Role};
use std::collections::BTreeMap;

/// The most nested calls that a line names: deeper ones are rarely about the operation.
const DEEPEST: usize = 4;

/// One line for each different call in the probe's loop, e.g. `getpid -> PLT of probe -> getpid in /lib/libc.so.6`.
pub fn resolved(iteration: &Iteration, functions: &[Function], symbols: &Symbols) -> Vec<String> {
    let route = Route::new(iteration, functions, symbols);
    let Some(caller) = functions.iter().position(|f| f.role == Role::Caller) else {
        return Vec::new();
    };
    let mut lines: Vec<String> = Vec::new();
    for (flow, to) in route.leaving(caller) {
        // `getpid -> PLT of probe -> getpid in /lib/libc.so.6, which ...`
        let (mut line, end) = route.path(flow, to);
        route.add_inner(end, DEEPEST, &mut line);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    if lines.is_empty() {
        lines.push(format!(
            "inline code of {} in {}: no call",
            functions[caller].name, functions[caller].object
        ));
    }
    lines
}

struct Route<'a> {
    functions: &'a [Function],
    symbols: &'a Symbols,
    passed: Vec<(usize, Flow, usize)>,
}

impl<'a> Route<'a> {
    fn new(iteration: &Iteration, functions: &'a [Function], symbols: &'a Symbols) -> Route<'a> {
        let mut by_address: BTreeMap<u64, (usize, &Instruction)> = BTreeMap::new();
        for (i, function) in functions.iter().enumerate() {
            by_address.extend(
                function
                    .instructions
                    .iter()
                    .map(|instruction| (instruction.address, (i, instruction))),
            );
        }
        let passed = iteration.steps.iter().filter_map(|((from, to), _)| {
            let ((from, instruction), (to, _)) = (by_address.get(from)?, by_address.get(to)?);
            let leaves = from != to && !matches!(instruction.flow, Flow::Next | Flow::Return);
            leaves.then_some((*from, instruction.flow, *to))
        });
        Route {
            functions,
            symbols,
            passed: passed.collect(),
        }
    }

    fn leaving(&self, from: usize) -> impl Iterator<Item = (Flow, usize)> {
        self.passed
            .iter()
            .filter(move |(f, _, _)| *f == from)
            .map(|(_, flow, to)| (*flow, *to))
    }

    fn path(&self, flow: Flow, to: usize) -> (String, usize) {
        let function = &self.functions[to];
        if function.role != Role::Stub {
            return (self.name(to) + how(flow), to);
        }
        // A stub jumps to its function, or to the resolver the first time; the recording begins after that.
        let end = self.leaving(to).next().map_or(to, |(_, end)| end);
        let name = &function.name;
        let target = self.name(end);
        let path = match self.symbols.ifunc(name) {
            Some(object) => format!("{name} -> IFUNC of {object}, resolved to {target}"),
            None => format!("{name} -> PLT of {} -> {target}", function.object),
        };
        (path, end)
    }

    fn name(&self, i: usize) -> String {
        format!("{} in {}", self.functions[i].name, self.functions[i].object)
    }

    /// Calls into other objects and of functions that enter the kernel.
    fn add_inner(&self, from: usize, depth: usize, line: &mut String) {
        if depth == 0 {
            return;
        }
        let mut named = Vec::new();
        for (flow, to) in self.leaving(from) {
            let (mut path, end) = self.path(flow, to);
            if self.functions[from].object == self.functions[end].object && to == end {
                path = self.functions[end].name.clone() + how(flow);
            }
            // Named once, even if it is called from several places.
            if named.contains(&end) || !self.is_notable(from, end) {
                continue;
            }
            named.push(end);
            let verb = if matches!(flow, Flow::Call | Flow::CallPointer) {
                "calls"
            } else {
                "jumps to"
            };
            let relative = if named.len() == 1 { ", which" } else { " and" };
            line.push_str(&format!("{relative} {verb} {path}"));
            self.add_inner(end, depth - 1, line);
        }
    }

    fn is_notable(&self, from: usize, to: usize) -> bool {
        let (from, to) = (&self.functions[from], &self.functions[to]);
        from.object != to.object || to.instructions.iter().any(|i| i.gate.is_some())
    }
}

fn how(flow: Flow) -> &'static str {
    match flow {
        Flow::CallPointer | Flow::JumpPointer => " through a pointer",
        _ => "",
    }
}
