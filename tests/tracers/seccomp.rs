//! A filter made of a traced program's calls, as a container runs the program behind it.

use crate::common::{Place, json, skip, stderr, stdout};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Prints; with an argument it first makes a directory, and prints why it cannot.
const PROGRAM: &str = r#"
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int count, char **words) {
    if (count > 1 && mkdir("made", 0700) < 0) return write(1, errno == EPERM ? "EPERM\n" : "other\n", 6) == 6;
    return write(1, count > 1 ? "made \n" : "hello\n", 6) != 6;
}
"#;

/// The container of a root that holds the program, with the filter; gone when it has ended.
fn contained(place: &Place, arguments: &[&str]) -> Output {
    let filter = format!("seccomp={}", place.path().join("filter.json").display());
    let mut podman = Command::new("podman");
    podman.args(["--runtime", "runc", "run", "--rm", "--network", "none", "--log-driver", "none"]);
    podman.args(["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096"]);
    podman.args(["--security-opt", "no-new-privileges", "--security-opt", &filter, "--rootfs"]);
    podman.arg(place.path().join("root")).arg("/hello").args(arguments).output().unwrap()
}

/// Why no container can be tried here.
fn lacking(root: &Path) -> Option<String> {
    let runs = |program: &str| Command::new(program).arg("--version").output().is_ok_and(|done| done.status.success());
    let source = root.join("hello.c");
    fs::write(&source, PROGRAM).unwrap();
    let built = Command::new("cc").args(["-static", "-o"]).arg(root.join("hello")).arg(&source).output();
    match () {
        () if !nix::unistd::geteuid().is_root() => Some("containers with a root of their own need root".to_string()),
        () if !["podman", "runc"].into_iter().all(runs) => Some("there is no podman with runc".to_string()),
        () if !built.is_ok_and(|done| done.status.success()) => Some("cc links no static program".to_string()),
        () => None,
    }
}

#[test]
fn a_container_runs_behind_the_filter_of_its_program() {
    let place = Place::new();
    let root = place.path().join("root");
    fs::create_dir(&root).unwrap();
    if let Some(reason) = lacking(&root) {
        return skip("a_container_runs_behind_the_filter_of_its_program", &reason);
    }
    let traced = place.run(&["trace", "-o", "p.json", "--report", "/dev/null", "--", "root/hello"]);
    assert_eq!(stdout(&traced), "hello\n", "{}", stderr(&traced));
    let made = place.run(&["show", "p.json", "--format", "seccomp"]);
    assert!(made.status.success() && stderr(&made).is_empty(), "{}", stderr(&made));
    assert!(json(&made)["syscalls"][0]["names"].as_array().unwrap().contains(&"write".into()), "{}", stdout(&made));
    fs::write(place.path().join("filter.json"), &made.stdout).unwrap();

    let [same, forbidden] = [&[][..], &["more"]].map(|arguments| contained(&place, arguments));
    if stderr(&same).contains("cgroup") {
        return skip("a_container_runs_behind_the_filter_of_its_program", stderr(&same).trim());
    }
    assert_eq!(stdout(&same), "hello\n", "{}", stderr(&same));
    assert_eq!(stdout(&forbidden), "EPERM\n", "{}", stderr(&forbidden));
}
