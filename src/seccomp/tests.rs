use super::bpf::{ALLOW, ERRNO, KILL_THREAD, LOG, lets_through};
use super::*;

const MACHINE: Machine = Machine { architecture: "x86_64", kernel: (6, 1) };
const X86_64: u32 = 0xC000_003E;
const I386: u32 = 0x4000_0003;
const DENIED: u32 = ERRNO | 1;

/// In the shape of Docker's profile.
const DOCKER: &str = r#"{
    "defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": 1,
    "archMap": [{"architecture": "SCMP_ARCH_X86_64", "subArchitectures": ["SCMP_ARCH_X86", "SCMP_ARCH_X32"]}],
    "syscalls": [
        {"names": ["read", "write", "getpid", "no_such_call"], "action": "SCMP_ACT_ALLOW"},
        {"names": ["ptrace"], "action": "SCMP_ACT_ALLOW", "includes": {"minKernel": "4.8"}},
        {"names": ["mseal"], "action": "SCMP_ACT_ALLOW", "includes": {"minKernel": "6.10"}},
        {"names": ["mount"], "action": "SCMP_ACT_ALLOW", "includes": {"caps": ["CAP_SYS_ADMIN"]}},
        {"names": ["clone"], "action": "SCMP_ACT_ALLOW", "excludes": {"caps": ["CAP_SYS_ADMIN"], "arches": ["s390"]},
         "args": [{"index": 0, "value": 2114060288, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}]},
        {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": 38, "excludes": {"caps": ["CAP_SYS_ADMIN"]}},
        {"names": ["arch_prctl"], "action": "SCMP_ACT_ALLOW", "includes": {"arches": ["amd64"]}},
        {"names": ["umask"], "action": "SCMP_ACT_ALLOW", "excludes": {"arches": ["amd64"]}},
        {"names": ["personality"], "action": "SCMP_ACT_ALLOW", "args": [
            {"index": 0, "value": 0, "op": "SCMP_CMP_EQ"}, {"index": 0, "value": 8, "op": "SCMP_CMP_EQ"}]},
        {"names": ["sync"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1}
    ]
}"#;

fn answer(filter: &Filter, audit: u32, name: &str, arguments: &[u64]) -> u32 {
    let mut all = [0; 6];
    all[..arguments.len()].copy_from_slice(arguments);
    verdict(&filter.program, &Call { number: number(audit, name).unwrap(), audit, arguments: all })
}

#[test]
fn each_call_of_a_profile_like_dockers_gets_its_verdict() {
    let filter = compile(DOCKER, MACHINE).unwrap();
    for (name, arguments, expected) in [
        ("read", &[][..], ALLOW),
        ("getpid", &[], ALLOW),
        ("ptrace", &[], ALLOW),
        ("mseal", &[], DENIED),
        ("mount", &[], DENIED),
        ("clone", &[0x11], ALLOW),
        ("clone", &[0x1000_0000], DENIED),
        ("clone3", &[], ERRNO | 38),
        ("arch_prctl", &[], ALLOW),
        ("umask", &[], DENIED),
        ("personality", &[8], ALLOW),
        ("personality", &[9], DENIED),
        ("personality", &[1 << 32], DENIED),
        ("sync", &[], DENIED),
        ("fork", &[], DENIED),
    ] {
        assert_eq!(answer(&filter, X86_64, name, arguments), expected, "{name} {arguments:?}");
    }
    assert_eq!(answer(&filter, I386, "getpid", &[]), ALLOW);
    assert_eq!(answer(&filter, I386, "mount", &[]), DENIED);
    let of = |number, audit| verdict(&filter.program, &Call { number, audit, arguments: [0; 6] });
    assert_eq!(of(0x4000_0000 | 39, X86_64), DENIED, "x32");
    assert_eq!(of(39, 0xC000_00B7), KILL_THREAD, "another processor's");
    assert_eq!(
        filter.about,
        format!(
            "{} instructions for x86_64, i386; 1 names are no call here and 3 rules are for capabilities, other processors or kernels: left out",
            filter.program.len()
        )
    );
    assert!(filter.refused().contains(&"execve"));
}

#[test]
fn every_comparison_is_one_of_64_bits() {
    let value = 0x1_0000_0005_u64;
    let near = [0, 4, 5, 6, value - 1, value, value + 1, 0x1_ffff_ffff, 0x2_0000_0000, 0x2_0000_0005, u64::MAX];
    for (op, holds) in [
        ("NE", (|a, b| a != b) as fn(u64, u64) -> bool),
        ("LT", |a, b| a < b),
        ("LE", |a, b| a <= b),
        ("EQ", |a, b| a == b),
        ("GE", |a, b| a >= b),
        ("GT", |a, b| a > b),
    ] {
        let text = format!(
            r#"{{"defaultAction": "SCMP_ACT_KILL", "syscalls": [{{"names": ["lseek"], "action": "SCMP_ACT_LOG", "args": [
                {{"index": 1, "value": {value}, "op": "SCMP_CMP_{op}"}}, {{"index": 5, "value": 0, "op": "SCMP_CMP_EQ"}}]}}]}}"#
        );
        let filter = compile(&text, MACHINE).unwrap();
        for argument in near {
            let expected = if holds(argument, value) { LOG } else { KILL_THREAD };
            assert_eq!(answer(&filter, X86_64, "lseek", &[0, argument]), expected, "{argument:#x} {op}");
            assert_eq!(answer(&filter, X86_64, "lseek", &[0, argument, 0, 0, 0, 1]), KILL_THREAD, "both must hold");
        }
    }
}

