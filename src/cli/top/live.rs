//! The live screen: draws into the terminal's alternate screen, reads keys, and leaves the terminal as it was, also after
//! a signal or a panic.

use crate::report::top::{Drawn, drawn, headline, help, rates_table};
use crate::top::{Counts, Key, Rates, Row, View, between};
use anyhow::{Context, Result};
use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, poll, read};
use crossterm::style::{Attribute, Print, SetAttribute};
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode, size,
};
use crossterm::{execute, queue};
use std::io::{Stdout, Write, stdout};
use std::time::Duration;

pub struct Live {
    view: View,
    scope: String,
    /// While it lives, the terminal is ours.
    terminal: Option<Terminal>,
    /// What the last interval was, or the one at which it was paused.
    shown: Option<(Counts, Counts)>,
}

impl Live {
    /// Nothing is drawn before the first counts.
    pub fn new(view: View, scope: &str) -> Live {
        Live { view, scope: scope.to_string(), terminal: None, shown: None }
    }

    /// Shows an interval, unless it is paused. Errors: if the terminal refuses.
    pub fn update(&mut self, before: &Counts, now: &Counts) -> Result<bool> {
        if self.terminal.is_none() {
            self.terminal = Some(Terminal::take()?);
        }
        if !self.view.paused {
            self.shown = Some((before.clone(), now.clone()));
            self.draw()?;
        }
        Ok(true)
    }

    /// Answers all keys that were pressed; false if it is over. Errors: if the terminal refuses.
    pub fn keys(&mut self) -> Result<bool> {
        if self.terminal.is_none() {
            return Ok(true);
        }
        let mut changed = false;
        while poll(Duration::ZERO).context("top: the terminal cannot be read")? {
            match read().context("top: the terminal cannot be read")? {
                Event::Key(event) => {
                    // Any key leaves the help.
                    let Some(key) = key(&event).or(self.view.help.then_some(Key::Help)) else { continue };
                    let (_, rows) = self.rates();
                    if !self.view.press(key, &rows) {
                        return Ok(false);
                    }
                    changed = true;
                }
                Event::Resize(..) => changed = true,
                _ => {}
            }
        }
        if changed {
            self.draw()?;
        }
        Ok(true)
    }

    /// The rates of the interval that is shown, and its rows in their order.
    fn rates(&self) -> (Rates, Vec<Row>) {
        let Some((before, now)) = &self.shown else { return (Rates::default(), Vec::new()) };
        let mut rates = between(before, now, self.view.rows_by(), &self.view.focus());
        let rows = self.view.sorted(std::mem::take(&mut rates.rows));
        (rates, rows)
    }

    fn draw(&mut self) -> Result<()> {
        let (width, height) = size().context("top: the terminal has no size")?;
        let (rates, rows) = self.rates();
        let lost = self.shown.as_ref().map_or(0, |(_, now)| now.tracer.lost);
        let screen = if self.view.help {
            let lines = help().into_iter().take(usize::from(height)).collect();
            Drawn { lines, ..Drawn::default() }
        } else {
            let head = headline(&self.scope, &self.view.focus(), &rates, lost);
            let table = rates_table(&rows, self.view.rows_by());
            drawn(&head, &table, self.view.selected(&rows), &self.state(), width, height)
        };
        paint(&screen, height).context("top: the terminal cannot be written")
    }

    fn state(&self) -> String {
        let paused = if self.view.paused { "PAUSED  " } else { "" };
        format!("{paused}sorted by {}", self.view.sort.name())
    }
}

/// The key that an event is, if it means something.
fn key(event: &KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    Some(match event.code {
        KeyCode::Char('c') if event.modifiers.contains(KeyModifiers::CONTROL) => Key::Quit,
        KeyCode::Char('q') => Key::Quit,
        KeyCode::Char('s') => Key::Sort,
        KeyCode::Char('b') => Key::By,
        KeyCode::Char('p' | ' ') => Key::Pause,
        KeyCode::Char('?' | 'h') => Key::Help,
        KeyCode::Char('k') | KeyCode::Up => Key::Up,
        KeyCode::Char('j') | KeyCode::Down => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Enter | KeyCode::Right => Key::Enter,
        KeyCode::Esc | KeyCode::Left | KeyCode::Backspace => Key::Back,
        _ => return None,
    })
}

fn paint(screen: &Drawn, height: u16) -> std::io::Result<()> {
    let mut out = stdout().lock();
    for (i, line) in (0..height).zip(screen.lines.iter().map(Some).chain(std::iter::repeat(None))) {
        let (at, line) = (usize::from(i), line.map_or("", String::as_str));
        let attribute = match at {
            _ if screen.selected == Some(at) => Attribute::Reverse,
            _ if screen.selected.is_some() && at == screen.titles => Attribute::Bold,
            _ => Attribute::Reset,
        };
        queue!(out, MoveTo(0, i), SetAttribute(attribute), Print(line), SetAttribute(Attribute::Reset))?;
        queue!(out, Clear(ClearType::UntilNewLine))?;
    }
    out.flush()
}

/// The terminal in raw mode on its alternate screen.
struct Terminal;

impl Terminal {
    fn take() -> Result<Terminal> {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore(&mut stdout());
            before(panic);
        }));
        enable_raw_mode().context("top: the terminal cannot be set up; try --plain")?;
        let terminal = Terminal;
        execute!(stdout(), EnterAlternateScreen, Hide).context("top: the terminal cannot be set up; try --plain")?;
        Ok(terminal)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore(&mut stdout());
    }
}

/// There is nothing to be done if the terminal is gone.
fn restore(out: &mut Stdout) {
    let _ = execute!(out, Show, LeaveAlternateScreen);
    let _ = disable_raw_mode();
}
