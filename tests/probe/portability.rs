//! The probe compiles and links for every target that is known to link, with zig. Nothing of that is run, except what this
//! machine can run by itself.

use crate::common::*;
fn looks_like_a_program(target: &str, bytes: &[u8]) -> bool {
    bytes.starts_with(if target.contains("macos") {
        b"\xcf\xfa\xed\xfe"
    } else {
        b"\x7fELF"
    })
}

fn assert_links(place: &Place, target: &str) {
    let file = place.path().join(target);
    // One cache for all runs: zig builds a C library for each target the first time.
    let mut command = place.command(format!(
        "probe build --target {target} -o {}",
        file.display()
    ));
    let done = command.env_remove("XDG_STATE_HOME").output().unwrap();
    if stderr(&done).contains("no compiler for") {
        return skip(&format!("{target}: {}", stderr(&done).trim()));
    }
    expect_status(&done, 0);
    assert!(
        looks_like_a_program(target, &fs::read(&file).unwrap()),
        "{target}"
    );
}

const TARGETS: [&str; 10] = [
    "x86_64-linux-musl",
    "x86-linux-musl",
    "aarch64-linux-musl",
    "riscv64-linux-musl",
    "x86_64-macos",
    "aarch64-macos",
    "x86_64-freebsd",
    "aarch64-freebsd",
    "x86_64-netbsd",
    "x86_64-openbsd",
];
const KINDS: [&str; 2] = ["x86_64-linux-musl", "aarch64-macos"];

#[test]
fn the_probe_links_for_every_target() {
    let place = Place::new();
    for target in one_of_each_kind(&TARGETS, &KINDS) {
        assert_links(&place, target);
    }
    let here = place.path().join("x86_64-linux-musl");
    if cfg!(target_arch = "x86_64") && here.exists() {
        let listed = Command::new(here).arg("--list").output().unwrap();
        expect_in(stdout(&listed), "id.getppid\t");
    }
}

#[test]
fn what_cannot_be_built_is_told_with_what_to_install() {
    let place = Place::new();
    let file = place.path().join("x").display().to_string();
    let unknown = place.run(format!("probe build --target no-such-target -o {file}"));
    expect_status(&unknown, 2);
    let said = stderr(&unknown);
    assert!(
        said.contains("install zig") || said.contains("syscost probe build --help-all"),
        "{said}"
    );
    let nowhere = place.run("probe build -o /no/such/directory/x");
    assert_eq!(
        stderr(&nowhere).trim(),
        "syscost: --out /no/such/directory/x: not a file in an existing directory"
    );
    // Without any compiler.
    let none = place
        .command(format!("probe build --target x86_64-freebsd -o {file}"))
        .env("PATH", "/nowhere")
        .output()
        .unwrap();
    let expected = "syscost: no compiler for x86_64-freebsd: install zig ('pip install ziglang' is enough), or x86_64-freebsd-gcc";
    assert_eq!(stderr(&none).trim(), expected);
}
