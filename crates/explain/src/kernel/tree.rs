//! From the addresses of one iteration, in order, to a call tree. Pure.
//!
//! Calls, returns and jumps come from the instructions' bytes, and returns go to the frame that expects them, so that neither
//! jumps between functions nor the thunks of the Spectre mitigations, which call and return in their own way, tear the tree.
//! Where bytes are not known, changes of the function decide. Each instruction counts for exactly one node in any case.

use super::flow::{Kind, Step};
use super::groups::group;
use super::names::{KERNEL, NamedAddress, Names, whole};
use model::explained::{Call, Group};
use std::collections::HashMap;

pub fn tree(addresses: &[u64], names: &Names, step: &dyn Fn(u64) -> Option<Step>) -> Call {
    let mut builder = Builder {
        names,
        nodes: vec![Node::default()],
        stack: Vec::new(),
        parked: Vec::new(),
        known: HashMap::new(),
    };
    if let Some(first) = addresses.first() {
        builder.push(*first, Returns::Unknown);
    }
    for (at, address) in addresses.iter().enumerate() {
        builder.count_instruction();
        if let Some(next) = addresses.get(at + 1) {
            builder.go(*address, *next, step(*address));
        }
    }
    builder.call(0, Group::Caller)
}

#[derive(Default)]
struct Node {
    name: String,
    in_kernel: bool,
    calls: u64,
    own: u64,
    children: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq)]
enum Returns {
    To(u64),
    /// To what it interrupted, which is executed again, or not.
    Resumes(u64, u64),
    /// Wherever the frame below returns to: it was jumped to.
    Below,
    Unknown,
}

#[derive(Clone, Copy)]
struct Frame {
    node: usize,
    start: u64,
    returns: Returns,
}

struct Builder<'a> {
    names: &'a Names,
    nodes: Vec<Node>,
    stack: Vec<Frame>,
    /// Stacks of threads that were switched away from, latest last.
    parked: Vec<Vec<Frame>>,
    known: HashMap<(usize, String), usize>,
}

/// Deeper than any kernel stack.
const DEEPEST: usize = 400;
const MOST_PARKED: usize = 64;

impl Builder<'_> {
    fn count_instruction(&mut self) {
        let node = self.stack.last().map_or(0, |frame| frame.node);
        self.nodes[node].own += 1;
    }

    fn go(&mut self, from: u64, to: u64, step: Option<Step>) {
        let Some(step) = step else {
            return self.go_unknown(from, to);
        };
        let expected = match step.kind {
            Kind::Next => to == step.next || to == from,
            Kind::Branch => to == step.next || step.target == Some(to),
            Kind::Jump | Kind::Call => step.target.is_none_or(|target| target == to),
            Kind::Return => true,
        };
        match step.kind {
            _ if !expected => self.push(to, Returns::Resumes(from, step.next)),
            Kind::Call if !self.is_within(from, to) => self.push(to, Returns::To(step.next)),
            Kind::Return => self.back(to),
            _ => self.jump(from, to),
        }
    }

    /// A call within its own function is a trick with the stack. Code without names has no functions.
    fn is_within(&self, from: u64, to: u64) -> bool {
        let (here, there) = (self.names.at(from), self.names.at(to));
        here.start != 0 && here.start == there.start && to != there.start
    }

    fn jump(&mut self, from: u64, to: u64) {
        let (here, there) = (self.names.at(from), self.names.at(to));
        if here.start == there.start || whole(here.name) == whole(there.name) {
            return;
        }
        if is_thunk(here.name) {
            return self.replace(to);
        }
        match self.jumped_from(there.start) {
            Some(at) => self.stack.truncate(at + 1),
            None if to == there.start && !is_label(&there) => self.push(to, Returns::Below),
            None => self.replace(to),
        }
    }

    fn jumped_from(&self, start: u64) -> Option<usize> {
        let below = self
            .stack
            .iter()
            .rposition(|frame| frame.returns != Returns::Below)
            .unwrap_or(0);
        (below..self.stack.len())
            .rev()
            .find(|at| self.stack[*at].start == start)
    }

    fn back(&mut self, to: u64) {
        let expects = |frame: &Frame| match frame.returns {
            Returns::To(address) => address == to,
            Returns::Resumes(again, next) => again == to || next == to,
            Returns::Below | Returns::Unknown => false,
        };
        if let Some(at) = self.stack.iter().rposition(expects) {
            return self.leave(at, to);
        }
        if self
            .stack
            .last()
            .is_some_and(|frame| is_thunk(self.names.at(frame.start).name))
        {
            return self.replace(to);
        }
        let resumed = self
            .parked
            .iter()
            .rposition(|stack| stack.iter().any(expects))
            .map(|at| self.parked.remove(at))
            .unwrap_or_default();
        self.park();
        self.stack = resumed;
        match self.stack.iter().rposition(expects) {
            Some(at) => self.leave(at, to),
            None => self.push(to, Returns::Unknown),
        }
    }

    fn leave(&mut self, at: usize, to: u64) {
        self.stack.truncate(at);
        if self.stack.is_empty() {
            self.push(to, Returns::Unknown);
        }
    }

    fn park(&mut self) {
        if self.parked.len() == MOST_PARKED {
            self.parked.remove(0);
        }
        self.parked.push(std::mem::take(&mut self.stack));
    }

    fn go_unknown(&mut self, from: u64, to: u64) {
        let (here, there) = (self.names.at(from), self.names.at(to));
        if here.start == there.start && to != there.start {
            return;
        }
        match self
            .stack
            .iter()
            .rposition(|frame| frame.start == there.start)
        {
            Some(at) if to != there.start => self.stack.truncate(at + 1),
            _ if to == there.start => self.push(to, Returns::Unknown),
            _ => self.replace(to),
        }
    }

    fn push(&mut self, address: u64, returns: Returns) {
        if self.stack.len() >= DEEPEST {
            return self.replace(address);
        }
        let parent = self.stack.last().map_or(0, |frame| frame.node);
        let place = self.names.at(address);
        let node = self.node(parent, whole(place.name), address >= KERNEL);
        self.nodes[node].calls += 1;
        self.stack.push(Frame {
            node,
            start: place.start,
            returns,
        });
    }

    /// The function around `address` takes the place of the innermost one.
    fn replace(&mut self, address: u64) {
        let replaced = self.stack.pop();
        self.push(address, replaced.map_or(Returns::Unknown, |it| it.returns));
    }

    fn node(&mut self, parent: usize, name: &str, in_kernel: bool) -> usize {
        let nodes = &mut self.nodes;
        let key = (parent, name.to_string());
        *self.known.entry(key).or_insert_with(|| {
            let node = nodes.len();
            nodes.push(Node {
                name: name.to_string(),
                in_kernel,
                ..Node::default()
            });
            nodes[parent].children.push(node);
            node
        })
    }

    fn call(&self, node: usize, of_caller: Group) -> Call {
        let node = &self.nodes[node];
        let group = group(&node.name, node.in_kernel, of_caller);
        let children: Vec<Call> = node
            .children
            .iter()
            .map(|child| self.call(*child, group))
            .collect();
        Call {
            name: node.name.clone(),
            group,
            calls: node.calls,
            self_instructions: node.own,
            total: node.own + children.iter().map(|child| child.total).sum::<u64>(),
            children,
        }
    }
}