#[test]
fn long_lists_reach_their_action() {
    let names: Vec<&str> = (0..450).filter_map(|n| syscalls::x86_64::Sysno::new(n).map(|call| call.name())).collect();
    let rule = serde_json::json!({"names": names, "action": "SCMP_ACT_ALLOW"});
    let container = serde_json::json!({"linux": {"seccomp": {
        "defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": 95, "architectures": ["SCMP_ARCH_X86_64"], "syscalls": [rule]}}});
    let filter = compile(&container.to_string(), MACHINE).unwrap();
    assert!(names.len() > 300);
    for name in &names {
        assert!(lets_through(answer(&filter, X86_64, name, &[])), "{name}");
    }
    let of = |number| verdict(&filter.program, &Call { number, audit: X86_64, arguments: [0; 6] });
    assert_eq!([of(390), of(500), of(u32::MAX)], [ERRNO | 95; 3]);
    assert_eq!(filter.refused(), Vec::<&str>::new());
    // A load of the architecture, a comparison and a jump; of the number; of x32's numbers, with its action; two jumps and actions.
    assert_eq!(filter.program.len(), names.len() + 3 + 1 + 2 + 2 * 2 + 2);
    assert_eq!(filter.hex().len(), filter.program.len() * 16);
}

#[test]
fn what_is_no_profile_says_why() {
    let error = |text: &str| format!("{:#}", compile(text, MACHINE).unwrap_err());
    let with = |rule: &str| error(&format!(r#"{{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{rule}]}}"#));
    assert!(error("{").starts_with("it is not JSON: "));
    assert_eq!(error("{}"), "it is no seccomp profile: it has no 'defaultAction'");
    assert_eq!(error(r#"{"defaultAction": "ALLOW"}"#), "defaultAction: there is no action ALLOW");
    assert!(with(r#"{"names": "read", "action": "x"}"#).contains("syscalls[0].names: invalid type"));
    assert_eq!(
        with(r#"{"names": ["read"], "action": "SCMP_ACT_NOTIFY"}"#),
        "the rule for read: SCMP_ACT_NOTIFY asks another program, which determines the cost: start that by --env-command"
    );
    assert_eq!(
        with(
            r#"{"names": ["read"], "action": "SCMP_ACT_ERRNO", "args": [{"index": 6, "value": 0, "op": "SCMP_CMP_EQ"}]}"#
        ),
        "the rule for read: a call has no argument 6"
    );
    let error = compile(r#"{"defaultAction": "SCMP_ACT_ALLOW"}"#, Machine { architecture: "vax", ..MACHINE });
    assert_eq!(error.unwrap_err().to_string(), "profiles are not compiled for vax");
}
