//! Completions of shells, and manual pages.

use crate::cli::{commands, printed};
use crate::common::*;

/// What `shell` is offered for the last word of a command line.
fn offered(shell: &str, words: &[&str]) -> String {
    let place = Place::new();
    let mut command = place.command(("-- syscost", words));
    command
        .env("SYSCOST_COMPLETE", shell)
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .env("_CLAP_IFS", "\n");
    succeeded(&mut command)
}

#[test]
fn commands_run_although_a_shell_left_its_variable() {
    let place = Place::new();
    let mut command = place.command("--version");
    expect_start(
        succeeded(command.env("SYSCOST_COMPLETE", "bash")),
        "syscost ",
    );
}

#[test]
fn completions_know_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        expect_in(
            printed(80, format!("completions {shell}")),
            "SYSCOST_COMPLETE",
        );
        let offered = offered(shell, &[""]);
        commands()
            .iter()
            .for_each(|command| expect_in(&offered, command));
    }
}

#[test]
fn completions_offer_what_only_the_program_knows() {
    let expected = [
        ("run id.getp", "id.getppid"),
        ("run per", "perl:"),
        ("list fil", "file"),
        ("explain call.getp", "call.getpid"),
        ("compare --only id.getp", "id.getppid"),
        ("run --study perl-", "perl-ops"),
        ("run --env native,st", "native,static"),
        ("run --setup pe", "perl:"),
        ("run --param dep", "depth="),
        ("man comp", "compare"),
        ("id.getp", "id.getppid"),
        ("getpp", "id.getppid"),
        ("id.getppid --ti", "--time"),
    ];
    for shell in ["bash", "zsh", "fish"] {
        for (line, name) in expected {
            let offered = offered(shell, &line.split(' ').collect::<Vec<_>>());
            let offers = offered
                .lines()
                .any(|line| line.replace("\\:", ":").starts_with(name));
            assert!(offers, "{shell} {line}: {offered}");
        }
    }
}

/// Keys as a user presses them in an interactive bash that has the completions; `None` where there is no script(1).
fn typed_in_bash(keys: &str) -> Option<String> {
    let place = Place::new();
    place.write("completions", printed(80, "completions bash"));
    let directory = Path::new(env!("CARGO_BIN_EXE_syscost"))
        .parent()
        .unwrap()
        .display();
    let path = format!("{directory}:{}", std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("script");
    command
        .args(["-qec", "bash --norc --noprofile -i", "/dev/null"])
        .current_dir(place.path());
    command
        .env("PATH", path)
        .env("TERM", "dumb")
        .env("TMPDIR", place.tmp())
        .env("INPUTRC", "/dev/null");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(format!(". ./completions\n{keys}\nexit\n").as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    drop(input);
    Some(stdout(&output))
}

#[test]
fn bash_completes_an_operation() {
    let Some(said) = typed_in_bash("syscost run id.getpp\t\x01echo done: ") else {
        return skip("script(1) is not installed");
    };
    assert!(
        said.lines()
            .any(|line| line.trim_end() == "done: syscost run id.getppid"),
        "{said}"
    );
    let said = typed_in_bash("syscost run id.getp\t\t\x01echo ").unwrap();
    expect_in(&said, ["id.getpgid", "id.getppid"]);
}

fn manual(command: &str) -> String {
    let page = printed(80, format!("man {command}"));
    ["\\&", "\\fB", "\\fR"]
        .iter()
        .fold(page.replace("\\-", "-"), |page, escape| {
            page.replace(escape, "")
        })
}

#[test]
fn each_command_has_a_manual_page() {
    let page = manual("");
    expect_in(
        &page,
        [
            ".SH SYNOPSIS\n",
            ".SH SUBCOMMANDS\n",
            ".SH EXAMPLES\n",
            "Exit status: 0",
        ],
    );
    for command in commands() {
        expect_in(&page, &format!("syscost-{command}(1)"));
        expect_in(manual(&command), &format!(".TH syscost-{command} 1"));
    }
    expect_not_in(&page, "syscost-help(1)");
    expect_in(manual("kernel fetch"), ".TH syscost-kernel-fetch 1");
}
