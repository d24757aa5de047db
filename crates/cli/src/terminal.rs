//! The terminal that output is shown on.

use report::Screen;
use std::io::IsTerminal;

/// The width of output that is not a terminal, such as a pipe.
const PIPE: u16 = 100;

/// Standard output's screen. COLUMNS overrides its width; NO_COLOR turns colour off.
pub fn screen() -> Screen {
    screen_of(std::io::stdout().is_terminal())
}

pub fn error_screen() -> Screen {
    screen_of(std::io::stderr().is_terminal())
}

fn screen_of(terminal: bool) -> Screen {
    let asked = std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok())
        .filter(|width| *width >= 40);
    let seen = || {
        terminal
            .then(|| terminal_size::terminal_size().map(|(width, _)| width.0))
            .flatten()
    };
    let width = asked.or_else(seen).or(Some(PIPE));
    let colour = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    Screen {
        width,
        colour,
        plots: terminal || asked.is_some(),
    }
}
