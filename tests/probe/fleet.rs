//! `syscost fleet script` under the launchers that it is for, and `syscost fleet check` of what they gathered.

use crate::server;
mod slurm;

use crate::common::{Place, json, root, skip, stderr, stdout};
use serde_json::Value;
use server::Server;
use slurm::Cluster;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

/// What shells, YAML, Jinja, Kubernetes and clush could each take for more than text.
const HOSTILE: &str = "a'b\"c $(touch pwned) `touch pwned` $HOME ; & | \\ %h %% {{ lookup('pipe', 'id') }} {% raw %} @sh:x@ é\n# x\n  - y: z\nEOF\n";

/// What every node runs, for so many seconds.
const MEASURE: [&str; 3] = ["id.getppid", "file.stat", "--"];
const SECONDS: &str = "--time=2";

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
    let sources = ["extra/confine.c", "extra/filters.c", "extra/landlock.c", "extra/agent.c", "ground.c"];
    let sources = sources.map(|file| root().join("probe").join(file));
    let built = Command::new("cc").args(["-std=c11", "-O2", "-o"]).arg(&program).args(sources).status().unwrap();
    assert!(built.success());
    program
}

/// The job for `launcher`, with a hostile label.
fn script(place: &Place, launcher: &str, nodes: &str, out_dir: &Path, (more, seconds): (&[&str], &str)) -> String {
    let (out_dir, label) = (out_dir.display().to_string(), format!("note={HOSTILE}"));
    let fixed = ["fleet", "script", launcher, "--nodes", nodes, "--out-dir", &out_dir, "--label", &label];
    let done = place.run(&[&fixed[..], more, &MEASURE, &[seconds]].concat());
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
    fs::write(&job, script(&place, "slurm", "n[1-3]", &cluster.shared(), (&["--program", &node], "--time=5"))).unwrap();
    let began = Instant::now();
    let done = cluster.run("sbatch", &["--wait", "--output=job.log", job.to_str().unwrap()]);
    let log = fs::read_to_string(place.path().join("slurm/job.log")).unwrap_or_default();
    assert_eq!(done.status.code(), Some(7), "the largest status: {}{log}", stderr(&done));
    assert!(log.contains("n3: exit status 7: no room here"), "{log}");
    assert!(!place.path().join("slurm/pwned").exists());

    let (done, checked) = check(&place, &cluster.shared(), "n[1-4]\n");
    println!("from sbatch to the last word of check: {:.1} s", began.elapsed().as_secs_f64());
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
    command.args(["--nocolor", "--prefix", &at("reframe")]).current_dir(place.path());
    command.env("HOME", place.path()).env("TMPDIR", place.tmp());
    let done = command.output().unwrap();
    let said = stdout(&done);
    assert!(done.status.success() && said.contains("PASSED"), "{said}{}", stderr(&done));
    assert!(said.contains("id_getppid"), "{said}");
}

/// A program that does in `node` what `how` says, and elsewhere what syscost does.
fn except_in(place: &Place, node: &str, how: &str) -> String {
    let syscost = env!("CARGO_BIN_EXE_syscost");
    let text = format!("#!/bin/sh\n[ \"$SYSCOST_NODE\" != {node} ] || {how}\nexec {syscost} \"$@\"\n");
    write_program(&place.path().join(format!("but-{node}")), &text)
}

#[test]
fn clush_runs_on_nodes_that_share_a_directory() {
    let test = "clush_runs_on_nodes_that_share_a_directory";
    let place = Place::new();
    let Some(clush) = program("clush") else { return skip(test, "there is no clush") };
    let server = match Server::start(&place) {
        Ok(server) => server,
        Err(reason) => return skip(test, &reason),
    };
    let hosts = place.path().join("hosts");
    fs::write(&hosts, server.hosts(&["a", "b", "c"])).unwrap();
    fs::create_dir(place.path().join("clustershell")).unwrap();
    let options = format!("[Main]\nssh_options: -F {}\n", hosts.display());
    fs::write(place.path().join("clustershell/clush.conf"), options).unwrap();
    let shared = place.path().join("it's shared");
    let run = |nodes: &str, more: &[&str]| {
        let job = place.path().join("job.sh");
        fs::write(&job, script(&place, "clush", nodes, &shared, (more, SECONDS))).unwrap();
        let mut command = Command::new("sh");
        let path = format!("{}:{}", std::env::var("PATH").unwrap(), clush.parent().unwrap().display());
        command.arg(job).env("XDG_CONFIG_HOME", place.path()).env("PATH", path).current_dir(place.path());
        command.output().unwrap()
    };
    let done = run("a,b", &["--program", &except_in(&place, "b", "{ echo no room >&2; exit 9; }")]);
    assert_eq!(done.status.code(), Some(9), "{}", stderr(&done));
    assert!(stderr(&done).contains("b: b: exit status 9: no room"), "{}", stderr(&done));
    let done = run("c", &["--program", &except_in(&place, "c", "exec sleep 1000"), "--limit", "1"]);
    assert_eq!(done.status.code(), Some(124), "{}", stderr(&done));
    let (done, checked) = check(&place, &shared, "a,b\nc\n");
    assert_eq!(
        (states(&checked), done.status.code()),
        (vec!["a complete".into(), "b failed".into(), "c failed".into()], Some(1))
    );
    assert_eq!((&checked["nodes"][1]["status"], &checked["nodes"][2]["status"]), (&9.into(), &124.into()));
    let runs = result_files(&shared);
    assert_eq!(run_of(&runs, "a")["labels"]["note"], HOSTILE);
    assert!(!place.path().join("pwned").exists());
}

