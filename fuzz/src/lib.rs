//! What is fuzzed: one function a parser, each of which goes on to what reads the parser's result. The targets of
//! cargo-fuzz and the test `fuzz` share this table; fuzz/README.md tells how to run them.
//!
//! A target returns whatever its input; that a message says no to it is fine. It must not panic, hang or take memory out of
//! proportion.

mod explained;
mod kernel;
mod lines;
mod plans;
mod profiles;
mod runs;

/// One parser and what follows on it.
pub struct Target {
    /// That of its file in fuzz_targets/ and of its directory in corpus/.
    pub name: &'static str,
    pub run: fn(&[u8]),
    /// Mutations that the ordinary test makes: fewer where a run of them takes long.
    pub mutations: u32,
}

const fn target(name: &'static str, run: fn(&[u8]), mutations: u32) -> Target {
    Target {
        name,
        run,
        mutations,
    }
}

pub const TARGETS: &[Target] = &[
    target("result", runs::result, 250),
    target("profile", profiles::profile, 250),
    target("explained", explained::explained, 250),
    target("strace", profiles::profile, 300),
    target("study", plans::study, 1000),
    target("settings", plans::settings, 2000),
    target("expectation", plans::expectation, 2000),
    target("catalogue", plans::catalogue, 2000),
    target("ready", lines::ready, 2000),
    target("reply", lines::reply, 2000),
    target("sampled", lines::sampled, 2000),
    target("singles", lines::singles, 2000),
    target("snippet", lines::snippet, 500),
    target("language", lines::language, 1000),
    target("environment", lines::environment, 2000),
    target("btf", kernel::btf, 2000),
    target("stat", kernel::stat, 2000),
    target("maps", kernel::maps, 2000),
    target("host", kernel::host, 300),
    target("symbols", kernel::symbols, 1000),
];

/// Runs the target called `name`.
///
/// # Panics
/// Where there is no such target, or its parser panics.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    (target.unwrap_or_else(|| panic!("no target {name}")).run)(bytes);
}

/// Text as commands read it.
fn text(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
