//! `syscost fleet script` under the launchers that it is for, and `syscost fleet check` of what they gathered.

mod common;
#[path = "remote/server.rs"]
mod server;
#[path = "fleet/slurm.rs"]
mod slurm;

use common::{Place, json, root, skip, stderr, stdout};
use serde_json::Value;
use server::Server;
use slurm::Cluster;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// What shells, YAML, Jinja, Kubernetes and clush could each take for more than text.
const HOSTILE: &str = "a'b\"c $(touch pwned) `touch pwned` $HOME ; & | \\ %h %% {{ lookup('pipe', 'id') }} {% raw %} @sh:x@ é\n# x\n  - y: z\nEOF\n";

/// What every node runs: short, since it is gathering that is tested.
const MEASURE: [&str; 4] = ["id.getppid", "file.stat", "--", "--time=2"];

fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(name)).find(|file| file.exists())
}

fn write_program(path: &Path, text: &str) -> String {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

/// The launcher of environments, which puts a program behind a filter of system calls.
fn confine(place: &Place) -> PathBuf {
    let program = place.path().join("confine");
    let sources = ["probe/extra/confine.c", "probe/extra/filters.c", "probe/ground.c"].map(|file| root().join(file));
    let built = Command::new("cc").args(["-std=c11", "-O2", "-o"]).arg(&program).args(sources).status().unwrap();
    assert!(built.success());
    program
}

/// The job for `launcher`, with a hostile label.
fn script(place: &Place, launcher: &str, nodes: &str, out_dir: &Path, more: &[&str]) -> String {
    let (out_dir, label) = (out_dir.display().to_string(), format!("note={HOSTILE}"));
    let fixed = ["fleet", "script", launcher, "--nodes", nodes, "--out-dir", &out_dir, "--label", &label];
    let done = place.run(&[&fixed[..], more, &MEASURE].concat());
    assert!(done.status.success(), "{}", stderr(&done));
    stdout(&done)
}

fn check(place: &Place, directory: &Path, expect: &str) -> (Output, Value) {
    let expected = place.path().join("nodes.txt");
    fs::write(&expected, expect).unwrap();
    let (directory, expected) = (directory.display().to_string(), expected.display().to_string());
    let done = place.run(&["fleet", "check", &directory, "--expect", &expected, "--format", "json"]);
    let document = json(&done);
    (done, document)
}

fn states(checked: &Value) -> Vec<String> {
    let nodes = checked["nodes"].as_array().unwrap().iter();
    nodes.map(|node| format!("{} {}", node["node"].as_str().unwrap(), node["state"].as_str().unwrap())).collect()
}

fn result_files(directory: &Path) -> Vec<Value> {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let files = names.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.map(|file| serde_json::from_slice(&fs::read(file).unwrap()).unwrap()).collect()
}

fn run_of<'a>(runs: &'a [Value], node: &str) -> &'a Value {
    runs.iter().find(|run| run["labels"]["node"] == node).unwrap_or_else(|| panic!("no run of {node}"))
}

#[test]
fn three_slurm_nodes_are_gathered_and_the_others_named() {
    let place = Place::new();
    let cluster = match Cluster::start(&place) {
        Ok(cluster) => cluster,
        Err(reason) => return skip("three_slurm_nodes_are_gathered_and_the_others_named", &reason),
    };
    let (confine, syscost) = (confine(&place), env!("CARGO_BIN_EXE_syscost"));
    let node = write_program(
        &place.path().join("node"),
        &format!(
            "#!/bin/sh\ncase $SLURMD_NODENAME in\nn2) exec {} seccomp arguments -- {syscost} \"$@\" ;;\n\
             n3) echo no room here >&2; exit 7 ;;\n*) exec {syscost} \"$@\" ;;\nesac\n",
            confine.display()
        ),
    );
    let job = place.path().join("job.sh");
    fs::write(&job, script(&place, "slurm", "n[1-3]", &cluster.shared(), &["--program", &node])).unwrap();
    let done = cluster.run("sbatch", &["--wait", "--output=job.log", job.to_str().unwrap()]);
    let log = fs::read_to_string(place.path().join("slurm/job.log")).unwrap_or_default();
    assert_eq!(done.status.code(), Some(7), "the largest status: {}{log}", stderr(&done));
    assert!(log.contains("n3: exit status 7: no room here"), "{log}");
    assert!(!place.path().join("slurm/pwned").exists());

    let (done, checked) = check(&place, &cluster.shared(), "n[1-4]\n");
    assert_eq!(states(&checked), ["n1 complete", "n2 complete", "n3 failed", "n4 missing"]);
    assert_eq!((&checked["nodes"][2]["status"], &checked["nodes"][2]["said"]), (&7.into(), &"no room here".into()));
    assert_eq!(done.status.code(), Some(1));
    let runs = result_files(&cluster.shared());
    runs.iter().for_each(|run| assert_eq!(run["labels"]["note"], HOSTILE));
    let taxes = |node: &str| run_of(&runs, node)["host"]["taxes"].to_string();
    assert!(taxes("n2").contains("seccomp") && !taxes("n1").contains("seccomp"), "{}{}", taxes("n1"), taxes("n2"));
    let listed = fs::read_to_string(cluster.shared().join("nodes.txt")).unwrap();
    assert_eq!(listed, "n1\nn2\nn3\n");
    reframe_reads_what_a_node_prints(&place, &cluster);
}

/// The example of docs/fleet.md, over the same cluster.
fn reframe_reads_what_a_node_prints(place: &Place, cluster: &Cluster) {
    let Some(reframe) = program("reframe") else {
        return skip("reframe_reads_what_a_node_prints", "there is no reframe");
    };
    let page = fs::read_to_string(root().join("docs/fleet.md")).unwrap();
    let example = |language: &str| {
        let fence = format!("```python\n# {language}\n");
        page.split(&fence).nth(1).and_then(|rest| rest.split("```").next()).unwrap_or_else(|| panic!("{fence}"))
    };
    fs::write(place.path().join("settings.py"), example("settings.py")).unwrap();
    fs::write(place.path().join("syscost_check.py"), example("syscost_check.py")).unwrap();
    let mut command = cluster.command(&reframe);
    let at = |name: &str| place.path().join(name).display().to_string();
    let path = command.get_envs().find(|(name, _)| *name == "PATH").unwrap().1.unwrap().to_os_string();
    let ours = Path::new(env!("CARGO_BIN_EXE_syscost")).parent().unwrap().display().to_string();
    command.env("PATH", format!("{ours}:{}", path.to_str().unwrap()));
    command.args(["-C", &at("settings.py"), "-c", &at("syscost_check.py"), "--run", "--performance-report"]);
    command.args(["--prefix", &at("reframe")]).current_dir(place.path());
    let done = command.output().unwrap();
    let said = stdout(&done);
    assert!(done.status.success() && said.contains("PASSED"), "{said}{}", stderr(&done));
    assert!(said.contains("id_getppid"), "{said}");
}
