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
    let columns = std::env::var("COLUMNS").unwrap_or_default();
    let asked = columns.parse().ok().filter(|width| *width >= 40);
    let seen = if terminal {
        terminal_size::terminal_size().map(|(width, _)| width.0)
    } else {
        None
    };
    Screen {
        width: asked.or(seen).or(Some(PIPE)),
        colour: terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
        plots: terminal || asked.is_some(),
    }
}
