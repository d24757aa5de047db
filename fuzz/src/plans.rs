//! What people write: studies, parameters, patterns, declarations of kernel entries; and the probe's catalogue.

use super::text;
use measure::plan::{Choices, Setting, Study, Surroundings, select, subjects};
use measure::runner::parse_catalogue;
use model::pattern::{Pattern, matching};
use model::{Entries, Expectation, parse_size};
use std::collections::BTreeMap;

const CATALOGUE: &str = "call.empty_loop\tnothing\t\t\t\tposix\t\t0\t0\t1
call.direct\ta call\t\t\t\tposix\t\t0\t0\t1
call.spin\twork\t\t\t\tposix\t\t0\t0\t1
id.getppid\tgetppid()\tgetppid x1\t\t\tposix\t\t0\t0\t1
file.lstat\tlstat\tlstat/newfstatat x1\t\tdepth=1:components\tposix\tstat\t0\t0\t1
io.read_zero\tread\tread x1\t\tsize=4K:bytes\tposix\t\t1\t0\t1
";

pub fn study(bytes: &[u8]) {
    let text = text(bytes);
    let study = match Study::parse("fuzzed", "fuzzed.toml", &text) {
        Ok(study) => study,
        Err(error) => return super::runs::one_line(&error.to_string()),
    };
    study.named_cases();
    study.languages();
    study
        .patterns()
        .for_each(|pattern| drop(Pattern::new(pattern)));
    let catalogue = parse_catalogue(CATALOGUE).expect("a catalogue");
    let _ = study.plan(&catalogue, &Choices::default());
}

/// What --param, the words of `run` and sizes may be.
pub fn settings(bytes: &[u8]) {
    let text = text(bytes);
    let catalogue = parse_catalogue(CATALOGUE).expect("a catalogue");
    let _ = parse_size(&text);
    if let Ok(pattern) = Pattern::new(&text) {
        pattern.matches_id("file.lstat");
        let _ = matching(&catalogue, &[text.to_string()]);
    }
    if let Ok(setting) = text.parse::<Setting>() {
        assert!(
            setting.values.len() <= 200,
            "{} values",
            setting.values.len()
        );
        let found = subjects(&catalogue, &[], &Surroundings::default()).expect("subjects");
        let _ = select(
            &catalogue,
            &found,
            &Choices {
                settings: &[setting],
                ..Choices::default()
            },
        );
    }
}

pub fn expectation(bytes: &[u8]) {
    let Ok(expectation) = text(bytes).parse::<Expectation>() else {
        return;
    };
    let counted: Entries = [("openat".to_string(), 1.0), ("close".to_string(), 0.5)]
        .into_iter()
        .collect();
    let params = BTreeMap::from([("procs".to_string(), 4)]);
    expectation.matches(&counted, &params);
    expectation.exact_counts(&params);
}

pub fn catalogue(bytes: &[u8]) {
    let Ok(catalogue) = parse_catalogue(&text(bytes)) else {
        return;
    };
    catalogue
        .iter()
        .for_each(|operation| drop(operation.area().to_string()));
    let _ = matching(&catalogue, &["file.*".to_string(), "io".to_string()]);
    let found = subjects(&catalogue, &[], &Surroundings::default()).expect("subjects");
    let _ = select(&catalogue, &found, &Choices::default());
}