#[test]
fn ansible_fetches_what_each_node_wrote() {
    let test = "ansible_fetches_what_each_node_wrote";
    let place = Place::new();
    let Some(ansible) = program("ansible-playbook") else { return skip(test, "there is no ansible-playbook") };
    let server = match Server::start(&place) {
        Ok(server) => server,
        Err(reason) => return skip(test, &reason),
    };
    let at = |name: &str| place.path().join(name).display().to_string();
    fs::write(at("hosts"), server.hosts(&["a", "b"])).unwrap();
    let inventory = format!(
        "[all]\na\nb\n[all:vars]\nansible_ssh_common_args=-F {}\nansible_remote_tmp={}\nansible_python_interpreter={}\n",
        at("hosts"),
        at("remote"),
        ansible.canonicalize().unwrap().with_file_name("python").display()
    );
    fs::write(at("inventory"), inventory).unwrap();
    let program = except_in(&place, "b", "{ echo no room >&2; exit 9; }");
    let gathered = place.path().join("gathered");
    fs::write(at("job.yaml"), script(&place, "ansible", "a,b", &gathered, (&["--program", &program], SECONDS)))
        .unwrap();
    let mut command = Command::new(ansible);
    command.args(["-i", &at("inventory"), &at("job.yaml")]).current_dir(place.path());
    command.env("HOME", place.path()).env("TMPDIR", place.tmp()).env("ANSIBLE_NOCOLOR", "1");
    let done = command.output().unwrap();
    let said = stdout(&done);
    assert_eq!(done.status.code(), Some(2), "one host failed: {said}{}", stderr(&done));
    assert!(said.contains("b: exit status 9: no room"), "{said}");
    let (done, checked) = check(&place, &gathered, "a\nb\n");
    assert_eq!((states(&checked), done.status.code()), (vec!["a complete".into(), "b failed".into()], Some(1)));
    assert_eq!(run_of(&result_files(&gathered), "a")["labels"]["note"], HOSTILE);
    assert!(!place.path().join("pwned").exists());
}

/// Python of the environment that has the validator, and with it a parser of YAML.
fn python() -> Option<(PathBuf, PathBuf)> {
    let validator = program("kubernetes-validate")?;
    let python = validator.canonicalize().ok()?.with_file_name("python");
    python.exists().then_some((validator, python))
}

/// The job of a Kubernetes manifest, read by a parser of YAML.
fn parsed(python: &Path, manifest: &Path) -> Value {
    let print = "import json, sys, yaml; print(json.dumps(yaml.safe_load(open(sys.argv[1]))))";
    json(&Command::new(python).args(["-c", print]).arg(manifest).output().unwrap())
}

#[test]
fn the_kubernetes_job_is_valid_and_its_command_is_what_was_asked() {
    let test = "the_kubernetes_job_is_valid_and_its_command_is_what_was_asked";
    let Some((validator, python)) = python() else { return skip(test, "there is no kubernetes-validate") };
    let place = Place::new();
    let out_dir = Path::new("/it's $(HOME) shared");
    for (nodes, more) in [("3", &["--claim", "costs"][..]), ("n1,n2.example", &[])] {
        let manifest = place.path().join("job.yaml");
        let more = [&["--image", "registry:5000/syscost:1"], more].concat();
        fs::write(&manifest, script(&place, "kubernetes", nodes, out_dir, (&more, SECONDS))).unwrap();
        for version in ["1.29", "1.37"] {
            let done = Command::new(&validator).args(["--strict", "-k", version]).arg(&manifest).output().unwrap();
            assert!(done.status.success(), "{}{}", stdout(&done), stderr(&done));
        }
        let job = parsed(&python, &manifest);
        let container = &job["spec"]["template"]["spec"]["containers"][0];
        let words = [&container["command"], &container["args"]].map(|words| words.as_array().unwrap().clone()).concat();
        let words: Vec<&str> = words.iter().map(|word| word.as_str().unwrap()).collect();
        let (label, dollars) = (format!("note={HOSTILE}").replace('$', "$$"), "/it's $$(HOME) shared");
        let expected = ["syscost", "--quiet", "run", "id.getppid", "file.stat", "--label", &label, SECONDS];
        assert_eq!(words, [&expected[..], &["--out-dir", dollars, "--label", "node=$(SYSCOST_NODE)"]].concat());
        assert_eq!(container["volumeMounts"][0]["mountPath"], "/it's $(HOME) shared");
    }
}

