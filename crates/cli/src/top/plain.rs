//! Intervals as tables one after another, or as JSON documents, one a line.

use super::arguments::Arguments;
use crate::output::Output;
use crate::terminal;
use analysis::top::{Counts, View, between};
use anyhow::Result;
use model::prose;
use report::top::{TopDocument, headline, rates_table};
use report::{Format, write_json_line, write_table};
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

const ROWS: usize = 20;

pub struct Plain {
    out: Output,
    view: View,
    json: bool,
    rows: usize,
    scope: String,
    printed: bool,
    arguments: Arguments,
}

impl Plain {
    pub fn open(view: View, json: bool, rows: Option<usize>, scope: &str) -> Result<Plain> {
        Ok(Plain {
            out: Output::open()?,
            view,
            json,
            rows: rows.unwrap_or(if json { usize::MAX } else { ROWS }),
            scope: scope.to_string(),
            printed: false,
            arguments: Arguments::default(),
        })
    }

    /// False once the reader has closed the pipe.
    pub fn print(&mut self, before: &Counts, now: &Counts) -> Result<bool> {
        let (by, focus) = (self.view.rows_by(), self.view.focus());
        let mut rates = between(before, now, by, &focus);
        let mut rows = self.view.shown(std::mem::take(&mut rates.rows));
        let more = rows.len().saturating_sub(self.rows);
        rows.truncate(self.rows);
        let lost = now.tracer.lost;
        if self.json {
            let at_unix_s = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0.0, |time| time.as_secs_f64());
            write_json_line(
                &TopDocument::new(&self.scope, at_unix_s, &rates, &rows, lost),
                &mut self.out,
            )?;
        } else {
            if self.printed {
                writeln!(self.out)?;
            }
            self.arguments.fill(&mut rows);
            let screen = terminal::screen();
            let mut table = rates_table(&rows, by, &rates.total);
            table.cautions = headline(
                &self.scope,
                &focus,
                &rates,
                lost,
                screen.width.map_or(usize::MAX, usize::from),
            );
            let note = prose::more(more, "more rows (--rows shows more)");
            table.notes.extend(note);
            write_table(&table, Format::Text, screen, &mut self.out)?;
        }
        self.printed = true;
        self.out.flush()?;
        Ok(!self.out.is_closed())
    }
}
