//! The terminal that output is shown on.

use report::{Screen, ascii};
use std::io::IsTerminal;

/// Such as a pipe.
const PIPE: u16 = 100;

/// Standard output's screen. COLUMNS overrides its width; NO_COLOR and TERM=dumb turn colour off, a locale without UTF-8 all
/// characters but those of ASCII.
pub fn screen() -> Screen {
    screen_of(std::io::stdout().is_terminal())
}

/// Standard error's screen, for tables that leave standard output to a command.
pub fn error_screen() -> Screen {
    screen_of(std::io::stderr().is_terminal())
}

fn screen_of(terminal: bool) -> Screen {
    let asked = std::env::var("COLUMNS")
        .unwrap_or_default()
        .parse()
        .ok()
        .filter(|width| *width >= 40);
    let seen = if terminal {
        terminal_size::terminal_size().map(|(width, _)| width.0)
    } else {
        None
    };
    Screen {
        width: asked.or(seen).or(Some(PIPE)),
        colour: terminal && !is_dumb() && variable("NO_COLOR").is_none(),
        plots: terminal || asked.is_some(),
        ascii: is_ascii(),
    }
}

fn variable(name: &str) -> Option<String> {
    let value = std::env::var_os(name)?.to_string_lossy().into_owned();
    Some(value).filter(|value| !value.is_empty())
}

pub fn is_dumb() -> bool {
    variable("TERM").as_deref() == Some("dumb")
}

pub fn in_its_characters(text: String) -> String {
    if is_ascii() { ascii(&text) } else { text }
}

/// By the variables that name the locale's characters, the first that is set. Where none is, as in many containers, terminals read
/// UTF-8 all the same.
fn is_ascii() -> bool {
    let named = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .find_map(variable);
    !named.is_none_or(|name| name.to_lowercase().replace('-', "").contains("utf8"))
}
