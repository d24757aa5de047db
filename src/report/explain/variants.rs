//! Operations side by side, in one environment or in several: what answers them and by which code. Pure. Called by the
//! `explain` command.

use crate::model::Entries;
use crate::model::code::{Answer, Code, Explanation, Gate, Variant};
use crate::report::explain::returned::results;
use crate::report::numbers::{self, nanoseconds, three_figures};
use crate::report::{Cell, Spec, Style, Table};

/// One row per variant; environments have a column if there are several. The last note is `answer`, if there is one.
pub fn variant_table(title: &str, variants: &[Variant], answer: &str) -> Table {
    let number = |value: Option<f64>, text: fn(f64) -> String| {
        value.map_or(Cell::from("-"), |value| Cell::number(text(value), value))
    };
    let environments = Spec::left("environment", |v: &Variant| v.environment.clone().into())
        .text("environment", |v| v.environment.clone());
    let mut specs = vec![
        Spec::left("operation", |v: &Variant| v.operation.clone().into()).text("operation", |v| v.operation.clone()),
    ];
    specs.extend(several_environments(variants).then_some(environments));
    specs.extend([
        Spec::right("ns/op", move |v| number(ns(v), nanoseconds)).number("median_ns", ns),
        Spec::right("x call", move |v| number(times(v), three_figures)).number("times_empty_call", times),
        Spec::left("kernel entries", |v| explained(v, entries))
            .number("kernel_entries", |v| Some(counted(v)?.total()))
            .text("kernel_entries_by_call", |v| counted(v).map(ToString::to_string)),
        Spec::left("returned", |v| explained(v, |e| results(&e.returned).into()))
            .expendable(2)
            .text("returned", |v| v.explained.as_ref().ok().map(|e| results(&e.returned))),
        Spec::right("bytes", |v| explained(v, bytes))
            .expendable(1)
            .count("caller_bytes", |v| Some(code(v)?.caller_bytes))
            .count("callee_bytes", |v| Some(code(v)?.callee_bytes)),
        Spec::left("answered by", answered_by)
            .wrapping()
            .text("answered_by", |v| v.explained.as_ref().ok().map(|e| e.verdict.short.clone()))
            .text("error", |v| v.explained.as_ref().err().map(|failure| failure.message.clone())),
    ]);
    let mut notes = vec!["bytes: of the code executed, caller + callee; x call: times an empty call".to_string()];
    notes.extend(variants.iter().flat_map(|variant| remarks(variant, &name(variant, variants))));
    notes.extend(Some(answer).filter(|answer| !answer.is_empty()).map(str::to_string));
    Table::of(&specs, variants).titled(title).noted(notes)
}

fn several_environments(variants: &[Variant]) -> bool {
    variants.iter().any(|variant| variant.environment != variants[0].environment)
}

/// `id.umask`, or `id.umask in m32` if there are several environments.
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
    let Ok(explanation) = &variant.explained else { return Vec::new() };
    let remarks = explanation.verdict.remarks.iter().chain(&explanation.notes);
    remarks.map(|remark| format!("{name}: {remark}")).collect()
}

fn entries(explanation: &Explanation) -> Cell {
    explanation.entries.as_ref().map_or(Cell::from("unverified"), |entries| Cell::from(numbers::entries(entries)))
}

fn bytes(explanation: &Explanation) -> Cell {
    explanation.code.as_ref().map_or(Cell::from("-"), |c| Cell::from(format!("{}+{}", c.caller_bytes, c.callee_bytes)))
}

fn verdict(explanation: &Explanation) -> Cell {
    let stays = !enters(explanation);
    Cell::styled(explanation.verdict.short.clone(), if stays { Style::Good } else { Style::Plain })
}

fn enters(explanation: &Explanation) -> bool {
    matches!(explanation.verdict.answer, Answer::Kernel | Answer::LegacyGate | Answer::PageFaults)
}

