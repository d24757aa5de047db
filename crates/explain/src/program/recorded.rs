//! From counted blocks to instructions by call and by function, with the guest's symbols and code.

use super::blocks::{Counter, Edge, Mark, Marks, PAGE_FAULT};
use super::walk::executed;
use crate::kernel::emulator::{Blocks, Emulator, PAGE};
use crate::kernel::flow::Code64;
use crate::kernel::names::{KERNEL, Names, in_source};
use model::Failure;
use model::program::{CallInKernel, FunctionInKernel, Split};
use std::collections::{BTreeMap, BTreeSet, HashMap};

const KERNEL_HALF: &str = "0xffff800000000000..0xffffffffffffffff";

/// Longer runs are logged by longer blocks, and only in the kernel.
pub const MOST_BY_ONE: u64 = 20_000_000;

const LAUNCHER_MARKS: [(u64, Mark); 3] = [
    (0x2a5e_0000_0000, Mark::Begins),
    (0x2a5e_0000_0010, Mark::Ended),
    (0x2a5e_0000_0020, Mark::Other),
];

/// For a log without user mode.
pub fn filter() -> String {
    let marks = LAUNCHER_MARKS.map(|(at, _)| format!(",{at:#x}+1"));
    format!("{KERNEL_HALF}{}", marks.concat())
}

/// The marks in a kernel with these functions, and those of the launcher.
pub fn marks(functions: &[(u64, String)]) -> Result<Marks, Failure> {
    let kernel: Marks = functions
        .iter()
        .filter_map(|(at, name)| Some((*at, mark(name)?)))
        .collect();
    if !kernel.values().any(|mark| *mark == Mark::Entry) {
        return Err(Failure::failed(
            "the kernel does not report its symbols (built without CONFIG_KALLSYMS_ALL?)",
        ));
    }
    Ok(kernel.into_iter().chain(LAUNCHER_MARKS).collect())
}

fn mark(symbol: &str) -> Option<Mark> {
    let call = ["__x64_sys_", "__ia32_sys_", "__ia32_compat_sys_"]
        .iter()
        .find_map(|gate| symbol.strip_prefix(gate));
    if let Some(call) = call {
        return Some(Mark::Call(syscall_name(call).to_string()));
    }
    Some(match symbol {
        "entry_SYSCALL_64"
        | "entry_INT80_compat"
        | "asm_int80_emulation"
        | "entry_SYSENTER_compat"
        | "entry_SYSCALL_compat" => Mark::Entry,
        "do_task_dead" => Mark::Dies,
        "process_one_work"
        | "rcu_gp_init"
        | "rcu_gp_fqs"
        | "rcu_gp_fqs_loop"
        | "rcu_gp_cleanup"
        | "tick_nohz_idle_enter" => Mark::Other,
        "restore_regs_and_return_to_kernel" => Mark::Resumes,
        "__switch_to_asm" => Mark::Switches,
        "asm_exc_page_fault" => Mark::Interruption(PAGE_FAULT),
        "asm_common_interrupt" => Mark::Interruption("[interrupt]"),
        _ if symbol.starts_with("asm_exc_") => Mark::Interruption("[exception]"),
        _ if symbol.starts_with("asm_sysvec_") => Mark::Interruption("[interrupt]"),
        _ => return None,
    })
}

/// The kernel names some functions differently from their calls.
fn syscall_name(function: &str) -> &str {
    match function {
        "newstat" => "stat",
        "newlstat" => "lstat",
        "newfstat" => "fstat",
        "newuname" => "uname",
        "sendfile64" => "sendfile",
        "umount" => "umount2",
        "mmap_pgoff" => "mmap2",
        other => other.strip_prefix("x86_").unwrap_or(other),
    }
}

pub fn split(
    emulator: &mut Emulator,
    functions: &[(u64, String)],
    counter: &Counter,
    blocks: Blocks,
    instructions: u64,
) -> Result<Split, Failure> {
    let edges = counter
        .edges()
        .ok_or_else(|| Failure::failed("the command was not found in what the emulator logged"))?;
    let pages: BTreeSet<u64> = edges
        .keys()
        .flat_map(|edge| [page(edge.block), page(edge.block).wrapping_add(PAGE)])
        .collect();
    let code = emulator.code(&pages)?;
    let kernel = instructions_by_address(edges, counter, blocks, &code);
    let names = Names::default().with(functions);
    let total = kernel.values().sum();
    if total > instructions {
        return Err(Failure::failed(format!(
            "the log has {total} instructions in the kernel, but the command executed only {instructions}: other processes ran; run it again"
        )));
    }
    let (user, unknown) = if blocks == Blocks::OneInstruction {
        (Some(counter.user()), None)
    } else {
        let most = MOST_BY_ONE / 1_000_000;
        let why = format!(
            "user mode is not counted in runs of more than {most} million instructions, because each instruction would be logged"
        );
        (None, Some(why))
    };
    Ok(Split {
        user,
        kernel_mode: Some(total),
        by_call: by_call(&kernel, counter),
        functions: by_function(&kernel, &names),
        unknown,
    })
}

