//! Profiles, what strace prints, and everything that shows or prices one.

use super::runs::refused;
use analysis::attribute::attribute;
use analysis::attribute::costs::Costs;
use model::{By, Profile};
use report::{self, Format, ProfileDocument, Screen, WhyDocument, WhyView};
use std::path::Path;
use store::{self, Stored};

const PROFILE: &str = include_str!("../../tests/profile/traced.json");
const COSTS: &str = include_str!("../../tests/golden/run.json");
const FORMATS: [Format; 4] = [Format::Text, Format::Markdown, Format::Csv, Format::Json];

pub fn profile(bytes: &[u8]) {
    match store::from_bytes(Path::new("fuzzed.json"), bytes) {
        Ok(Stored::Profile(profile)) => shown(&profile),
        Ok(_) => {}
        Err(error) => refused(&error.to_string()),
    }
}

/// A sound profile.
pub fn example() -> Profile {
    match store::from_bytes(Path::new("traced.json"), PROFILE.as_bytes()) {
        Ok(Stored::Profile(profile)) => *profile,
        _ => panic!("tests/profile/traced.json is no profile"),
    }
}

pub fn shown(profile: &Profile) {
    let out = &mut std::io::sink();
    let mut file = Vec::new();
    if store::write_to(profile, &mut file).is_ok() {
        assert!(
            store::from_bytes(Path::new("again.json"), &file).is_ok(),
            "what was written cannot be read"
        );
    }
    let costs = costs();
    let found = attribute(profile, Some(&costs), std::slice::from_ref(&costs));
    let bare = attribute(profile, None, &[]);
    for format in FORMATS {
        for by in [By::Call, By::Class, By::Process] {
            let document = || report::profile_table(profile, by);
            let _ = report::write_answer(
                &ProfileDocument::new(profile),
                document,
                format,
                Screen::PLAIN,
                out,
            );
        }
        for found in [&found, &bare] {
            let document = || report::why_document(profile, found, WhyView::Screen, Screen::PLAIN);
            let found = WhyDocument {
                attribution: found,
                race: None,
                kernels: None,
            };
            let _ = report::write_answer(&found, document, format, Screen::PLAIN, out);
        }
    }
}

fn costs() -> Costs {
    match store::from_bytes(Path::new("run.json"), COSTS.as_bytes()) {
        Ok(Stored::Run(run)) => Costs::from_run(&run, None).expect("unit costs"),
        _ => panic!("tests/golden/run.json is no result file"),
    }
}
