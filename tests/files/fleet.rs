//! contrib/fleet: the SQL files over rows of many hosts, with the engines that are installed, and the templates of launchers
//! with launchers that start everything here.

use crate::common::*;
use clap::CommandFactory;
use cli::Arguments;

const CPUS: [&str; 2] = ["Xeon 8481C", "Ampere \"Altra\" \\ O'Max"];
const DAYS: usize = 14;

/// Rows of 40 hosts over 14 days, on two processors. On the third host everything costs 1.35 times as much; on one of the
/// processors `file.stat` costs 1.2 times as much from the upgrade on the eighth day. On the last day some runs are not as
/// the others.
fn rows(place: &Place) -> String {
    fs::copy(
        root().join("tests/golden/run.json"),
        place.path().join("run.json"),
    )
    .unwrap();
    let printed = place.printed("show run.json --format rows");
    let mut row: Value = serde_json::from_str(printed.lines().next().unwrap()).unwrap();
    let cases = [
        "file.stat",
        "file.open",
        "time.now",
        "io.read",
        "id.getppid",
    ];
    let mut lines = String::new();
    for (host, day) in (0..40).flat_map(|host| (0..DAYS).map(move |day| (host, day))) {
        let (is_new, is_last) = (day >= 7, day == DAYS - 1);
        let name = if host == 13 {
            "n'); DROP TABLE costs; --\n\"\\{x}".to_string()
        } else {
            format!("n{host}")
        };
        let own =
            |usual: Value, of: usize, then: Value| if is_last && host == of { then } else { usual };
        let run = json!({
            "file": format!("{host}-{day}.json"), "host": name, "label_node": name, "cpu": CPUS[host % 2],
            "kernel": if is_new { "6.12.30" } else { "6.1.90" },
            "started_unix_s": 1_780_012_800 + day * 86_400, "complete": own(json!(true), 3, json!(false)),
            "tool": own(json!("syscost 0.1.0"), 4, json!("syscost 0.0.9")),
            "run_warnings": own(json!(""), 5, json!("busy disturbed")),
        });
        for (case, operation) in cases
            .iter()
            .enumerate()
            .skip(usize::from(is_last && host == 6))
        {
            let noise = ((host * 7919 + day * 104_729 + case * 31) % 31) as f64 / 1500.0;
            let slow = if host == 2 { 1.35 } else { 1.0 };
            let changed = if case == 0 && host % 2 == 0 && is_new {
                1.2
            } else {
                1.0
            };
            row.as_object_mut()
                .unwrap()
                .extend(run.as_object().unwrap().clone());
            row["operation"] = json!(operation);
            row["error"] = own(json!(null), 7, json!("ENOSYS"));
            row["warnings"] = own(json!(""), 8, json!("lost_cpu"));
            let ns = 100.0 * (case + 1) as f64 * (1.0 + noise) * slow * changed;
            row["median_ns"] = own(json!(ns), 7, json!(null));
            lines += &format!("{row}\n");
        }
    }
    lines
}