/// Code of the Spectre mitigations that goes on where its caller wanted to go.
fn is_thunk(name: &str) -> bool {
    const KINDS: [&str; 3] = ["thunk", "jump_thunk", "call_thunk"];
    let kind = name.strip_prefix("__x86_indirect_");
    kind.is_some_and(|kind| KINDS.iter().any(|thunk| kind.starts_with(thunk)))
}

/// Entry code in assembler is one path with names in between, which are shown beside each other.
fn is_label(place: &NamedAddress) -> bool {
    const LABELS: &str = "entry_ swapgs_restore_regs syscall_return_via_sysret common_interrupt_return \
                          vectors el0t_ el1h_ ret_to_user ret_to_kernel";
    LABELS.split(' ').any(|label| place.name.starts_with(label))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Kind::{Branch, Call as Calls, Jump, Next, Return};

    const K: u64 = 0xffff_ffff_8100_0000;

    /// Functions of 0x100 bytes each.
    fn names(functions: &str) -> Names {
        let mut names = Names::default();
        for (at, name) in (0..).zip(functions.split(' ')) {
            names.add(K + 0x100 * at, name);
        }
        names
    }

    /// The tree as text: `name own/total` and children in brackets. Instructions are of one byte and go on to the next, but for
    /// `steps`: address, kind and target; 0 is an unknown one.
    fn run(functions: &str, steps: &[(u64, Kind, u64)], addresses: &[u64]) -> String {
        let addresses: Vec<u64> = addresses.iter().map(|address| K + address).collect();
        let root = tree(&addresses, &names(functions), &|address| {
            let (_, kind, target) = steps
                .iter()
                .copied()
                .find(|(at, ..)| K + at == address)
                .unwrap_or((0, Next, 0));
            Some(Step {
                kind,
                next: address + 1,
                target: (target > 0).then_some(K + target),
            })
        });
        assert_eq!(root.total, addresses.len() as u64);
        root.children.iter().map(text).collect::<Vec<_>>().join(" ")
    }

    fn text(call: &Call) -> String {
        let below: Vec<String> = call.children.iter().map(text).collect();
        let times = if call.calls > 1 {
            format!("x{}", call.calls)
        } else {
            String::new()
        };
        let below = if below.is_empty() {
            String::new()
        } else {
            format!("[{}]", below.join(" "))
        };
        format!(
            "{}{times} {}/{}{below}",
            call.name, call.self_instructions, call.total
        )
    }

    /// Functions, steps and addresses, and their tree.
    type Case<'a> = (&'a str, &'a [(u64, Kind, u64)], &'a [u64], &'a str);

    const CALLS: [(u64, Kind, u64); 5] = [
        (0x001, Calls, 0x100),
        (0x101, Calls, 0),
        (0x201, Return, 0),
        (0x102, Return, 0),
        (0x002, Calls, 0x100),
    ];
    const TWICE: [u64; 14] = [
        0x000, 0x001, 0x100, 0x101, 0x200, 0x201, 0x102, 0x002, 0x100, 0x101, 0x200, 0x201, 0x102,
        0x003,
    ];
    // A tail jump returns for its caller.
    const TAIL_JUMP: [(u64, Kind, u64); 3] = [
        (0x000, Calls, 0x100),
        (0x100, Jump, 0x200),
        (0x200, Return, 0),
    ];
    const JUMPS: [u64; 4] = [0x000, 0x100, 0x200, 0x001];
    // call thunk; in it: call over the next instruction, overwrite the return address, return to b.
    const RETPOLINE: [(u64, Kind, u64); 4] = [
        (0x000, Calls, 0x200),
        (0x200, Calls, 0x205),
        (0x206, Return, 0),
        (0x100, Return, 0),
    ];
    // a calls switch, which returns to 0x20f in another thread; that calls switch, which returns to a.
    const THREADS: [(u64, Kind, u64); 3] = [
        (0x000, Calls, 0x100),
        (0x100, Return, 0),
        (0x210, Calls, 0x100),
    ];
    const CASES: [Case; 10] = [
        ("a b c", &CALLS, &TWICE, "a 4/14[bx2 6/10[cx2 4/4]]"),
        ("a b c", &TAIL_JUMP, &JUMPS, "a 2/4[b 1/2[c 1/1]]"),
        // A return thunk is a cost of the function that returns.
        (
            "a b __x86_return_thunk",
            &TAIL_JUMP,
            &JUMPS,
            "a 2/4[b 1/2[__x86_return_thunk 1/1]]",
        ),
        // A part that was moved away is the same function.
        (
            "a b a.cold",
            &[(0x000, Branch, 0x210), (0x211, Jump, 0x005)],
            &[0x000, 0x210, 0x211, 0x005],
            "a 4/4",
        ),
        // An indirect thunk is passed through to the function it stands for.
        (
            "a b __x86_indirect_thunk_rax",
            &RETPOLINE,
            &[0x000, 0x200, 0x205, 0x206, 0x100, 0x001],
            "a 2/6[__x86_indirect_thunk_rax 3/3 b 1/1]",
        ),
        (
            "a b __x86_indirect_thunk_rax",
            &[(0x000, Calls, 0x200), (0x200, Jump, 0), (0x100, Return, 0)],
            &[0x000, 0x200, 0x100, 0x001],
            "a 2/4[__x86_indirect_thunk_rax 1/1 b 1/1]",
        ),
        // Labels of the entry are side by side.
        (
            "entry_SYSCALL_64 entry_SYSCALL_64_after_hwframe do_syscall_64",
            &[(0x100, Calls, 0x200), (0x200, Return, 0)],
            &[0x0fe, 0x0ff, 0x100, 0x200, 0x101],
            "entry_SYSCALL_64 2/2 entry_SYSCALL_64_after_hwframe 2/3[do_syscall_64 1/1]",
        ),
        // An exception returns to what it interrupted, and an instruction that repeats is none.
        (
            "a asm_exc_page_fault",
            &[(0x102, Return, 0)],
            &[0x000, 0x100, 0x101, 0x102, 0x000, 0x001],
            "a 3/6[asm_exc_page_fault 3/3]",
        ),
        ("memset", &[], &[0x000, 0x000, 0x000, 0x001], "memset 4/4"),
        // Another thread has a stack of its own, and the first goes on.
        (
            "a switch other",
            &THREADS,
            &[0x000, 0x100, 0x20f, 0x210, 0x100, 0x001],
            "a 2/3[switch 1/1] other 2/3[switch 1/1]",
        ),
    ];
    #[test]
    fn instructions_make_a_tree_of_calls() {
        for (functions, steps, addresses, tree) in CASES {
            assert_eq!(run(functions, steps, addresses), tree, "{functions}");
        }
    }

    #[test]
    fn code_without_names_calls_and_returns_too() {
        let root = tree(&[0, 1, 20, 21, 2], &Names::default(), &|address| {
            let kind = match address {
                1 => Calls,
                21 => Return,
                _ => Next,
            };
            Some(Step {
                kind,
                next: address + 1,
                target: None,
            })
        });
        assert_eq!(text(&root.children[0]), "[vdso] 3/5[[vdso] 2/2]");
    }

    #[test]
    fn without_bytes_the_functions_decide() {
        let addresses = [0x000, 0x100, 0x101, 0x200, 0x102, 0x001].map(|address| K + address);
        let root = tree(&addresses, &names("a b c"), &|_| None);
        assert_eq!(text(&root.children[0]), "a 2/6[b 3/4[c 1/1]]");
    }
}