/// A variant that was measured and explained.
#[derive(Clone)]
struct Known<'a> {
    name: String,
    explanation: &'a Explanation,
    ns: f64,
}

impl Known<'_> {
    fn id(&self) -> &str {
        &self.name
    }

    fn uses(&self, gate: Gate) -> bool {
        self.explanation.verdict.gates.iter().any(|used| used.gate == gate)
    }

    fn bytes(&self) -> u64 {
        self.explanation.code.as_ref().map_or(0, |code| code.caller_bytes + code.callee_bytes)
    }
}

/// A summary of the table in one paragraph.
pub fn variants_answer(variants: &[Variant]) -> String {
    let known = variants.iter().filter_map(|v| {
        Some(Known { name: name(v, variants), explanation: v.explained.as_ref().ok()?, ns: v.cost?.time.0 })
    });
    let (entering, staying): (Vec<Known>, Vec<Known>) = known.partition(|k| enters(k.explanation));
    let sentences =
        [count(&entering, &staying), price(&entering, &staying), gates(&entering), lesson(&entering, &staying)];
    sentences.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Which variants enter the kernel and which do not.
fn count(entering: &[Known], staying: &[Known]) -> Option<String> {
    match (entering.is_empty(), staying.is_empty()) {
        (true, true) => None,
        (true, false) => Some(format!("No variant enters the kernel ({}).", range(staying))),
        (false, true) => Some(format!("Every variant enters the kernel ({}).", range(entering))),
        (false, false) => Some(format!(
            "{} of {} variants enter the kernel ({}); {} in user space ({}).",
            entering.len(),
            entering.len() + staying.len(),
            range(entering),
            stays(staying),
            range(staying)
        )),
    }
}

fn stays(staying: &[Known]) -> String {
    let ids: Vec<&str> = staying.iter().map(Known::id).collect();
    let verb = if ids.len() == 1 { "is answered" } else { "are answered" };
    format!("{} {verb}", ids.join(", "))
}

/// `48.1 to 60.3 ns`
fn range(known: &[Known]) -> String {
    let (low, high) = (fastest(known).map_or(0.0, |k| k.ns), slowest(known).map_or(0.0, |k| k.ns));
    if known.len() == 1 {
        format!("{} ns", nanoseconds(low))
    } else {
        format!("{} to {} ns", nanoseconds(low), nanoseconds(high))
    }
}

fn fastest<'a>(known: &[Known<'a>]) -> Option<Known<'a>> {
    known.iter().min_by(|a, b| a.ns.total_cmp(&b.ns)).cloned()
}

fn slowest<'a>(known: &[Known<'a>]) -> Option<Known<'a>> {
    known.iter().max_by(|a, b| a.ns.total_cmp(&b.ns)).cloned()
}

/// What entering the kernel costs, compared with the size of the code.
fn price(entering: &[Known], staying: &[Known]) -> Option<String> {
    let plain: Vec<Known> = entering.iter().filter(|k| k.uses(Gate::Syscall)).cloned().collect();
    let usual = if plain.is_empty() { entering } else { &plain };
    let enters = usual.iter().min_by_key(|known| known.bytes())?;
    let stays = slowest(staying)?;
    let times = enters.ns / stays.ns;
    let sizes = match enters.bytes() <= stays.bytes() {
        _ if enters.bytes() == 0 || stays.bytes() == 0 => String::new(),
        true => format!(", although it executes no more code ({} against {} bytes)", enters.bytes(), stays.bytes()),
        false => format!(" ({} against {} bytes of code)", enters.bytes(), stays.bytes()),
    };
    Some(format!("{} takes {} times as long as {}{sizes}.", enters.id(), three_figures(times), stays.id()))
}

