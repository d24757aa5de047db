//! The live screen: draws into the terminal's alternate screen, reads keys, and leaves the terminal as it was, also after
//! a signal or a panic.

use super::arguments::Arguments;
use crate::terminal;
use analysis::top::{By, Counts, Key, Rates, Row, View, between};
use anyhow::{Context, Result};
use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, poll, read};
use crossterm::style::{Attribute, Color, ContentStyle, PrintStyledContent, StyledContent};
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode, size,
};
use crossterm::{execute, queue};
use measure::runner::RunDirectory;
use report::Style;
use report::top::{Look, Screen, Span, drawn, headline, help, rates_table};
use std::cell::RefCell;
use std::io::{Stdout, Write, stdout};
use std::rc::Rc;
use std::time::Duration;
use sys::process::is_hung_up;

pub struct Live {
    view: View,
    scope: String,
    terminal: Option<Terminal>,
    run: Option<Rc<RefCell<RunDirectory>>>,
    /// The last interval, or the one at which it was paused.
    shown: Option<(Rc<Counts>, Rc<Counts>)>,
    arguments: Arguments,
}

impl Live {
    /// A screen that takes over the terminal at its first update.
    pub fn new(view: View, scope: &str, run: Option<Rc<RefCell<RunDirectory>>>) -> Live {
        Live {
            view,
            scope: scope.to_string(),
            terminal: None,
            run,
            shown: None,
            arguments: Arguments::default(),
        }
    }

    pub fn by(&self) -> By {
        self.view.by
    }

    pub fn restart(&mut self) -> Result<()> {
        self.shown = None;
        self.view.paused = false;
        self.draw()
    }

    /// Returns whether to continue.
    pub fn update(&mut self, before: &Rc<Counts>, now: &Rc<Counts>) -> Result<bool> {
        if self.terminal.is_none() {
            // Taken late: until the first counts, errors still go to the ordinary screen.
            self.terminal = Some(Terminal::take(self.run.clone())?);
        }
        if !self.view.paused {
            self.shown = Some((Rc::clone(before), Rc::clone(now)));
            self.draw()?;
        }
        Ok(true)
    }

