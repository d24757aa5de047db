//! What the kernel and compilers hand over: /proc, BTF, ELF images and code.

use super::text;
use explain::{Iteration, Symbols, functions};
use std::fs;
use std::path::Path;
use sys::Sources;
use sys::bpf::{Btf, TypeKind};
use sys::host::{StealClock, facts};
use sys::step::{Mapping, Memory, parse_mapping};
use sys::{taxes, usage};

pub fn btf(bytes: &[u8]) {
    let wanted = [
        (TypeKind::Struct, "task_struct"),
        (TypeKind::Struct, "a"),
        (TypeKind::Typedef, "btf_trace_sys_enter"),
        (TypeKind::Function, "bpf_rdonly_cast"),
    ];
    let Ok(btf) = Btf::parse(bytes, &wanted) else {
        return;
    };
    for path in ["pid", "signal.maxrss", "thread_info.status", "x", "a.x"] {
        btf.field("task_struct", path);
        btf.field("a", path);
    }
    btf.arguments("btf_trace_sys_enter");
    btf.id(TypeKind::Function, "bpf_rdonly_cast");
}

/// The stat file of a process.
pub fn stat(bytes: &[u8]) {
    let stat = text(bytes);
    for tick_ns in [0, 1, 10_000_000, u64::MAX] {
        usage::parse(&stat, tick_ns);
    }
}

pub fn maps(bytes: &[u8]) {
    let mappings: Vec<Mapping> = text(bytes).lines().filter_map(parse_mapping).collect();
    let symbols = Symbols::new(&mappings);
    for address in [
        0,
        0x40_0000,
        0x7f00_0000_0000,
        0xffff_ffff_ff60_0000,
        u64::MAX,
    ] {
        symbols.resolve(address);
    }
    for mapping in &mappings {
        symbols.resolve(mapping.start);
    }
}

/// Files that facts of the host are read from: each gets all of the input.
const FILES: [&str; 18] = [
    "proc/cpuinfo",
    "proc/meminfo",
    "proc/stat",
    "proc/loadavg",
    "proc/cmdline",
    "proc/version",
    "proc/self/status",
    "proc/self/limits",
    "proc/self/cgroup",
    "proc/self/mountinfo",
    "proc/1/cgroup",
    "proc/sys/kernel/osrelease",
    "etc/os-release",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq",
    "sys/devices/system/clocksource/clocksource0/available_clocksource",
    "sys/kernel/tracing/set_event",
    "sys/kernel/debug/kprobes/list",
];

thread_local! {
    static TREE: tempfile::TempDir = tempfile::tempdir().expect("a temporary directory");
}

pub fn host(bytes: &[u8]) {
    TREE.with(|tree| {
        for file in FILES {
            put(&tree.path().join(file), bytes);
        }
        let sources = Sources::below(tree.path());
        facts(&sources, Some(1));
        taxes::taxes(&sources);
        StealClock::since_boot().percent_since(&sources);
    });
}

fn put(path: &Path, bytes: &[u8]) {
    if let Some(directory) = path.parent().filter(|directory| !directory.exists()) {
        fs::create_dir_all(directory).expect("a directory");
    }
    fs::write(path, bytes).expect("a file");
}

const START: u64 = 0x40_0000;

/// An image as it is mapped, and its bytes as code that ran.
pub fn symbols(bytes: &[u8]) {
    let mapping = Mapping {
        start: START,
        end: START + 0x10_0000,
        offset: 0,
        inode: 0,
        path: "/image".to_string(),
    };
    let mut symbols = Symbols::new(std::slice::from_ref(&mapping));
    if symbols.add("/image", "image", bytes).is_err() {
        return;
    }
    symbols.prefer("main");
    symbols.begins(START + 0x1000);
    symbols.ifunc("time");
    let trace: Vec<u64> = (0..bytes.len().min(256) as u64)
        .map(|at| START + 8 * at)
        .chain([u64::MAX, 0])
        .collect();
    let code = trace
        .iter()
        .map(|at| (*at, window(bytes, at.wrapping_sub(START) as usize)))
        .collect();
    let memory = Memory {
        mappings: vec![mapping],
        code,
        vdso: Vec::new(),
        ..Memory::default()
    };
    functions(&Iteration::whole(&trace), &memory, &symbols, START, "image");
}

fn window(bytes: &[u8], at: usize) -> Vec<u8> {
    bytes
        .get(at..)
        .map_or_else(Vec::new, |rest| rest[..rest.len().min(15)].to_vec())
}
