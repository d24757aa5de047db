//! The page about many hosts.

use super::*;

/// Rows of 40 hosts over 14 days, on two processors. On the third host everything costs 1.35 times as much; on one of the
/// processors `file.stat` costs 1.2 times as much from the upgrade on the eighth day.
fn fleet_rows(names: impl Fn(usize) -> String) -> String {
    let (cases, cpus) = (["file.stat", "file.open", "time.now", "io.read", "id.getppid"], ["Xeon 8481C", "EPYC 9B14"]);
    let mut lines = String::new();
    for (host, day, case) in
        (0..40usize).flat_map(|h| (0..14usize).flat_map(move |d| (0..5usize).map(move |c| (h, d, c))))
    {
        let (is_new, noise) = (day >= 7, ((host * 7919 + day * 104_729 + case * 31) % 31) as f64 / 1500.0);
        let slow = if host == 2 { 1.35 } else { 1.0 };
        let changed = if case == 0 && host % 2 == 0 && is_new { 1.2 } else { 1.0 };
        let row = json!({
            "schema": "syscost.row/1", "run_id": format!("{host}-{day}"), "host": names(host), "cpu": cpus[host % 2],
            "started_unix_s": 1_780_000_000 + day * 86_400, "kernel": if is_new { "6.12.30" } else { "6.1.90" },
            "label_pool": names(host % 3), "operation": cases[case], "params": "", "environment": "native", "language": "",
            "status": "ok", "median_ns": 100.0 * (case + 1) as f64 * (1.0 + noise) * slow * changed, "block_ns": [1.0],
        });
        lines += &format!("{row}\n");
    }
    lines
}

/// The page of a directory with these files.
fn fleet_page(place: &Place, files: &[(&str, &str)], further: &[&str]) -> std::process::Output {
    fs::create_dir(place.path().join("fleet")).unwrap();
    files.iter().for_each(|(name, text)| fs::write(place.path().join("fleet").join(name), text).unwrap());
    place.run(&[&["report", "fleet", "-o", "-"], further].concat())
}

#[test]
fn a_directory_has_the_page_of_its_hosts() {
    let place = Place::new();
    let output = fleet_page(&place, &[("rows.jsonl", &fleet_rows(|host| format!("node-{host:02}")))], &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    let html = stdout(&output);
    after(
        &html,
        &["40 hosts", "560 runs of 5 cases", "node-02: 10 cases", "file.stat", "6.1.90 to 6.12.30", "since 2026-06-04"],
    );
    browse_page("fleet", &place, &html);
}

#[test]
fn hostile_hosts_and_labels_stay_text() {
    let place = Place::new();
    let rows = fleet_rows(|host| format!("{}{host}", HOSTILE[host % HOSTILE.len()]));
    let output = fleet_page(&place, &[("rows.jsonl", &rows)], &["--group-by", "label_pool"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let html = stdout(&output);
    assert!(html.contains("&lt;/script&gt;") && !html.contains("<img") && !html.contains("<iframe"));
    browse_page("hostile-fleet", &place, &html);
}

#[test]
fn files_of_a_directory_that_cannot_be_read_are_named_and_skipped() {
    let place = Place::new();
    let (rows, run) = (fleet_rows(|host| format!("n{host}")), golden().to_string());
    let half = &run[..run.len() / 2];
    let files = [
        ("a.jsonl", rows.as_str()),
        ("b.json", half),
        ("c.json", "{}"),
        ("d.jsonl", "not rows"),
        ("e.json", &run),
        ("f.txt", ""),
    ];
    let output = fleet_page(&place, &files, &[]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    for name in ["b.json", "c.json", "d.jsonl"] {
        assert!(
            stderr(&output).contains(&format!("skipped: fleet/{name}")) && stdout(&output).contains(name),
            "{}",
            stderr(&output)
        );
    }
    let html = stdout(&output);
    assert!(html.contains("41 hosts") && html.contains("2 files read, 3 skipped"));
    let output = place.run(&["report", "fleet", "--group-by", "median_ns"]);
    assert_eq!(
        (output.status.code(), stderr(&output).contains("no column 'median_ns'")),
        (Some(2), true),
        "{}",
        stderr(&output)
    );
    fs::create_dir(place.path().join("empty")).unwrap();
    fs::write(place.path().join("empty/x.json"), "{").unwrap();
    let output = place.run(&["report", "empty"]);
    assert_eq!((output.status.code(), stderr(&output).lines().count()), (Some(1), 2), "{}", stderr(&output));
}
