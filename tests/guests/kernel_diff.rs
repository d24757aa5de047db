//! `kernel diff` with a kernel that was fetched, and the same with boot parameters.

use crate::common::*;

const OPERATIONS: [&str; 2] = ["id.getppid", "call.direct"];

#[test]
fn an_audited_kernel_has_longer_calls_and_names_the_function() {
    let kernel = needs!(emulated_kernel());
    let place = Place::new();
    let audited = format!("{kernel} audit=1");
    let output = place.run((
        "kernel diff --boots 1 --format json --fail-over 1%",
        [[&*kernel, &audited], OPERATIONS].concat(),
    ));
    expect_status(&output, 1);
    expect_in(stderr(&output), "id.getppid executes");
    let diff: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(diff["equal"], 1, "{diff}");
    let changed = list(&diff["changed"]);
    assert_eq!(changed.len(), 1, "{diff}");
    assert_eq!(changed[0]["operation"], "id.getppid");
    assert!(
        changed[0]["after"].as_f64() > changed[0]["before"].as_f64(),
        "{diff}"
    );
    let functions = list(&changed[0]["functions"]);
    assert!(
        functions
            .iter()
            .any(|function| function["name"] == "__audit_syscall_entry" && function["before"] == 0),
        "{diff}"
    );
}

#[test]
fn a_kernel_is_equal_to_itself() {
    let kernel = needs!(emulated_kernel());
    let place = Place::new();
    let output = place.run((
        "kernel diff --fail-over 0",
        [[&*kernel, &kernel], OPERATIONS].concat(),
    ));
    expect_status(&output, 0);
    expect_in(
        String::from_utf8_lossy(&output.stdout),
        "0 of 2 operations; 2 equal, 0 not judged",
    );
}

#[test]
fn only_emulated_kernels_are_compared() {
    let place = Place::new();
    for (line, message) in [
        ("kernel diff native 6.1", "'native': not an emulated kernel"),
        ("kernel diff ./none ./none", "./none"),
    ] {
        let output = place.run(line);
        expect_status(&output, 2);
        expect_in(stderr(&output), message);
    }
}
