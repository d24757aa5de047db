//! Decides who answers the operation, by the executed instructions and the counted kernel entries. Pure.

use model::code::{Answer, Function, Gate, GateUse, Role, Verdict};
use model::prose::plural;
use model::{Entries, Traits};

#[derive(Clone, Copy, Debug, Default)]
pub struct Counted<'a> {
    pub entries: Option<&'a Entries>,
    pub traits: Traits,
    pub uneven: bool,
    pub faults: f64,
}

/// The verdict on a recorded case.
pub fn judge(functions: &[Function], counted: &Counted) -> Verdict {
    let gates = gates(functions);
    let answer = answer(functions, &gates, counted.faults);
    Verdict {
        answer,
        text: sentence(answer, &gates, functions, counted),
        short: short(answer, &gates),
        remarks: remarks(&gates, answer, counted),
        gates,
    }
}

/// The verdict without a recording: only the count of kernel entries can tell something.
pub fn from_entries(entries: Option<&Entries>) -> Verdict {
    let (answer, short, text) = match entries {
        Some(entries) if entries.total() > 0.0 => (
            Answer::Kernel,
            "system call",
            "real system call, by the count of kernel entries",
        ),
        Some(_) => (
            Answer::Unknown,
            "not recorded",
            "no kernel entry; what answers in user space was not recorded",
        ),
        None => (
            Answer::Unknown,
            "not recorded",
            "neither code nor kernel entries could be recorded",
        ),
    };
    Verdict {
        answer,
        text: text.into(),
        short: short.into(),
        gates: Vec::new(),
        remarks: Vec::new(),
    }
}

/// Page faults per iteration: fewer are not the operation's purpose.
const SOME: f64 = 0.5;

fn gates(functions: &[Function]) -> Vec<GateUse> {
    let mut uses: Vec<GateUse> = Vec::new();
    for function in functions {
        for (gate, count) in function
            .instructions
            .iter()
            .filter_map(|i| Some((i.gate?, i.count)))
        {
            match uses
                .iter_mut()
                .find(|u| u.gate == gate && u.function == function.name)
            {
                Some(known) => known.count += count,
                None => uses.push(GateUse {
                    gate,
                    function: function.name.clone(),
                    object: function.object.clone(),
                    inline: function.role == Role::Caller,
                    count,
                }),
            }
        }
    }
    uses
}

fn answer(functions: &[Function], gates: &[GateUse], faults: f64) -> Answer {
    // The vDSO may have run before a system call, when it could not answer: so gates are looked at first.
    match gates.iter().map(|g| g.gate).min() {
        Some(Gate::PageFault) => Answer::LegacyGate,
        Some(_) => Answer::Kernel,
        // Before the code is judged: an operation that touches memory runs plain code that faults.
        None if faults >= SOME => Answer::PageFaults,
        None if first_name(functions, Role::Vdso).is_some() => Answer::Vdso,
        None if first_name(functions, Role::Library).is_some() => Answer::Library,
        None => Answer::Program,
    }
}

fn sentence(
    answer: Answer,
    gates: &[GateUse],
    functions: &[Function],
    counted: &Counted,
) -> String {
    let text = match answer {
        Answer::Kernel => system_calls(gates),
        Answer::Vdso => format!(
            "answered in user space by the vDSO ({}): no system call",
            first_name(functions, Role::Vdso).unwrap_or_default()
        ),
        Answer::LegacyGate => {
            "legacy gate: the call into the vsyscall page faults, and the kernel answers it in the \
                               fault: entered without a system call"
                .to_string()
        }
        Answer::PageFaults => {
            format!(
                "no system call, but the kernel is entered by {} per iteration",
                page_faults(counted.faults)
            )
        }
        Answer::Library => format!(
            "answered in user space by library code ({}): no system call",
            first_name(functions, Role::Library).unwrap_or_default()
        ),
        Answer::Program => first_name(functions, Role::Program).map_or_else(
            || "plain user code in the loop itself: nothing is called".to_string(),
            |name| {
                format!(
                    "plain user code: a call to the program's own function {name}, nothing else"
                )
            },
        ),
        Answer::Unknown => String::new(),
    };
    match rare_entries(answer, counted) {
        Some(total) => format!(
            "{text} in most iterations; one kernel entry in {:.0} iterations",
            1.0 / total
        ),
        None => text,
    }
}

/// The name of the first executed function of this role.
fn first_name(functions: &[Function], role: Role) -> Option<&str> {
    functions
        .iter()
        .find(|function| function.role == role)
        .map(|function| function.name.as_str())
}

fn rare_entries(answer: Answer, counted: &Counted) -> Option<f64> {
    let stays = matches!(answer, Answer::Vdso | Answer::Library | Answer::Program);
    counted
        .entries
        .map(Entries::total)
        .filter(|total| stays && *total > 0.0 && *total < 1.0)
}

fn page_faults(faults: f64) -> String {
    format!("{} {}", plain(faults), plural(faults, "page fault"))
}

fn plain(number: f64) -> String {
    if number.fract() == 0.0 {
        format!("{number:.0}")
    } else {
        format!("{number:.2}")
    }
}