fn check(answers: &Value) {
    let of = |question: &str| list(&answers[question]).clone();
    let slow = of("outliers");
    assert!(
        slow.len() == 10 && slow.iter().all(|row| row[6] == "n2"),
        "{slow:?}"
    );
    for (question, at, since_at) in [("upgrades", 7, 10), ("since", 6, 5)] {
        let rows = of(question);
        assert!(
            rows.len() == 1 && rows[0][0] == "file.stat" && rows[0][4] == CPUS[0],
            "{question}: {rows:?}"
        );
        assert!(
            (rows[0][at].as_f64().unwrap() - 1.2).abs() < 0.02,
            "{question}: {rows:?}"
        );
        let days = (rows[0][since_at].as_f64().unwrap() - 1_780_012_800.0) / 86_400.0;
        assert!((6.0..=7.0).contains(&days), "{question}: {days} days");
    }
    assert_eq!(of("spread").len(), 5 * 2 * 2);
    // One of five cases costs 1.2 times as much under the new kernel.
    let kernels = of("kernels");
    let slowest = &kernels[if kernels[0][0] == CPUS[0] { 0 } else { 2 }];
    assert!(kernels.len() == 4 && slowest[1] == "6.12.30", "{kernels:?}");
    for (at, expected) in [(2, 1.2_f64.powf(0.2)), (3, 1.2), (4, 5.0), (5, 20.0)] {
        let found = slowest[at].as_f64().unwrap();
        assert!(
            (found / expected - 1.0).abs() < 0.02,
            "{slowest:?}: {expected}"
        );
    }
    let states = of("nodes")
        .into_iter()
        .filter(|row| row[1] != "ok")
        .map(|row| json!([row[1], row[0]]));
    let expected = [
        ("disturbed", "n5"),
        ("disturbed", "n8"),
        ("failed cases", "n7"),
        ("incomplete", "n3"),
        ("missing", "n40"),
        ("other cases", "n6"),
        ("other version", "n4"),
    ];
    assert_eq!(
        states.collect::<Vec<_>>(),
        expected.map(|(state, node)| json!([state, node]))
    );
}

fn agree(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => a.iter().all(|(key, value)| agree(value, &b[key])),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| agree(a, b))
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= 1e-7 * a.abs().max(b.abs())
        }
        _ => a == b,
    }
}

#[test]
fn engines_find_what_was_planted() {
    let place = Place::new();
    place.write("rows.json", rows(&place));
    place.write("nodes.csv", "node\nn3\nn39\nn40\n");
    let mut first: Option<Value> = None;
    for engine in ["duckdb", "clickhouse", "datafusion", "spark"] {
        let asked = Command::new("python3")
            .arg(root().join("tests/fleet/ask.py"))
            .arg(engine)
            .arg(place.path())
            .output();
        let asked = match asked {
            Err(error) => {
                return skip(&format!("python3: {error}"));
            }
            Ok(asked) if asked.status.code() == Some(77) => {
                skip(&format!("{engine}: {}", stderr(&asked).trim()));
                continue;
            }
            Ok(asked) => asked,
        };
        expect_status(&asked, 0);
        let answers: Value = serde_json::from_slice(&asked.stdout).unwrap();
        println!("{engine} was asked");
        check(&answers);
        let first = first.get_or_insert_with(|| answers.clone());
        assert!(
            agree(&answers, first),
            "{engine}:\n{answers}\nthe first engine's:\n{first}"
        );
    }
}

fn edited(place: &Place, template: &str) -> PathBuf {
    let text = fs::read_to_string(root().join("contrib/fleet").join(template)).unwrap();
    let shared = place.path().join("shared").display().to_string();
    let edits = [
        ("dir=/shared/costs", format!("dir={shared}")),
        ("--study tour", "id.getppid --time 0.1 --no-verify".into()),
    ];
    let text = edits.iter().fold(text, |text, (old, new)| {
        assert!(text.contains(old), "{template}: {old}");
        text.replace(old, new)
    });
    let path = place.path().join(template);
    fs::write(&path, text).unwrap();
    path
}

/// Programs that stand for a launcher's: three nodes, which are this machine. On the third syscost does not run.
const PROGRAMS: [(&str, &str); 6] = [
    (
        "scontrol",
        "[ \"$*\" = 'show hostnames n[1-3]' ] && printf 'n1\\nn2\\nn3\\n'",
    ),
    (
        "srun",
        "while [ \"$1\" != sh ]; do shift; done\nworst=0\n\
         for n in n1 n2 n3; do SLURMD_NODENAME=$n \"$@\" || worst=$?; done\nexit $worst",
    ),
    (
        "nodeset",
        "[ \"$*\" = '-e -S \\n n[1-3]' ] && printf 'n1\\nn2\\nn3\\n'",
    ),
    (
        "clush",
        "while [ \"$1\" != sh ]; do shift; done\nscript=$(cat)\nworst=0\n\
         for n in n1 n2 n3; do printf %s \"$script\" | FAKE_NODE=$n \"$@\" || worst=$?; done\nexit $worst",
    ),
    ("uname", "[ \"$*\" = -n ] && echo \"$FAKE_NODE\""),
    (
        "syscost",
        "case \"$*\" in *node=n3*) echo 'no room here' >&2; exit 7 ;; esac\nexec real-syscost \"$@\"",
    ),
];

