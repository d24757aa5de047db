//! Named snippets: how their names are given, and the ratios that a run with names has.

use crate::common::*;
use measure::plan::{Subject, Surroundings, subjects};
use model::Case;

fn cases(words: &[&str]) -> Result<Vec<Case>, String> {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    let found = subjects(&[], &words, &Surroundings::default());
    let case = |subject| match subject {
        Subject::Snippet(case) => case,
        Subject::Operation(_) => unreachable!("no word is an operation"),
    };
    let found = found.map_err(|error| format!("{error:#}"))?;
    Ok(found.into_iter().map(case).collect())
}

#[test]
fn a_name_stands_before_the_language() {
    let long = "BASE=c:int x=1; getppid()";
    for (word, name, language, code) in [
        (long, Some("BASE"), "c", "int x=1; getppid()"),
        ("_a.b-2=perl:time()", Some("_a.b-2"), "perl", "time()"),
        ("c:int x = f(y ? 1 : 2)", None, "c", "int x = f(y ? 1 : 2)"),
        ("EMPTY=c:", Some("EMPTY"), "c", ""),
    ] {
        let named = Case {
            name: name.map(str::to_string),
            ..Case::snippet(language, code)
        };
        assert_eq!(cases(&[word]).unwrap(), [named], "{word}");
    }
}

#[test]
fn names_are_plain_and_each_is_given_once() {
    let (plain, twice) = (
        "a snippet's name is a letter or _",
        "two rows would be called 'A'",
    );
    for (words, part) in [
        (&["2=c:x"][..], plain),
        (&["=c:x"], plain),
        (&["a b=c:x"], plain),
        (&["A=c:x", "A=c:y"], twice),
        (&["A=c:x", "c:A"], twice),
        (&["A=cobol:x"], "there is no language 'cobol'"),
    ] {
        let error = cases(words).unwrap_err();
        assert!(error.contains(part), "{words:?}: {error}");
    }
    assert_eq!(cases(&["A=c:x", "B=c:x", "c:x", "c:x"]).unwrap().len(), 4);
}

/// A run whose first records have these names.
fn with_names(names: &[Option<&str>]) -> Place {
    let (place, mut run) = (Place::new(), parsed(RUN));
    for (record, name) in run["records"].as_array_mut().unwrap().iter_mut().zip(names) {
        if let Some(name) = name {
            (record["name"], record["language"]) = ((*name).into(), "c".into());
        }
    }
    place.write("run.json", run.to_string());
    place
}

#[test]
fn each_is_divided_by_the_first_and_all_rows_by_the_only_one() {
    let ratios = |names: &[Option<&str>]| -> Vec<String> {
        let document = with_names(names).document("show run.json");
        let rows = list(&document["derived"]).iter();
        rows.map(|row| row["name"].as_str().unwrap().to_string())
            .collect()
    };
    let several = ratios(&[None, Some("A"), Some("B"), None, Some("C")]);
    assert_eq!(several, ["B / A", "C / A"]);
    let one = ratios(&[None, Some("A")]);
    assert_eq!(one[..2], ["call.getpid / A", "time.clock_gettime / A"]);
    assert_eq!(ratios(&[]), [""; 0]);
}

/// As `run 'BASE=c:...' 'HEAD=c:...' 'MORE=c:...'` writes it.
#[test]
fn named_snippets_are_compared_with_the_first() {
    let place = with_names(&[None, None, Some("BASE"), None, Some("HEAD"), Some("MORE")]);
    let cases = [
        ("named", 120, "show run.json"),
        ("named-compared", 80, "compare run.json"),
    ];
    place.prints("tests/golden/show-*.txt", &cases);
    let derived = &place.document("show run.json")["derived"];
    let names = ["HEAD / BASE", "MORE / BASE"];
    for (row, name) in list(derived).iter().zip(names) {
        assert_eq!(
            (&row["name"], &row["kind"]),
            (&name.into(), &"ratio".into())
        );
        assert!(row["verdict"].is_string(), "{row}");
    }
    let gate = place.run("compare run.json --fail-over 3%");
    expect_status(&gate, 1);
    expect_in(stderr(&gate), "MORE / BASE makes more kernel entries");
}

#[test]
fn snippets_with_one_name_or_nothing_to_judge_are_refused() {
    Place::new().refusals(
        "names",
        "run",
        &[
            "A=c:getppid() A=perl:getppid()",
            "2=c:getppid()",
            "A=c:getppid() --fail-over 3%",
            "getppid umask --fail-on-entries",
        ],
    );
}