/// The pod of the job, as podman takes it: that has no jobs, no nodes' names and no affinity.
#[test]
fn podman_plays_the_pod_of_the_kubernetes_job() {
    let test = "podman_plays_the_pod_of_the_kubernetes_job";
    let place = Place::new();
    let Some((_, python)) = python() else {
        return skip(test, "there is no kubernetes-validate, which brings a parser");
    };
    let podman = match Podman::new(&place) {
        Ok(podman) => podman,
        Err(reason) => return skip(test, &reason),
    };
    let shared = place.path().join("shared");
    fs::create_dir(&shared).unwrap();
    let more = ["--image", "localhost/syscost:latest", "--program", "/syscost"];
    let manifest = place.path().join("job.yaml");
    fs::write(&manifest, script(&place, "kubernetes", "1", &shared, (&more, SECONDS))).unwrap();
    let template = parsed(&python, &manifest)["spec"]["template"].take();
    let mut pod = serde_json::json!({"apiVersion": "v1", "kind": "Pod", "spec": template["spec"]});
    pod["metadata"] = serde_json::json!({"name": "syscost", "labels": template["metadata"]["labels"]});
    pod["spec"]["containers"][0]["env"][0]["valueFrom"]["fieldRef"]["fieldPath"] = "metadata.name".into();
    fs::write(&manifest, pod.to_string()).unwrap();
    let done = podman.command(&["kube", "play", "--network", "none", manifest.to_str().unwrap()]).output().unwrap();
    assert!(done.status.success(), "{}", stderr(&done));
    let waited = podman.command(&["wait", "syscost-syscost"]).output().unwrap();
    let logs = podman.command(&["logs", "syscost-syscost"]).output().unwrap();
    assert_eq!(stdout(&waited).trim(), "0", "{}{}", stdout(&logs), stderr(&logs));
    assert_eq!(result_files(&shared).len(), 1);
}

/// Podman with storage of its own and an image of the program with its libraries. Dropping it removes what it started.
struct Podman {
    at: PathBuf,
}

impl Podman {
    fn new(place: &Place) -> Result<Podman, String> {
        let podman = Podman { at: place.path() };
        // An infrastructure container is what holds a pod together; limits are those that an ordinary user may have.
        fs::write(
            podman.at.join("containers.conf"),
            "[containers]\ndefault_ulimits = [\"nofile=1024:1024\", \"nproc=4096:4096\"]\n",
        )
        .unwrap();
        let path = podman.path();
        for needed in ["podman", "runc", "catatonit"] {
            if !std::env::split_paths(&path).any(|directory| directory.join(needed).exists()) {
                return Err(format!("there is no {needed}"));
            }
        }
        if !nix::unistd::geteuid().is_root() {
            return Err("containers are played as root".to_string());
        }
        let image = podman.image()?;
        let made = podman.command(&["import", &image, "localhost/syscost:latest"]).output();
        let made = made.map_err(|error| error.to_string())?;
        if made.status.success() { Ok(podman) } else { Err(format!("podman makes no image: {}", stderr(&made).trim())) }
    }

    /// An archive of a root with the program and its libraries.
    fn image(&self) -> Result<String, String> {
        let (syscost, root) = (env!("CARGO_BIN_EXE_syscost"), self.at.join("root"));
        ["tmp", "proc", "dev", "sys"].iter().for_each(|name| fs::create_dir_all(root.join(name)).unwrap());
        fs::copy(syscost, root.join("syscost")).map_err(|error| error.to_string())?;
        let listed = Command::new("ldd").arg(syscost).output().map_err(|error| error.to_string())?;
        for library in stdout(&listed).split_whitespace().filter(|word| word.starts_with('/')) {
            let copy = root.join(&library[1..]);
            fs::create_dir_all(copy.parent().unwrap()).unwrap();
            fs::copy(library, copy).map_err(|error| error.to_string())?;
        }
        let archive = self.at.join("root.tar").display().to_string();
        let packed = Command::new("tar").args(["-cf", &archive, "-C"]).arg(root).arg(".").status();
        packed.is_ok_and(|status| status.success()).then_some(archive).ok_or_else(|| "tar failed".to_string())
    }

