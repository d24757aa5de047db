//! Studies as their authors and users meet them: mistakes are told with line, key and what is allowed; those that are part
//! of the tool parse, name what exists, and hold where they can be run.

use crate::common::*;
use measure::plan::{Choices, Study};
use measure::runner::{Environment, Fixture, Language, RunDirectory, read_catalogue};

const HEAD: &str = "title = \"t\"\n";

fn message(text: &str) -> String {
    Study::parse("x", "studies/x.toml", &format!("{HEAD}{text}"))
        .unwrap_err()
        .to_string()
}

#[test]
fn mistakes_name_file_line_key_and_what_is_allowed() {
    let c = "[[case]]\nname = \"a\"\n";
    let texts = [
        "titel = \"x\"",
        &format!("{c}langage = \"c\""),
        &format!("{c}language = \"cobol\"\nbody = \"x\""),
        &format!("{c}operation = 5"),
        &format!("{c}body = \"x\""),
        "[[case]]\noperation = \"id.umask\"",
        "patterns = [\"id\"]\nenvironments = [\"m64\"]",
        "patterns = [\"id\"]\nviews = [\"table\", \"pie\"]",
        "patterns = [\"id\"]\n[scale]\ncalls = 5\nunit = \"h\"",
        "patterns = [\"id\"]\n[[derived]]\nname = \"d\"",
        &format!("{c}operation = \"id.umask\"\nentries = \"umask\""),
        "patterns = [\"id\"]\n[[fixture]]\nfile = \"f\"\nsize = \"{size}\"",
        "patterns = [\"id\"]\n[[fixture]]\nfile = \"../f\"\nsize = 1",
        "question = \"?\"",
        "patterns = [\"id\"]\n[parameters]\nsize = \"4X\"",
    ];
    // Adding a language or an environment changes no golden file.
    let languages: Vec<_> = Language::all()
        .unwrap()
        .iter()
        .map(|l| l.name.clone())
        .collect();
    let (languages, environments) = (languages.join(", "), Environment::names().join(", "));
    let messages = texts.map(|text| {
        let message = message(text).replace(&languages, "LANGUAGES");
        message.replace(&environments, "ENVIRONMENTS")
    });
    expect_mistakes("study", &messages);
    expect_start(message("patterns = ["), "studies/x.toml:2: ");
}

#[test]
fn what_only_the_catalogue_knows_is_told_with_its_line_too() {
    let catalogue = read_catalogue(&RunDirectory::create().unwrap().probe()).unwrap();
    let plan = |text: &str| {
        let study = Study::parse("x", "x.toml", &format!("{HEAD}{text}")).unwrap();
        study
            .plan(&catalogue, &Choices::default())
            .unwrap_err()
            .to_string()
    };
    let umask = "[[case]]\nname = \"a\"\noperation = \"id.umask\"\n";
    assert!(
        plan("[[case]]\nname = \"a\"\noperation = \"id.umaks\"")
            .starts_with("x.toml:4: key 'operation': no operation")
    );
    assert!(plan("patterns = [\"nothing\"]").starts_with("x.toml:2: key 'patterns': no operation"));
    assert_eq!(
        plan(&format!("{umask}params = {{ depth = 1 }}")),
        "x.toml:5: parameter 'depth' is in no case here; allowed: none"
    );
    let derived = format!("{umask}[[derived]]\nratio = [\"a\", \"b\"]");
    assert_eq!(
        plan(&derived),
        "x.toml:5: key 'derived': unknown value 'b'; allowed: a"
    );
}

#[test]
fn an_unknown_study_is_told_which_there_are() {
    let error = Study::find("toru").unwrap_err().to_string();
    let start = format!(
        "there is no study 'toru'; available: {}; ",
        Study::names().join(", ")
    );
    assert!(error.starts_with(&start), "{error}");
}

