//! Interpreters and compilers of snippets: how they are listed, and what is said if one is missing or fails.

use crate::common::*;
use crate::languages::{KNOWN, SHORT, command, expect_refused, installed, known, text, toml};

#[test]
fn a_missing_interpreter_is_named_with_its_package() {
    let place = Place::new();
    let empty = place.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let words: Vec<String> = known().map(|language| format!("{language}:1")).collect();
    let words: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .chain(["id.getppid"])
        .collect();
    let output = command(&place, (SHORT, &words))
        .env("PATH", &empty)
        .output()
        .unwrap();
    expect_refused(&output, known().count(), &[]);
    for (language, line) in known().zip(stderr(&output).lines()) {
        let toml = toml(language, "language.toml");
        let package = format!("(usual package: {})", toml["package"].as_str().unwrap());
        for part in [
            language,
            toml["programs"][0].as_str().unwrap(),
            "not on PATH",
            &package,
        ] {
            expect_in(line, part);
        }
    }
}

#[test]
fn the_languages_are_listed_with_version_and_path() {
    let output = Place::new()
        .command("list --languages")
        .env("COLUMNS", "400")
        .output()
        .unwrap();
    let table = stdout(&output);
    for (name, language) in KNOWN.iter() {
        let row = table
            .lines()
            .find(|line| line.split_whitespace().next() == Some(name));
        let row = row.unwrap_or_else(|| panic!("{name} is not in\n{table}"));
        match language["path"].as_str() {
            Some(path) => assert!(
                row.contains(path) && row.contains(version(language)),
                "{row}"
            ),
            None => assert!(row.contains(text(language, "package")), "{row}"),
        }
    }
}

/// What rustup's rustc prints without a toolchain, or a program that crashes.
#[test]
fn a_program_that_fails_has_no_version() {
    let place = Place::new();
    let directory = place.path().join("bin");
    fs::create_dir(&directory).unwrap();
    write_program(
        &directory.join("rustc"),
        "#!/bin/sh\necho '   0: rust_begin_unwind' >&2\nexit 1\n",
    );
    let path = format!("{}:{}", directory.display(), std::env::var("PATH").unwrap());
    let mut command = place.command("list --languages --format json");
    let found: Value = serde_json::from_str(&succeeded(command.env("PATH", path))).unwrap();
    let all = list(&found["languages"]);
    let rust = all
        .iter()
        .find(|language| language["name"] == "rust")
        .unwrap();
    assert_eq!(rust["version"], Value::Null, "{rust}");
}

/// As it was found; none where the language has no option that prints it.
fn version(language: &Value) -> &str {
    let asked = toml(text(language, "name"), "language.toml")["version"]
        .as_array()
        .is_some_and(|v| !v.is_empty());
    if asked { text(language, "version") } else { "" }
}

fn compiler_without_m32(directory: &Path, real: &str) -> PathBuf {
    let script = format!(
        "#!/bin/sh\nfor word; do\n  if [ \"$word\" = -m32 ]; then\n    echo '/usr/include/stdio.h:27:10: fatal error: \
         bits/libc-header-start.h: No such file or directory' >&2\n    exit 1\n  fi\ndone\nexec '{real}' \"$@\"\n"
    );
    fs::create_dir(directory).unwrap();
    let path = directory.join("cc");
    write_program(&path, &script);
    path
}

#[test]
fn without_a_32_bit_library_it_is_said_what_to_install() {
    if !installed("c") {
        return;
    }
    let place = Place::new();
    let directory = place.path().join("bin");
    let compiler = compiler_without_m32(&directory, text(&KNOWN["c"], "path"));
    let path = std::env::join_paths(
        [directory]
            .into_iter()
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let output = command(&place, (SHORT, "--env native,m32 c:getppid() id.getppid"))
        .env("PATH", path.unwrap())
        .env("CC", compiler)
        .output()
        .unwrap();
    expect_status(&output, 3);
    for record in list(&json(&output)["records"]) {
        let (is_m32, error) = (record["environment"] == "m32", &record["error"]);
        assert_eq!(error.is_object(), is_m32, "{record:#}");
        if is_m32 {
            let parts = ["gcc-multilib", "libc-header-start.h"];
            expect_in(text(error, "message"), parts);
        }
    }
}
