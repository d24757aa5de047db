//! Runs that need much at once, and runs that share a CPU.

use crate::common::*;
const MANY: &str = "run file.lstat --param depth=1..16 --time 0.5 --no-verify --quiet";

#[test]
fn what_a_limit_forbids_is_refused_before_it_is_begun() {
    let place = Place::new();
    let output = in_shell("ulimit -n 60; exec \"$@\"", &place.command(MANY))
        .output()
        .unwrap();
    let said = stderr(&output);
    expect_status(&output, 2);
    assert!(
        said.starts_with("syscost: 28 cases need ") && said.lines().count() == 1,
        "{said}"
    );
    expect_in(
        &said,
        " open files, and the limit is 60: name fewer cases, or raise it with 'ulimit -Hn ",
    );
    assert!(place.left_behind().is_empty());
}

#[test]
fn a_low_limit_of_processes_is_told() {
    let place = Place::new();
    let wide = MANY.replace("1..16", "1..200+1");
    // Root has no such limit.
    let limit = "ulimit -u 211 2>/dev/null || ulimit -p 211; exec \"$@\"";
    let mut shell = in_shell(limit, &place.command_without_rights(&wide));
    if geteuid().is_root() {
        shell.uid(NOBODY).gid(NOBODY);
    }
    let output = shell.output().unwrap();
    let said = stderr(&output);
    expect_status(&output, 2);
    expect_start(
        &said,
        "syscost: 212 cases need 212 processes, and the limit leaves 211: ",
    );
}

#[test]
fn a_soft_limit_is_raised_for_the_driver_and_not_for_workers() {
    if !cc("--version") {
        return skip("there is no C compiler");
    }
    let place = Place::new();
    // The check itself can fail.
    for (limit, status) in [(40, 0), (50, 3)] {
        let check =
            "c:struct rlimit r; if (getrlimit(RLIMIT_NOFILE, &r) || r.rlim_cur != 40) return 9;";
        let prelude = "c:getppid() --prelude 'c:#include <sys/resource.h>' --format json --setup";
        let command = place.command((MANY, prelude, [check]));
        let script = format!("ulimit -S -n {limit}; exec \"$@\"");
        let output = in_shell(&script, &command).output().unwrap();
        expect_status(&output, status);
        let records = json(&output)["records"].as_array().unwrap().len();
        assert_eq!(records, 16 + 1, "all were measured at once");
    }
}

#[test]
fn runs_on_one_cpu_know_of_each_other() {
    let place = Place::new();
    let arguments = "run id.getppid --no-verify --quiet --precision 0.0001 --format json";
    let first = place.start((&arguments, "--time 600"));
    let measures = || {
        (place
            .processes()
            .iter()
            .filter(|process| process.worker.is_some())
            .count()
            >= 4)
            .then_some(())
    };
    wait_for(measures).expect("the first run has not begun");
    let second = json(&place.run((&arguments, "--time 0.2")));
    kill(first.pid(), Signal::SIGINT).unwrap();
    for run in [second, json(&first.output())] {
        let warnings = run["warnings"].to_string();
        expect_in(
            &warnings,
            ": another syscost run measured on it at the same time: ",
        );
    }
    let anywhere = json(&place.run((&arguments, "--time 0.2 --cpu none")));
    assert!(
        !anywhere["warnings"]
            .to_string()
            .contains("another syscost run")
    );
}