#[test]
fn a_study_of_too_many_cases_is_refused() {
    let text = "title = 'x'\n[parameters]\na = '1..200+1'\nb = '1..200+1'\nc = '1..200+1'\n[[case]]\nname = 'a'\n\
                language = 'c'\nbody = '{a}{b}{c}'\nenvironments = ['native', 'static']\n[[case]]\nname = 'b'\nlanguage = \
                'c'\nbody = '{a}'\n";
    let study = Study::parse("x", "x.toml", text).unwrap();
    let error = study
        .plan(&[], &Choices::default())
        .unwrap_err()
        .to_string();
    expect_start(&error, "these are 16000200 cases, more than 10000: ");
    let settings = ["b", "c"].map(|name| format!("{name}=1").parse().unwrap());
    let fewer = Choices {
        settings: &settings,
        ..Choices::default()
    };
    assert_eq!(
        study.plan(&[], &fewer).unwrap().planned.len(),
        600 + 2,
        "and the empty loops"
    );
}

#[test]
fn every_study_names_what_exists() {
    let catalogue = read_catalogue(&RunDirectory::create().unwrap().probe()).unwrap();
    for name in Study::names() {
        let study = Study::find(&name).unwrap();
        let plan = study.plan(&catalogue, &Choices::default()).unwrap();
        assert!(plan.planned.len() > 5, "{name}");
        assert!(
            !study.view.title.is_empty() && !study.view.question.is_empty(),
            "{name}"
        );
    }
}

#[test]
fn parameters_environments_and_fixtures_multiply_cases() {
    let catalogue = read_catalogue(&RunDirectory::create().unwrap().probe()).unwrap();
    let study = Study::find("perlio").unwrap();
    let names = |settings: &[&str]| {
        let settings: Vec<_> = settings.iter().map(|s| s.parse().unwrap()).collect();
        let plan = study
            .plan(
                &catalogue,
                &Choices {
                    settings: &settings,
                    ..Choices::default()
                },
            )
            .unwrap();
        let cases: Vec<String> = plan
            .planned
            .iter()
            .map(|p| p.case.to_string())
            .filter(|c| c.contains('='))
            .collect();
        (cases, plan.fixtures)
    };
    let (cases, fixtures) = names(&[]);
    assert!(
        cases.contains(&"mmap size=4M".to_string()) && !cases.contains(&"raw size=4M".to_string()),
        "{cases:?}"
    );
    assert_eq!(fixtures.len(), 7);
    let (cases, fixtures) = names(&["size=16M,64M"]);
    let of_large_files = ["none", "perlio", "mmap"];
    let expected =
        of_large_files.map(|name| ["16M", "64M"].map(|size| format!("{name} size={size}")));
    assert_eq!(
        cases,
        expected.concat(),
        "raw and unix end at 256K, as in the article"
    );
    assert_eq!(fixtures.len(), 2);
    let (cases, fixtures) = names(&["size=2K"]);
    let names = ["none", "perlio", "mmap", "raw", "unix"];
    assert_eq!(cases, names.map(|name| format!("{name} size=2K")));
    assert_eq!(
        fixtures,
        [Fixture::File {
            name: "lines-2048".into(),
            size: 2048,
            line_length: 64
        }]
    );
}

#[test]
fn a_study_can_be_measured_in_another_environment() {
    let catalogue = read_catalogue(&RunDirectory::create().unwrap().probe()).unwrap();
    let locking = Study::find("locking")
        .unwrap()
        .plan(
            &catalogue,
            &Choices {
                environments: &["native".into()],
                ..Choices::default()
            },
        )
        .unwrap();
    assert!(
        locking
            .planned
            .iter()
            .all(|p| p.case.environment == "native")
    );
}

/// Each named case of a study, with its body.
fn bodies(study: &str) -> BTreeMap<String, String> {
    let catalogue = read_catalogue(&RunDirectory::create().unwrap().probe()).unwrap();
    let plan = Study::find(study)
        .unwrap()
        .plan(&catalogue, &Choices::default())
        .unwrap();
    let cases = plan.planned.into_iter().map(|planned| planned.case);
    cases
        .filter_map(|case| Some((case.name?, case.operation)))
        .collect()
}

