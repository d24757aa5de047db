//! What pages show of several environments, runs and profiles.

use super::*;

/// The golden run with each of its records in a second environment too, where costs are higher.
fn environments_run() -> Value {
    let mut run = golden();
    let records = run["records"].as_array_mut().unwrap();
    let mut filtered: Vec<Value> = records
        .iter()
        .map(|record| scaled_where_measured(record, 1.5))
        .collect();
    filtered
        .iter_mut()
        .for_each(|record| record["environment"] = json!("filter"));
    records.extend(filtered);
    run
}

fn scaled_where_measured(record: &Value, factor: f64) -> Value {
    if record["samples"].is_null() {
        record.clone()
    } else {
        scaled(record, factor)
    }
}

#[test]
fn environments_open_with_what_they_add_and_name_operations_once() {
    let place = Place::new();
    let html = page(&place, &[&save(&place, "two.json", &environments_run())]);
    after(
        &html,
        &[
            "<h1>What system calls cost in native, filter</h1>",
            "What does each environment add to a system call?",
            "<caption>What id.getppid takes in each environment",
            ">filter</th>",
            "<caption>Costs, all figures",
            ">filter ns/op</th>",
            ">samples, filter</th>",
        ],
    );
    assert!(html.contains("Cost divided by that of native"));
}

#[test]
fn environments_in_a_browser() {
    browse("environments", &[environments_run()]);
}

#[test]
fn comparisons_draw_the_samples_and_intervals_of_both() {
    let place = Place::new();
    let (one, two) = (
        save(&place, "one.json", &golden()),
        save(&place, "two.json", &other_run(1.5)),
    );
    let html = page(
        &place,
        &[&one, &two, "--label", "before", "--label", "after"],
    );
    let rows = html
        .split("class=\"over cell\"")
        .skip(1)
        .collect::<Vec<_>>();
    assert!(rows.len() > 3, "{}", rows.len());
    for row in rows {
        let drawing = row.split("</td>").next().unwrap();
        assert_eq!(
            (
                drawing.matches("<path").count(),
                drawing.matches("<circle").count()
            ),
            (2, 2),
            "{drawing}"
        );
    }
    assert!(html.contains("samples and intervals</th>"));
}

/// The profile after a change: other numbers, and a function that is new.
fn changed_profile() -> Value {
    let mut changed = profile();
    let stacks = changed["stacks"].as_array_mut().unwrap();
    let mut new = stacks[0].clone();
    new["frames"] = json!(["main", "brand_new_function"]);
    new["calls"] = json!(5000);
    stacks[1]["calls"] = json!(1);
    stacks.push(new);
    changed
}

fn two_profiles(place: &Place, further: &[&str]) -> String {
    let (one, two) = (
        save(place, "before.json", &profile()),
        save(place, "after.json", &changed_profile()),
    );
    page(
        place,
        &[
            &[one.as_str(), &two, "--label", "before", "--label", "after"],
            further,
        ]
        .concat(),
    )
}

#[test]
fn two_profiles_have_a_page_of_what_changed() {
    let place = Place::new();
    let html = two_profiles(&place, &[]);
    after(
        &html,
        &[
            "<h1>From before to after</h1>",
            "Where 2.40 s of wall time went",
            "calls before",
            "What changed, by calls",
        ],
    );
    assert!(html.contains("class=\"change more2\"") && html.contains("class=\"change less2\""));
    assert!(html.contains("brand_new_function: 0 calls before, 5,000 calls after (+5,000 calls)"));
    let svg = two_profiles(
        &place,
        &[
            "--format", "svg", "--figure", "stacks", "--weight", "blocked",
        ],
    );
    assert!(svg.starts_with("<?xml") && svg.contains("What changed, by time blocked in calls"));
    refused(
        &place,
        &["before.json", "after.json", "--format", "svg"],
        2,
        "add --figure stacks",
    );
    refused(
        &place,
        &["before.json", "after.json", "--only", "io"],
        2,
        "not for two profiles",
    );
}

#[test]
fn two_profiles_in_a_browser() {
    let place = Place::new();
    browse_page("profiles-brief", &place, &two_profiles(&place, &[]));
}

#[test]
fn tables_of_profiles_are_those_of_show_and_sums_stay_last() {
    let place = Place::new();
    let html = page(&place, &[&save(&place, "profile.json", &profile())]);
    for text in [
        "waiting for disk: fdatasync",
        ">on CPU s</th>",
        ">runnable s</th>",
        ">blocked s</th>",
    ] {
        assert!(html.contains(text), "{text}");
    }
    let calls = html.split("<caption>System calls<").nth(1).unwrap();
    let calls = calls.split("</table>").next().unwrap();
    after(
        calls,
        &[
            ">pwrite64<",
            ">fdatasync<",
            ">clone<",
            "<tr><th scope=\"row\">total<",
        ],
    );
}

/// The golden run three times, the last one slower.
fn three_runs() -> Value {
    let mut run = golden();
    let records = run["records"].as_array_mut().unwrap();
    records.retain(|record| !record["samples"].is_null());
    let repeat = |factor: f64| {
        let results: Vec<Value> = records
            .iter()
            .map(|record| json!({"samples": scaled(record, factor)["samples"]}))
            .collect();
        json!({"started_unix_s": 1_800_000_000, "seed": 1, "elapsed_s": 1.0, "host": golden()["host"], "warnings": [],
            "results": results})
    };
    let repeats = [repeat(1.0), repeat(1.8)];
    run["repeats"] = json!(repeats);
    run["labels"] = json!({"pool": "web"});
    run
}

#[test]
fn single_runs_are_shown() {
    let place = Place::new();
    let html = page(&place, &[&save(&place, "runs.json", &three_runs())]);
    after(&html, &["<caption>Each run", ">run 1</th>", ">run 3</th>"]);
    assert!(
        html.contains("<p class=\"sub\">") && html.contains("pool=web; 3 runs; "),
        "{html}"
    );
}

#[test]
fn several_runs_in_a_browser() {
    browse("runs", &[three_runs()]);
}
