//! The probe of a static syscost: it needs no dynamic loader, lets the dynamic probe beside it measure what only that can, and says
//! what is missing where there is no loader. A whole static program is built and run in empty roots by `.ci/release`.

use crate::common::*;
const NOWHERE: &str = "/nowhere/ld.so";

fn compiled(place: &Path, name: &str, words: &str) -> bool {
    cc(format!("{words} -o {}", place.join(name).display()))
}

fn probe_sources() -> String {
    let mut files = Vec::new();
    for folder in ["probe", "probe/ops"] {
        let entries = fs::read_dir(root().join(folder)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        files.extend(
            names
                .filter(|name| name.ends_with(".c"))
                .map(|name| format!("{folder}/{name}")),
        );
    }
    files.join(" ")
}

fn build_static(place: &Path) -> bool {
    let words = "-std=c11 -O0 -static -DSYSCOST_BRINGS_DYNAMIC_PROBE";
    compiled(
        place,
        "probe",
        &format!(
            "{words} {} probe/extra/cross.c -pthread -lrt",
            probe_sources()
        ),
    )
}

fn build_without_loader(place: &Path, name: &str) -> bool {
    compiled(
        place,
        name,
        &format!("probe/extra/tiny.c -Wl,--dynamic-linker={NOWHERE}"),
    )
}

fn answers(place: &Path, line: &str) -> String {
    let mut command = Command::new(place.join("probe"));
    let mut probe = command
        .current_dir(place)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // In one write, so that a probe that reads more than its first line loses the request.
    let _ = probe
        .stdin
        .take()
        .unwrap()
        .write_all(format!("{line}\n").as_bytes());
    String::from_utf8(probe.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn a_static_probe_lets_a_dynamic_one_measure_what_only_that_can() {
    let place = tempfile::tempdir().unwrap();
    if !build_static(place.path()) {
        return skip("the C compiler builds no static program");
    }
    assert!(answers(place.path(), "op id.getppid").starts_with("ready pid="));
    let without = answers(place.path(), "op call.cross_library");
    assert_eq!(
        without,
        "error ENOENT this build has no dynamic probe: No such file or directory\n"
    );

    assert!(build_without_loader(place.path(), "probe-dynamic"));
    let reason = format!("error ENOENT no dynamic loader {NOWHERE}: No such file or directory\n");
    assert_eq!(
        answers(place.path(), "op call.cross_library threads=2"),
        reason
    );
    assert!(answers(place.path(), "op call.direct").starts_with("ready pid="));

    for (ours, name) in [
        ("probe", "probe-dynamic"),
        ("libsyscost_cross.so", "libsyscost_cross.so"),
    ] {
        copy_program(
            Path::new(assets::DIRECTORY).join(ours),
            &place.path().join(name),
        );
    }
    assert!(answers(place.path(), "op call.cross_library").starts_with("ready pid="));
}

#[test]
fn an_operation_that_starts_a_dynamic_program_names_the_missing_loader() {
    let place = tempfile::tempdir().unwrap();
    assert!(build_without_loader(place.path(), "tiny-dynamic"));
    for name in ["probe", "libsyscost_cross.so"] {
        copy_program(
            Path::new(assets::DIRECTORY).join(name),
            &place.path().join(name),
        );
    }
    let reason = format!("error ENOENT no dynamic loader {NOWHERE}: No such file or directory\n");
    assert_eq!(
        answers(place.path(), "op process.fork_exec_dynamic"),
        reason
    );
}

#[test]
fn a_probe_without_its_loader_is_refused_with_the_reason() {
    let place = Place::new();
    let probe = place.path().join("bare-probe");
    assert!(build_without_loader(&place.path(), "bare-probe"));
    assert!(fs::metadata(&probe).unwrap().permissions().mode() & 0o111 != 0);
    let output = place.run(format!(
        "run id.getppid --time 0.2 --versus-probe {}",
        probe.display()
    ));
    let said = stderr(&output);
    expect_in(
        &said,
        &format!("its loader {NOWHERE} is not on this system"),
    );
    expect_not_in(&said, "noexec");
}