fn page(address: u64) -> u64 {
    address & !(PAGE - 1)
}

type Executed<'a> = HashMap<(u64, &'a str), u64>;

fn instructions_by_address<'a>(
    edges: &HashMap<Edge, u64>,
    counter: &'a Counter,
    blocks: Blocks,
    code: &Code64,
) -> Executed<'a> {
    let mut sums = Executed::new();
    for (edge, times) in edges {
        let addresses = match blocks {
            Blocks::OneInstruction => vec![edge.block],
            Blocks::ToBranch => executed(code, edge.block, edge.next),
        };
        for address in addresses {
            *sums.entry((address, counter.reason_of(edge))).or_insert(0) += times;
        }
    }
    sums
}

fn by_call(kernel: &Executed, counter: &Counter) -> Vec<CallInKernel> {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for ((_, reason), times) in kernel {
        *sums.entry(reason).or_insert(0) += times;
    }
    let mut rows: Vec<CallInKernel> = counter
        .entries()
        .filter_map(|(call, entries)| {
            Some(CallInKernel {
                call: call.to_string(),
                entries,
                instructions: *sums.get(call)?,
            })
        })
        .collect();
    rows.sort_by(|a, b| (b.instructions, &a.call).cmp(&(a.instructions, &b.call)));
    rows
}

fn by_function(kernel: &Executed, names: &Names) -> Vec<FunctionInKernel> {
    let mut sums: HashMap<&str, BTreeMap<&str, u64>> = HashMap::new();
    for ((address, reason), times) in kernel.iter().filter(|((address, _), _)| *address >= KERNEL) {
        let function = plain_name(names.at(*address).name);
        let reasons = sums.entry(function).or_default();
        *reasons.entry(reason).or_insert(0) += times;
    }
    let mut rows: Vec<FunctionInKernel> = sums
        .into_iter()
        .map(|(name, reasons)| FunctionInKernel {
            function: name.to_string(),
            self_instructions: reasons.values().sum(),
            mostly_for: reasons
                .iter()
                .max_by_key(|(_, times)| **times)
                .map_or_else(String::new, |(reason, _)| reason.to_string()),
        })
        .collect();
    rows.sort_by(|a, b| {
        (b.self_instructions, &a.function).cmp(&(a.self_instructions, &b.function))
    });
    rows
}

/// As in the source of all kernels: since 6.10, allocating functions have a macro in front of them, and memset without fast
/// instructions has a name of its own since 6.4.
fn plain_name(name: &str) -> &str {
    let name = in_source(name);
    ["_noprof", "_orig"]
        .iter()
        .find_map(|suffix| name.strip_suffix(suffix))
        .unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_two_kernels_have_the_same_names() {
        let names = [
            "kmem_cache_alloc_noprof",
            "memset_orig",
            "vfs_statx.constprop.0",
        ]
        .map(plain_name);
        assert_eq!(names, ["kmem_cache_alloc", "memset", "vfs_statx"]);
    }

    #[test]
    fn symbols_mean_what_the_kernel_does_there() {
        fn call(name: &str) -> Mark {
            Mark::Call(name.into())
        }

        for (symbol, meaning) in [
            ("__x64_sys_newlstat", call("lstat")),
            ("__ia32_compat_sys_x86_mmap", call("mmap")),
            ("asm_exc_page_fault", Mark::Interruption(PAGE_FAULT)),
            (
                "asm_sysvec_apic_timer_interrupt",
                Mark::Interruption("[interrupt]"),
            ),
            ("entry_SYSCALL_64", Mark::Entry),
        ] {
            assert_eq!(mark(symbol), Some(meaning));
        }
        for entry in [
            "entry_SYSCALL_compat",
            "entry_SYSENTER_compat",
            "entry_INT80_compat",
            "asm_int80_emulation",
        ] {
            assert_eq!(mark(entry), Some(Mark::Entry), "{entry}");
        }
        for none in [
            "entry_SYSCALL_64_after_hwframe",
            "asm_load_gs_index",
            "ret_from_fork_asm",
        ] {
            assert_eq!(mark(none), None, "{none}");
        }
    }
}
