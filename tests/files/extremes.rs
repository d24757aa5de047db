//! Files with the largest, smallest and emptiest numbers that they may hold, through every table: nothing panics, and no
//! figure is NaN or infinite. What may not be in a file is refused in one line.

use crate::common::*;
use crate::hostile;
use crate::shaken::Shaker;

const COMMANDS: [&str; 25] = [
    "show a.json",
    "show a.json --format csv",
    "show a.json --format json",
    "show a.json --format markdown --sort cost",
    "show a.json --view cmpthese",
    "show a.json --view latency",
    "show p.json",
    "show p.json --by class --format csv",
    "show p.json --format json",
    "compare a.json b.json",
    "compare a.json b.json --format csv",
    "compare a.json b.json --format json",
    "show a.json --format go-benchmark",
    "report a.json -o -",
    "report a.json b.json -o -",
    "report a.json b.json --format svg -o -",
    "report a.json b.json --format svg --figure ratios -o -",
    "report a.json --format svg --figure latency -o -",
    "report a.json --format svg --figure fit -o -",
    "report p.json -o -",
    "report p.json --format svg --figure latency -o -",
    "why p.json",
    "why p.json --costs a.json --versus b.json",
    "why p.json --costs a.json --versus b.json --format csv",
    "why p.json --costs a.json --versus b.json --format json",
];

/// A page without its scripts, whose language has such words.
fn without_scripts(text: &str) -> String {
    let kept = |part: &str| {
        part.split_once("</script>")
            .map_or(part, |(_, rest)| rest)
            .to_string()
    };
    text.split("<script").map(kept).collect()
}

fn no_figure(text: &str) -> Option<&str> {
    let is_none =
        |word: &str| ["nan", "inf", "infinity"].contains(&word.to_ascii_lowercase().as_str());
    text.lines().find(|line| {
        line.split(|c: char| !c.is_ascii_alphanumeric())
            .any(is_none)
    })
}

fn check(place: &Place, line: &str) {
    let output = place.run(line);
    let (text, errors) = (without_scripts(&stdout(&output)), stderr(&output));
    let status = output.status.code();
    assert!(
        matches!(status, Some(0..=2)),
        "{line}: {status:?}: {errors}"
    );
    assert!(errors.lines().count() <= 1, "{line}: {errors}");
    assert_eq!(no_figure(&text), None, "{line}");
    let lost = |line: &&str| {
        line.contains("on CPU for") && (line.contains("for 0%") || line.contains("(0%)"))
    };
    assert_eq!(text.lines().find(lost), None, "{line}");
}

#[test]
fn what_a_file_may_hold_can_be_shown() {
    let place = Place::new();
    let runs = [
        hostile::files::run(),
        parsed(RUN),
        parsed("published/linux-2.6.32.json"),
    ];
    let profiles = ["traced", "detailed"].map(|name| parsed(&format!("tests/profile/{name}.json")));
    let (mut shaker, mut shown) = (Shaker::new(1), 0);
    // The later, the less is shaken.
    let first = if cfg!(feature = "heavy") { 0 } else { 40 };
    for i in first..80 {
        let (run, profile) = (&runs[i % 3], &profiles[i % 2]);
        let refused =
            [("a.json", run), ("b.json", run), ("p.json", profile)].map(|(name, sound)| {
                let path = place.path().join(name);
                fs::write(&path, shaker.shaken(sound, 2 + i as u32 / 2).to_string()).unwrap();
                if name == "p.json" {
                    store::read_profile(&path).err()
                } else {
                    store::read(&path).err()
                }
            });
        refused
            .iter()
            .flatten()
            .for_each(|error| assert_eq!(error.to_string().lines().count(), 1, "{error}"));
        if refused.iter().all(Option::is_none) {
            shown += 1;
            COMMANDS.iter().for_each(|line| check(&place, line));
        }
    }
    assert!(shown > 1, "only {shown} were not refused");
}

/// The places of the first number under each name.
fn numbers(value: &Value, place: &str, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Array(all) => {
            (0..all.len()).for_each(|i| numbers(&all[i], &format!("{place}/{i}"), found))
        }
        Value::Object(all) => all
            .iter()
            .for_each(|(name, one)| numbers(one, &format!("{place}/{name}"), found)),
        Value::Number(_) => {
            let name = place
                .rsplit('/')
                .find(|part| part.parse::<usize>().is_err());
            let name = name.unwrap_or_default().to_string();
            found.entry(name).or_insert(place.to_string());
        }
        _ => {}
    }
}

#[test]
fn a_number_that_overflows_is_refused_or_shown() {
    let place = Place::new();
    let raced = place.run("race true --versus true --runs 5 --no-counts --out race.json");
    expect_status(&raced, 0);
    let files = [
        place.parsed("race.json"),
        parsed(RUN),
        parsed("tests/profile/traced.json"),
    ];
    for sound in files {
        let mut found = BTreeMap::new();
        numbers(&sound, "", &mut found);
        assert!(found.len() > 5, "{found:?}");
        for (name, pointer) in found {
            for number in [1e308, 1e-308] {
                let mut file = sound.clone();
                *file.pointer_mut(&pointer).unwrap() = number.into();
                fs::write(place.path().join("x.json"), file.to_string()).unwrap();
                let output = place.run("show x.json");
                let text = stdout(&output);
                assert_eq!(no_figure(&text), None, "{name} is {number:e}");
                assert!(stderr(&output).lines().count() <= 1, "{name} is {number:e}");
            }
        }
    }
}