fn launched(place: &Place, shell: &str, script: &Path) -> Output {
    let programs = place.path().join("programs");
    fs::create_dir_all(&programs).unwrap();
    for (name, text) in PROGRAMS {
        write_program(&programs.join(name), &format!("#!/bin/sh\n{text}\n"));
    }
    symlink(env!("CARGO_BIN_EXE_syscost"), programs.join("real-syscost")).unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(shell);
    command
        .arg(script)
        .env("PATH", path)
        .env("SLURM_JOB_NODELIST", "n[1-3]")
        .env("SLURM_JOB_NUM_NODES", "3");
    command
        .env("TMPDIR", place.tmp())
        .env("XDG_STATE_HOME", place.path().join("state"))
        .output()
        .unwrap()
}

#[test]
fn a_node_that_fails_keeps_its_own_words() {
    for (shell, template) in [("bash", "slurm.sh"), ("sh", "clush.sh")] {
        let place = Place::new();
        let done = launched(&place, shell, &edited(&place, template));
        expect_error(&done, 7, "n3: exit status 7: see ");
        let shared = place.path().join("shared");
        assert_eq!(
            fs::read_to_string(shared.join("nodes.txt")).unwrap(),
            "n1\nn2\nn3\n",
            "{template}"
        );
        assert_eq!(
            fs::read_to_string(shared.join("nodes/n3.stderr")).unwrap(),
            "no room here\n",
            "{template}"
        );
        let rows = place.printed(place.rows_of("shared"));
        let node = |line: &str| serde_json::from_str::<Value>(line).unwrap()["label_node"].clone();
        let mut nodes: Vec<Value> = rows.lines().map(node).collect();
        nodes.sort_by_key(Value::to_string);
        assert_eq!(nodes, ["n1", "n2"], "{template}");
    }
}

#[test]
fn templates_in_yaml_start_a_run() {
    let words = "import json, shlex, sys, yaml\n\
                 job = yaml.safe_load(open(sys.argv[1] + '/kubernetes.yaml'))\n\
                 pod = job['spec']['template']['spec']['containers'][0]['command']\n\
                 play = yaml.safe_load(open(sys.argv[1] + '/ansible.yaml'))[0]\n\
                 task = [task for task in play['tasks'] if task['name'] == 'run'][0]\n\
                 shell = task['ansible.builtin.shell']['cmd'].split('<')[0]\n\
                 print(json.dumps([pod, shlex.split(shell)[4:]]))";
    let read = Command::new("python3")
        .args(["-c", words])
        .arg(root().join("contrib/fleet"))
        .output();
    let read = match read {
        Ok(read) if read.status.success() => read,
        Ok(read) if !stderr(&read).contains("No module named 'yaml'") => {
            panic!("{}", stderr(&read))
        }
        _ => {
            return skip("python3 with yaml is not installed");
        }
    };
    let commands: Vec<Vec<String>> = serde_json::from_slice(&read.stdout).unwrap();
    for command in commands {
        let parsed = Arguments::command().try_get_matches_from(&command);
        assert!(
            parsed.is_ok_and(|parsed| parsed.subcommand_name() == Some("run")),
            "{command:?}"
        );
    }
}

/// `nodes.sql` asks for the label that launchers set; runs without labels have it too.
#[test]
fn rows_without_labels_have_what_the_questions_name() {
    let printed = Place::with_run().printed("show run.json --format rows");
    let row: Value = serde_json::from_str(printed.lines().next().unwrap()).unwrap();
    let question = fs::read_to_string(root().join("contrib/fleet/nodes.sql")).unwrap();
    expect_in(question, "label_node");
    assert_eq!(row.get("label_node"), Some(&Value::Null), "{row}");
}
