//! The adapters of contrib/benchmarks, each with its real library: a call that is planted into one of twenty benchmarks is found in
//! that one.

use crate::common::*;

const PLANTED: &str = "b07";

/// The twenty benchmarks of a library, ready to run.
struct Benchmarks {
    library: &'static str,
    home: PathBuf,
    place: Place,
}

impl Benchmarks {
    fn built(library: &'static str) -> Option<Benchmarks> {
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
        let home = cache.unwrap_or_default().join("syscost-benchmarks");
        if !home.join(library).join("fetched").exists() {
            skip(&format!(
                "{library} is not there: .ci/benchmarks {} fetches it",
                home.display()
            ));
            return None;
        }
        let benchmarks = Benchmarks {
            library,
            home,
            place: Place::new(),
        };
        let mut build = Command::new("bash");
        build.args(benchmarks.words("build").words());
        expect_status(&build.output().unwrap(), 0);
        Some(benchmarks)
    }

    fn words(&self, verb: &str) -> String {
        let script = file("tests/benchmarks/library");
        format!("{script} {verb} {} {}", self.library, self.home.display())
    }

    /// Traces a run of them into the file `name`; how often each calls `stat` and the like, by iteration.
    fn stats(&self, name: &str, planted: &str) -> Vec<(String, f64)> {
        let trace = format!("trace --counts -o {name} -- bash");
        let mut command = self.place.command((trace, self.words("run")));
        let output = command.env("PLANTED", planted).output().unwrap();
        expect_status(&output, 0);
        let profile: Value = serde_json::from_str(&self.place.read(name)).unwrap();
        let of_section = |section: &Value| {
            let iterations = section["iterations"].as_f64().unwrap();
            assert!(iterations >= 20.0, "{section:#}");
            let calls = list(&section["calls"]).iter();
            let calls = calls.filter(|call| call["call"].as_str().unwrap().contains("stat"));
            let number: f64 = calls.map(|call| call["calls"].as_f64().unwrap()).sum();
            (
                section["name"].as_str().unwrap().into(),
                number / iterations,
            )
        };
        list(&profile["sections"]).iter().map(of_section).collect()
    }

    fn compare(&self, base: &str, head: &str) -> Output {
        let line = format!("compare {base} {head} --fail-on-entries");
        self.place.run(line)
    }
}

fn finds_the_planted_call(library: &'static str) {
    let benchmarks = needs!(Benchmarks::built(library));
    let base = benchmarks.stats("base.profile.json", "");
    assert_eq!(base.len(), 20, "{base:?}");
    assert_eq!(benchmarks.stats("again.profile.json", ""), base);
    let output = benchmarks.compare("base.profile.json", "again.profile.json");
    expect_status(&output, 0);

    let head = benchmarks.stats("head.profile.json", PLANTED);
    let more = |(name, number): &(String, f64)| {
        let planted = f64::from(name.contains(PLANTED));
        (name.clone(), number + planted)
    };
    assert_eq!(head, base.iter().map(more).collect::<Vec<_>>());
    let output = benchmarks.compare("base.profile.json", "head.profile.json");
    expect_status(&output, 1);
    let message = stderr(&output);
    for (name, _) in &base {
        assert_eq!(message.contains(name), name.contains(PLANTED), "{message}");
    }
}

#[test]
#[cfg_attr(not(feature = "heavy"), ignore = "heavy")]
fn criterion() {
    finds_the_planted_call("criterion");
}

#[test]
fn divan() {
    finds_the_planted_call("divan");
}

#[test]
fn pytest_benchmark() {
    finds_the_planted_call("pytest");
}

#[test]
#[cfg_attr(not(feature = "heavy"), ignore = "heavy")]
fn go_test() {
    finds_the_planted_call("go");
}

#[test]
#[cfg_attr(not(feature = "heavy"), ignore = "heavy")]
fn google_benchmark() {
    finds_the_planted_call("google-benchmark");
}

#[test]
#[cfg_attr(not(feature = "heavy"), ignore = "heavy")]
fn mitata() {
    finds_the_planted_call("node");
}

#[test]
#[cfg_attr(not(feature = "heavy"), ignore = "heavy")]
fn jmh() {
    finds_the_planted_call("jmh");
}
