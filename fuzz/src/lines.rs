//! What probes and compilers say, and the files that describe languages and environments.

use super::text;
use measure::runner::{self, Environment, Language, fill, forms};
use model::Case;
use model::Reply;

pub fn ready(bytes: &[u8]) {
    if let Ok(mut facts) = runner::parse_ready(&text(bytes)) {
        facts.add_defaults(vec![("clock_cost_ns", 1.0)]);
        facts.number("clock_cost_ns");
        facts.get("pid");
    }
}

pub fn reply(bytes: &[u8]) {
    let mut reply = Reply::default();
    for line in text(bytes).lines() {
        if !matches!(runner::add_line(&mut reply, line), Ok(false)) {
            return;
        }
    }
}

pub fn sampled(bytes: &[u8]) {
    let _ = runner::parse_sampled(&text(bytes));
}

pub fn singles(bytes: &[u8]) {
    let mut singles = runner::Singles::default();
    text(bytes)
        .lines()
        .take_while(|line| singles.add_line(line) == Ok(false))
        .for_each(drop);
    let _ = singles.calls();
}

/// The first line chooses a language, the second is a body; the rest is what its compiler says.
pub fn snippet(bytes: &[u8]) {
    let text = text(bytes);
    let mut parts = text.splitn(3, '\n');
    let (name, body, message) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    if let Ok(language) = Language::find(name) {
        explained(&language, body, message);
    }
}

fn explained(language: &Language, body: &str, message: &str) {
    let mut case = Case::snippet(&language.name, body);
    case.params.insert("size".to_string(), 4096);
    for form in forms(language, body) {
        super::runs::one_line(&fill(language, &case, form).explain(language, message));
    }
}

pub fn language(bytes: &[u8]) {
    let text = text(bytes);
    let Ok(mut language) = toml::from_str::<Language>(&text) else {
        return;
    };
    language.loop_text = "begin\n{{prelude}}\n{{setup}}\nloop\n{{body}}\nend\n".to_string();
    explained(
        &language,
        "one; two {size}",
        "ValueError: bad\n at line 5\n syntax error, line 18446744073709551615",
    );
}

pub fn environment(bytes: &[u8]) {
    if let Ok(environment) = toml::from_str::<Environment>(&text(bytes)) {
        environment.cannot_build("said");
    }
}