    /// False to quit.
    pub fn keys(&mut self) -> Result<bool> {
        if self.terminal.is_none() {
            return Ok(true);
        }
        // crossterm would read the end of a terminal that is gone again and again.
        if is_hung_up(&stdout()) {
            return Ok(false);
        }
        let mut changed = false;
        while poll(Duration::ZERO).context("top: the terminal cannot be read")? {
            match read().context("top: the terminal cannot be read")? {
                Event::Key(event) => {
                    // Any key leaves the help.
                    let key = if self.view.types { None } else { key(&event) };
                    let Some(key) = key
                        .or_else(|| typed(&event, self.view.types))
                        .or(self.view.help.then_some(Key::Help))
                    else {
                        continue;
                    };
                    let (_, rows) = self.rates(&self.view.clone());
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

    fn rates(&mut self, view: &View) -> (Rates, Vec<Row>) {
        let Some((before, now)) = &self.shown else {
            return (Rates::default(), Vec::new());
        };
        let mut rates = between(before, now, view.rows_by(), &view.focus());
        let mut rows = std::mem::take(&mut rates.rows);
        if view.rows_by() == By::Process {
            self.arguments.fill(&mut rows);
        }
        (rates, view.shown(rows))
    }

    fn draw(&mut self) -> Result<()> {
        let (width, height) = size().context("top: the terminal has no size")?;
        let lines = if self.view.help {
            help()
                .into_iter()
                .map(|line| vec![(line, Look::Cell(Style::Plain))])
                .collect()
        } else {
            self.lines(width, height)
        };
        paint(&lines, height).context("top: cannot write to the terminal")
    }

    fn lines(&mut self, width: u16, height: u16) -> Vec<Vec<Span>> {
        let view = self.view.clone();
        let (rates, rows) = self.rates(&view);
        let head = match &self.shown {
            Some((_, now)) => headline(
                &self.scope,
                &view.focus(),
                &rates,
                now.tracer.lost,
                width.into(),
            ),
            None => vec![
                self.scope.clone(),
                "counting; the first interval follows".to_string(),
            ],
        };
        let screen = Screen {
            head: &head,
            table: &rates_table(&rows, view.rows_by(), &rates.total),
            selected: view.selected(&rows),
            sorted: view.sort.name(),
            state: state(&view),
        };
        drawn(&screen, width, height)
    }
}

fn state(view: &View) -> String {
    if view.types {
        return format!("filter: {}_   Enter keeps it, Esc clears it", view.filter);
    }
    let filter = format!("filter: {} (Esc clears it)", view.filter);
    let shown: Vec<&str> = [
        (view.paused, "PAUSED (p continues)"),
        (!view.filter.is_empty(), &filter),
    ]
    .into_iter()
    .filter_map(|(is_so, text)| is_so.then_some(text))
    .collect();
    shown.join("   ")
}

/// While the filter `is_typed`, every character is a part of it.
fn typed(event: &KeyEvent, is_typed: bool) -> Option<Key> {
    let is_plain = event.modifiers.difference(KeyModifiers::SHIFT).is_empty();
    match event.code {
        _ if !is_typed || event.kind == KeyEventKind::Release => None,
        KeyCode::Char(c) if is_plain => Some(Key::Char(c)),
        KeyCode::Backspace => Some(Key::Erase),
        KeyCode::Left | KeyCode::Right => None,
        _ => key(event),
    }
}

fn key(event: &KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    Some(match event.code {
        KeyCode::Char('c') if event.modifiers.contains(KeyModifiers::CONTROL) => Key::Quit,
        KeyCode::Char('q') | KeyCode::F(10) => Key::Quit,
        KeyCode::Char('s') | KeyCode::F(6) => Key::Sort,
        KeyCode::Char('/') | KeyCode::F(3 | 4) => Key::Filter,
        KeyCode::Char('b') => Key::By,
        KeyCode::Char('p' | ' ') => Key::Pause,
        KeyCode::Char('?' | 'h') | KeyCode::F(1) => Key::Help,
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

fn paint(lines: &[Vec<Span>], height: u16) -> std::io::Result<()> {
    let mut out = stdout().lock();
    let colour = terminal::screen().colour;
    for (i, line) in (0..height).zip(lines.iter().map(Some).chain(std::iter::repeat(None))) {
        queue!(out, MoveTo(0, i))?;
        for (text, look) in line.into_iter().flatten() {
            let text = terminal::in_its_characters(text.clone());
            let shown = StyledContent::new(styled(*look, colour), text);
            queue!(out, PrintStyledContent(shown))?;
        }
        queue!(out, Clear(ClearType::UntilNewLine))?;
    }
    out.flush()
}

fn styled(look: Look, colour: bool) -> ContentStyle {
    let plain = ContentStyle::default();
    let attribute = match look {
        Look::Titles | Look::Cell(Style::Heading) => Attribute::Bold,
        Look::Selected => Attribute::Reverse,
        Look::Cell(Style::Faint) => Attribute::Dim,
        Look::Cell(style) => {
            return ContentStyle {
                foreground_color: if colour {
                    style.colour().map(Color::AnsiValue)
                } else {
                    None
                },
                ..plain
            };
        }
    };
    ContentStyle {
        attributes: attribute.into(),
        ..plain
    }
}

struct Terminal(Option<Rc<RefCell<RunDirectory>>>);

impl Terminal {
    fn take(run: Option<Rc<RefCell<RunDirectory>>>) -> Result<Terminal> {
        let before = std::panic::take_hook();
        // A panic's message would vanish with the alternate screen.
        std::panic::set_hook(Box::new(move |panic| {
            restore(&mut stdout());
            before(panic);
        }));
        // Before raw mode: the janitor restores the terminal if this process is killed.
        run.iter().for_each(|run| run.borrow_mut().take_terminal());
        let terminal = Terminal(run);
        enable_raw_mode().context("top: the terminal cannot be set up; try `| cat`")?;
        execute!(stdout(), EnterAlternateScreen, Hide)
            .context("top: the terminal cannot be set up; try `| cat`")?;
        Ok(terminal)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore(&mut stdout());
        self.0
            .iter()
            .for_each(|run| run.borrow_mut().give_back_terminal());
    }
}

fn restore(out: &mut Stdout) {
    let _ = execute!(out, Show, LeaveAlternateScreen);
    let _ = disable_raw_mode();
}
