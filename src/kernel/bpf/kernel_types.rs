//! Offsets and type IDs of what the programs read in this kernel, from its BTF. Pure, except for reading the file.

use super::btf::{Btf, TypeKind};

pub const FILE: &str = "/sys/kernel/btf/vmlinux";

/// The tracepoints; `programs::all` refers to them by index.
pub const TRACEPOINTS: [&str; 6] = [
    "btf_trace_sys_enter",
    "btf_trace_sys_exit",
    "btf_trace_sched_switch",
    "btf_trace_sched_process_fork",
    "btf_trace_sched_process_exec",
    "btf_trace_sched_process_exit",
];

/// Fields of kernel structs: their names here, the structs, and their paths there.
macro_rules! kernel_fields {
    ($($name:ident: $of:literal, $path:literal;)*) => {
        /// Offsets in bytes of fields of kernel structs.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Fields {
            $(pub $name: i16,)*
        }

        impl Fields {
            fn read(btf: &Btf) -> Result<Fields, String> {
                Ok(Fields { $($name: field(btf, $of, $path)?,)* })
            }
        }
    };
}

kernel_fields! {
    files: "task_struct", "files";
    signal: "task_struct", "signal";
    pid: "task_struct", "pid";
    tgid: "task_struct", "tgid";
    group_leader: "task_struct", "group_leader";
    fdt: "files_struct", "fdt";
    max_fds: "fdtable", "max_fds";
    fd: "fdtable", "fd";
    f_inode: "file", "f_inode";
    i_mode: "inode", "i_mode";
    i_flags: "inode", "i_flags";
    i_rdev: "inode", "i_rdev";
    maxrss: "signal_struct", "maxrss";
}

/// Offsets in bytes, and IDs of types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelTypes {
    pub tracepoints: [u32; 6],
    /// Whether sched_switch passes the state of the previous task (since 5.18).
    pub switch_has_state: bool,
    pub fields: Fields,
    /// The field of task_struct with the flag for 32-bit calls, and the flag.
    pub compat: (i16, i32),
    /// The state in task_struct.
    pub state: i16,
    /// The accounting in task_struct, in the order of `Used`.
    pub accounting: [i16; 6],
    pub registers: Registers,
    /// `bpf_rdonly_cast` and the structs `list_head` and `file` (since 6.2): plain loads instead of calls.
    pub cast: Option<Cast>,
}

/// Offsets in pt_regs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registers {
    pub number: i16,
    pub arguments: [i16; 3],
    pub compat_arguments: [i16; 3],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cast {
    pub function: u32,
    pub list_head: u32,
    pub file: u32,
}

/// What differs by architecture: the field with the compat flag and the flag (TS_COMPAT of asm/thread_info.h, TIF_32BIT
/// of arm64), and the fields of registers.
struct Machine {
    compat: (&'static str, i32),
    number: &'static str,
    arguments: [(&'static str, u32); 3],
    compat_arguments: [(&'static str, u32); 3],
}

#[cfg(target_arch = "x86_64")]
const MACHINE: Option<Machine> = Some(Machine {
    compat: ("thread_info.status", 2),
    number: "orig_ax",
    arguments: [("di", 0), ("si", 0), ("dx", 0)],
    compat_arguments: [("bx", 0), ("cx", 0), ("dx", 0)],
});
#[cfg(target_arch = "aarch64")]
const MACHINE: Option<Machine> = Some(Machine {
    compat: ("thread_info.flags", 1 << 22),
    number: "syscallno",
    arguments: [("regs", 0), ("regs", 8), ("regs", 16)],
    compat_arguments: [("regs", 0), ("regs", 8), ("regs", 16)],
});
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const MACHINE: Option<Machine> = None;

const STRUCTS: [&str; 9] =
    ["task_struct", "files_struct", "fdtable", "file", "inode", "signal_struct", "pt_regs", "list_head", "thread_info"];
const CAST: &str = "bpf_rdonly_cast";

impl KernelTypes {
    /// Reads this kernel's types.
    ///
    /// # Errors
    /// What is missing, by name.
    pub fn read() -> Result<KernelTypes, String> {
        let bytes = std::fs::read(FILE).map_err(|error| format!("{FILE}: {error}"))?;
        KernelTypes::parse(&bytes)
    }

    fn parse(bytes: &[u8]) -> Result<KernelTypes, String> {
        let structs = STRUCTS.map(|name| (TypeKind::Struct, name));
        let typedefs = TRACEPOINTS.map(|name| (TypeKind::Typedef, name));
        let wanted = [&structs[..], &typedefs, &[(TypeKind::Function, CAST)]].concat();
        let btf = Btf::parse(bytes, &wanted).map_err(|why| format!("{FILE}: {why}"))?;
        from_btf(&btf)
    }
}

fn from_btf(btf: &Btf) -> Result<KernelTypes, String> {
    let machine = MACHINE.ok_or("the BPF programs support x86_64 and aarch64 only")?;
    let mut tracepoints = [0; 6];
    for (id, name) in tracepoints.iter_mut().zip(TRACEPOINTS) {
        *id = btf.id(TypeKind::Typedef, name).ok_or_else(|| format!("{FILE} has no {name}"))?;
    }
    let task = |name: &str| field(btf, "task_struct", name);
    let mut accounting = [0; 6];
    for (offset, name) in accounting.iter_mut().zip(["utime", "stime", "min_flt", "maj_flt", "nvcsw", "nivcsw"]) {
        *offset = task(name)?;
    }
    Ok(KernelTypes {
        tracepoints,
        switch_has_state: btf.arguments(TRACEPOINTS[2]).is_some_and(|count| count >= 5),
        fields: Fields::read(btf)?,
        compat: (task(machine.compat.0)?, machine.compat.1),
        // Renamed in 5.14.
        state: task("__state").or_else(|_| task("state"))?,
        accounting,
        registers: registers(btf, &machine)?,
        cast: cast(btf),
    })
}

fn registers(btf: &Btf, machine: &Machine) -> Result<Registers, String> {
    let all = |names: [(&str, u32); 3]| -> Result<[i16; 3], String> {
        let mut offsets = [0; 3];
        for (offset, (name, plus)) in offsets.iter_mut().zip(names) {
            *offset = field(btf, "pt_regs", name)? + plus as i16;
        }
        Ok(offsets)
    };
    Ok(Registers {
        number: field(btf, "pt_regs", machine.number)?,
        arguments: all(machine.arguments)?,
        compat_arguments: all(machine.compat_arguments)?,
    })
}

fn cast(btf: &Btf) -> Option<Cast> {
    let id = |name| btf.id(TypeKind::Struct, name);
    Some(Cast { function: btf.id(TypeKind::Function, CAST)?, list_head: id("list_head")?, file: id("file")? })
}

fn field(btf: &Btf, of: &'static str, path: &str) -> Result<i16, String> {
    let offset = btf.field(of, path).ok_or_else(|| format!("{FILE} has no field {path} in struct {of}"))?;
    i16::try_from(offset).map_err(|_| format!("field {path} of struct {of} has too large an offset"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_kernel_has_all_fields() {
        if !std::path::Path::new(FILE).exists() || MACHINE.is_none() {
            eprintln!("SKIPPED: no {FILE}, or no programs for this architecture");
            return;
        }
        let types = KernelTypes::read().unwrap();
        assert!(types.tracepoints.iter().all(|id| *id != 0));
        assert_eq!(types.fields.tgid - types.fields.pid, 4);
    }
}
