//! The compiled eBPF programs in bpf/ are what their source compiles to. Where clang 14 is missing, this is said and
//! skipped: another version compiles to other bytes.

use crate::common::*;
#[test]
fn the_objects_are_those_of_the_source() {
    let there = |tool: &str| {
        Command::new(tool)
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
    };
    if ["clang-14", "llvm-strip-14"]
        .iter()
        .any(|tool| !there(tool).is_ok_and(|status| status.success()))
    {
        return skip("no clang-14 or llvm-strip-14");
    }
    let source = root().join("bpf");
    let built = tempfile::tempdir().unwrap();
    let done = Command::new(source.join("build"))
        .arg(built.path())
        .output()
        .unwrap();
    expect_status(&done, 0);
    for name in ["syscost.x86.o", "syscost.arm64.o"] {
        let [committed, compiled] =
            [source.join(name), built.path().join(name)].map(|path| fs::read(path).unwrap());
        assert!(
            committed == compiled,
            "bpf/{name} is not what its source compiles to: run bpf/build"
        );
    }
}