#[test]
fn bodies_of_perl_studies_are_those_of_their_articles() {
    let expected = [
        ("ArrayRef", "my $x = [42]"),
        ("eval", "eval ''"),
        ("for/1", "for my $i (42) {}"),
        ("open", "open my $fh, '<', __FILE__ or die $!"),
        ("stat", "my @st = stat(__FILE__) or die $!"),
        ("time", "my $x = time()"),
    ];
    let expected = expected.map(|(name, body)| (name.to_string(), body.to_string()));
    assert_eq!(bodies("perl-ops"), expected.into());
    // The comparison is a statement with a modifier: `while (my $line = <$fh>)` would make a scope for each line.
    let all = bodies("perlio");
    assert_eq!(all.len(), 5);
    for (name, body) in all {
        let layer = match name.as_str() {
            "none" => "<".to_string(),
            layer => format!("<:{layer}"),
        };
        let lines = [
            &format!("open my $fh, '{layer}', $file or die \"$file: $!\";"),
            "$_ eq $expected or die \"$file: line $. differs\" while <$fh>;",
            "close $fh;",
        ];
        assert_eq!(body.trim(), lines.join("\n"), "{name}");
    }
}

/// The article's 15 minutes are those of the way into the kernel and back, and those of the work.
#[test]
fn the_words_about_kill_are_the_figures_of_the_article() {
    let text = fs::read(root().join("published/locking-2007.json")).unwrap();
    let published: Value = serde_json::from_slice(&text).unwrap();
    let ns = |name: &str| {
        let mut records = list(&published["records"]).iter();
        let found = records.find(|record| record["name"] == name).unwrap();
        found["figure"]["ns_per_op"].as_f64().unwrap()
    };
    // Of a billion iterations with two calls each.
    let minutes = |ns: f64| ns / 60.0;
    let (kill, gate) = (ns("kill"), ns("int 0x80"));
    let study = fs::read_to_string(root().join("studies/locking.toml")).unwrap();
    let words = study.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        format!("Why did kill take {} minutes?", minutes(kill)),
        format!("took {} by int $0x80", minutes(gate)),
        format!(
            "the other {} minutes, {} ns a call",
            minutes(kill - gate),
            (kill - gate) / 2.0
        ),
    ] {
        expect_in(&words, expected.as_str());
    }
    expect_in(&words, "difference = [\"kill(self, 0)\", \"libc getpid\"]");
}

/// Runs a study for a moment; `None`, said loudly, where the program of one of its languages is missing.
fn run(place: &Place, study: &str, more: impl Line) -> Option<Value> {
    for language in Study::find(study).unwrap().languages() {
        if let Err(missing) = Language::find(language).unwrap().program() {
            skip(&format!("{study}: {missing:#}"));
            return None;
        }
    }
    let line = format!("run --study {study} --time 0.5 --format json");
    let output = place.run((line, more));
    assert!(
        matches!(output.status.code(), Some(0 | 3)),
        "{study}: {:?} {}",
        output.status,
        stderr(&output)
    );
    Some(json(&output))
}

fn unmet(run: &Value) -> Vec<String> {
    let records = list(&run["records"]).iter();
    let warnings = records.flat_map(|r| {
        list(&r["warnings"])
            .iter()
            .map(move |w| format!("{}: {w}", r["name"]))
    });
    warnings
        .filter(|warning| warning.contains("is declared"))
        .collect()
}

#[test]
fn clock_calls_and_locking_enter_the_kernel_as_they_expect() {
    for study in ["clock-calls", "locking"] {
        let Some(run) = run(&Place::new(), study, "--env native") else {
            continue;
        };
        assert_eq!(run["study"]["name"], study);
        if cfg!(target_arch = "x86_64") {
            assert_eq!(unmet(&run), [] as [String; 0], "{study}");
        }
        assert!(!list(&run["derived"]).is_empty());
        assert!(run["study"]["scales"][0]["calls"].as_u64().is_some());
    }
}

#[test]
fn perl_ops_runs_on_its_fixture_and_shows_the_same_from_the_file() {
    let place = Place::new();
    let run = needs!(run(&place, "perl-ops", "--out run.json"));
    let records = list(&run["records"]);
    let names: Vec<&str> = records
        .iter()
        .map(|r| r["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["eval", "open", "stat", "for/1", "ArrayRef", "time"]);
    assert!(
        records.iter().all(|r| r["median_ns"].as_f64().is_some()),
        "{records:#?}"
    );
    let shown = place.document("show run.json");
    assert_eq!(
        (&shown["study"], &shown["records"]),
        (&run["study"], &run["records"])
    );
}