/// What another gate costs.
fn gates(entering: &[Known]) -> Option<String> {
    let by = |gate: Gate| fastest(&entering.iter().filter(|k| k.uses(gate)).cloned().collect::<Vec<_>>());
    let usual = by(Gate::Syscall)?;
    let others = [Gate::Int80, Gate::Sysenter, Gate::PageFault].into_iter().filter_map(|gate| Some((gate, by(gate)?)));
    let words: Vec<String> =
        others.map(|(gate, k)| format!("by {} {} ns", gate_words(gate), nanoseconds(k.ns))).collect();
    let spread =
        format!("The gate matters too: by `syscall` {} ns at best, {}.", nanoseconds(usual.ns), words.join(", "));
    (!words.is_empty()).then_some(spread)
}

fn gate_words(gate: Gate) -> String {
    if gate == Gate::PageFault { "a page fault".to_string() } else { format!("`{gate}`") }
}

fn lesson(entering: &[Known], staying: &[Known]) -> Option<String> {
    let clear = fastest(entering)?.ns > 2.0 * slowest(staying)?.ns;
    clear.then(|| {
        "What decides is whether the kernel is entered, not how many instructions stand in a wrapper; and only the code \
         that ran in this process tells, not what a file on disk disassembles to."
            .to_string()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::code::{Cost, GateUse, Verdict};
    use crate::model::{Failure, FailureKind, Nanos, Returned};

    fn variant(id: &str, ns: f64, gate: Option<Gate>, callee_bytes: u64) -> Variant {
        let gates = gate.map(|gate| GateUse { gate, function: id.into(), object: "o".into(), inline: false, count: 1 });
        let answer = if gate.is_some() { Answer::Kernel } else { Answer::Program };
        let verdict =
            Verdict { answer, gates: gates.into_iter().collect(), text: "".into(), short: "".into(), remarks: vec![] };
        let code = Code { resolved: vec![], instructions: 3, caller_bytes: 10, callee_bytes, functions: vec![] };
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
        let cost = Some(Cost { time: Nanos(ns), times_empty_call: Some(ns) });
        Variant { operation: id.into(), environment: "native".into(), cost, explained: Ok(explanation) }
    }

    #[test]
    fn the_answer_is_made_from_the_table() {
        let variants = [
            variant("call.cached_pid", 2.0, None, 30),
            variant("call.getpid", 60.0, Some(Gate::Syscall), 8),
            variant("call.int80", 180.0, Some(Gate::Int80), 12),
        ];
        let text = variants_answer(&variants);
        assert!(text.starts_with(
            "2 of 3 variants enter the kernel (60.0 to 180.0 ns); call.cached_pid is answered in user space (2.00 ns)."
        ));
        assert!(
            text.contains("call.getpid takes 30.0 times as long as call.cached_pid, although it executes no more code")
        );
        assert!(text.contains("by `syscall` 60.0 ns at best, by `int 0x80` 180.0 ns"));
        assert_eq!(variants_answer(&[]), "");
    }

    #[test]
    fn environments_are_told_apart() {
        let old = Variant { environment: "m32".into(), ..variant("id.umask", 90.0, Some(Gate::Sysenter), 28) };
        let variants = [variant("id.umask", 60.0, Some(Gate::Syscall), 17), old];
        let table = variant_table("two", &variants, "");
        assert_eq!(table.columns()[1].title, "environment");
        assert_eq!(table.rows()[1][1].text, "m32");
        let text = variants_answer(&variants);
        assert!(text.contains("by `syscall` 60.0 ns at best, by `sysenter` 90.0 ns"), "{text}");
        assert_eq!(variant_table("one", &variants[..1], "").columns()[1].title, "ns/op");
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
        assert_eq!(table.rows()[0].last().map(|c| c.text.as_str()), Some("ENOSYS: int $0x80"));
        let fields: Vec<String> = table.records().rows()[0][1..].iter().map(ToString::to_string).collect();
        assert_eq!(fields, ["", "", "", "", "", "", "", "", "ENOSYS: int $0x80"]);
    }
}