    fn path(&self) -> std::ffi::OsString {
        let unpacked = std::env::var("SYSCOST_SLURM").map_or(String::new(), |root| format!(":{root}/usr/bin"));
        format!("{}{unpacked}:/usr/sbin:/sbin", std::env::var("PATH").unwrap()).into()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("podman");
        command
            .args(["--runtime", "runc", "--root"])
            .arg(self.at.join("storage"))
            .arg("--runroot")
            .arg(self.at.join("runroot"));
        command.args(arguments).env("PATH", self.path()).env("CONTAINERS_CONF", self.at.join("containers.conf"));
        command
    }
}

impl Drop for Podman {
    fn drop(&mut self) {
        let _ = self.command(&["pod", "rm", "--all", "--force"]).output();
        let _ = self.command(&["image", "rm", "--all", "--force"]).output();
        let _ =
            Command::new("umount").arg(self.at.join("storage/overlay")).stderr(std::process::Stdio::null()).status();
    }
}

/// What no launcher and no hostile value may do, without one.
#[test]
fn what_cannot_run_on_a_node_is_refused_before_it_is_launched() {
    let place = Place::new();
    let image = ["--image", "x"];
    let refused: [(&str, &str, &[&str], &str); 9] = [
        ("slurm", "n1,$(id)", &["id.getppid"], "'$(id)' is not a node's name"),
        ("slurm", "n1\nn2", &["id.getppid"], "is not a node's name"),
        ("clush", "-w", &["id.getppid"], "is not a node's name"),
        ("clush", "3", &["id.getppid"], "needs the nodes' names"),
        ("slurm", "0", &["id.getppid"], "0 nodes"),
        ("slurm", "2", &["--study", "no-such"], "no-such"),
        ("slurm", "2", &["id.getppid", "--", "--no-such-flag"], "--no-such-flag"),
        ("kubernetes", "2", &["id.getppid"], "--image is needed"),
        ("slurm", "2", &["id.getppid", "--name", "a\n#SBATCH --wrap=id"], "--name"),
    ];
    for (launcher, nodes, more, said) in refused {
        let fixed = ["fleet", "script", launcher, &format!("--nodes={nodes}"), "--out-dir", "/shared"];
        let done = place.run(&[&fixed[..], more].concat());
        assert_eq!(done.status.code(), Some(2), "{launcher} {nodes} {more:?}: {}", stdout(&done));
        assert!(stderr(&done).contains(said), "{said}: {}", stderr(&done));
    }
    let relative = place.run(&["fleet", "script", "slurm", "id", "--nodes", "2", "--out-dir", "shared"]);
    assert!(stderr(&relative).contains("absolute path"), "{}", stderr(&relative));
    let elsewhere =
        place.run(&[&["fleet", "script", "slurm", "id", "--nodes", "2", "--out-dir", "/s"][..], &image].concat());
    assert!(stderr(&elsewhere).contains("are for kubernetes"), "{}", stderr(&elsewhere));
}

#[test]
fn files_that_are_no_results_are_named_and_skipped() {
    let place = Place::new();
    let at = place.path().join("gathered");
    fs::create_dir_all(at.join("nodes")).unwrap();
    let run = fs::read_to_string(root().join("tests/golden/run.json")).unwrap();
    fs::write(at.join("a.json"), &run).unwrap();
    fs::write(at.join("half.json"), &run[..run.len() / 2]).unwrap();
    fs::write(at.join("foreign.json"), "{\"a\": 1}").unwrap();
    fs::write(at.join("empty.json"), "").unwrap();
    fs::write(at.join("notes.txt"), "not looked at").unwrap();
    fs::write(at.join("nodes/x.status"), "nonsense\n").unwrap();
    fs::create_dir(at.join("folder.json")).unwrap();
    nix::unistd::mkfifo(&at.join("pipe.json"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let done = place.run(&["fleet", "check", at.to_str().unwrap(), "--format", "json"]);
    assert_eq!(done.status.code(), Some(3), "{}", stderr(&done));
    let skipped = json(&done)["skipped"].as_array().unwrap().clone();
    let files: Vec<&str> = skipped.iter().map(|skipped| skipped["file"].as_str().unwrap()).collect();
    assert_eq!(files, ["folder.json", "pipe.json", "empty.json", "foreign.json", "half.json", "x.status"]);
    let words = stderr(&done);
    assert!(words.contains("skipped: folder.json and 1 more: is not a file"), "{words}");
    for file in &files[2..] {
        assert!(words.contains(&format!("skipped: {file}: ")), "{file}: {words}");
    }
    assert_eq!(json(&done)["complete"], 1);
    assert_eq!(place.run(&["fleet", "check", "/no/such"]).status.code(), Some(2));
    let later = place.run(&["fleet", "check", at.to_str().unwrap(), "--since", "2999-01-01", "--format", "json"]);
    assert_eq!((json(&later)["complete"].as_u64(), later.status.code()), (Some(0), Some(3)));
}