/// A function of the vDSO that enters the kernel for every system call of a 32-bit C library, by the best instruction that the CPU has.
const ENTRY_OF_32_BITS: &str = "__kernel_vsyscall";

/// `` real system calls: `syscall` in dup, `syscall` in close of /lib/libc.so.6 ``
fn system_calls(gates: &[GateUse]) -> String {
    let described: Vec<String> = gates
        .iter()
        .enumerate()
        .map(|(i, used)| {
            let next = gates.get(i + 1);
            describe_gate(used, next.is_none_or(|next| next.object != used.object))
        })
        .collect();
    let reason = if gates
        .iter()
        .any(|used| used.object == "[vdso]" && used.function != ENTRY_OF_32_BITS)
    {
        ": the vDSO cannot answer this by itself"
    } else {
        ""
    };
    let calls = plural(total(gates), "real system call");
    format!("{calls}: {}{reason}", described.join(", "))
}

/// The object is named only after the last of several gates in it.
fn describe_gate(used: &GateUse, last: bool) -> String {
    let times = if used.count > 1 {
        format!(" {} times", used.count)
    } else {
        String::new()
    };
    let object = if last {
        format!(" of {}", used.object)
    } else {
        String::new()
    };
    if used.inline {
        format!("`{}`{times}, inline in the program", used.gate)
    } else {
        format!("`{}`{times} in {}{object}", used.gate, used.function)
    }
}

fn total<'a>(gates: impl IntoIterator<Item = &'a GateUse>) -> u64 {
    gates.into_iter().map(|used| used.count).sum()
}

fn short(answer: Answer, gates: &[GateUse]) -> String {
    match (answer, gates) {
        (Answer::Kernel, [one]) if one.inline => format!("{}, inline", one.gate),
        (Answer::Kernel, [one]) => format!("{} in {}", one.gate, one.function),
        (Answer::Kernel, _) => format!("{} system calls", total(gates)),
        (Answer::Vdso, _) => "vDSO".into(),
        (Answer::LegacyGate, _) => "page fault".into(),
        (Answer::PageFaults, _) => "page faults".into(),
        (Answer::Library, _) => "library code".into(),
        (Answer::Program, _) => "own code".into(),
        (Answer::Unknown, _) => "not recorded".into(),
    }
}

/// Compares the recording, which shows only the process itself, with the counts, which include its threads and children.
fn remarks(gates: &[GateUse], answer: Answer, counted: &Counted) -> Vec<String> {
    let mut remarks = Vec::new();
    if counted.uneven {
        remarks.push(
            "iterations differ: the first batch executed code that the second did not".to_string(),
        );
    }
    if counted.faults >= SOME && answer == Answer::Kernel {
        remarks.push(format!(
            "the kernel is also entered by {} per iteration",
            page_faults(counted.faults)
        ));
    }
    let calls = gates.iter().filter(|used| used.gate != Gate::PageFault);
    let calls = total(calls);
    let entries = if rare_entries(answer, counted).is_none() {
        counted.entries.map(Entries::total)
    } else {
        None
    };
    if let Some(entries) = entries.filter(|entries| (entries - calls as f64).abs() > 1e-6) {
        remarks.push(difference(entries, calls, counted.traits));
    }
    remarks
}

fn difference(total: f64, calls: u64, traits: Traits) -> String {
    let others = traits.children || traits.switches;
    match plain(total) {
        text if others && total > calls as f64 => format!(
            "of {text} kernel entries per iteration, {calls} are made by the loop itself, the others by its threads and \
             children, which are not stepped"
        ),
        text if total.fract() != 0.0 => {
            format!(
                "{text} kernel entries per iteration are a mean; the iteration that was stepped had {calls}"
            )
        }
        text => format!(
            "the two methods disagree: {text} kernel entries were counted per iteration, {calls} instructions that enter \
             the kernel were executed"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::code::Instruction;

    fn judged(count: f64, more: Counted) -> Verdict {
        let quiet = Function {
            name: "run".to_string(),
            object: "probe".to_string(),
            role: Role::Caller,
            instructions: vec![Instruction {
                count: 1,
                ..Instruction::default()
            }],
        };
        let entries: Entries = [("getpid".to_string(), count)].into_iter().collect();
        let entries = Some(&entries);
        judge(&[quiet], &Counted { entries, ..more })
    }

    #[test]
    fn an_entry_without_an_instruction_is_reported() {
        let plain = Counted::default();
        assert!(judged(1.0, plain).remarks[0].contains("disagree"));
        let rare = judged(1.0 / 64.0, plain).text;
        assert!(rare.ends_with("one kernel entry in 64 iterations"));
        let traits = Traits {
            switches: true,
            ..Traits::default()
        };
        let verdict = judged(2.0, Counted { traits, ..plain });
        assert!(verdict.remarks[0].contains("threads"));
        let faults = 1.0;
        let answer = judged(0.0, Counted { faults, ..plain }).answer;
        assert_eq!(answer, Answer::PageFaults);
        assert_eq!(from_entries(None).answer, Answer::Unknown);
    }
}
