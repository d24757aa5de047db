//! The state of the screen, and how keys change it. `cli::top` translates a terminal's keys.

use super::row::{By, Focus, Row};
use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Key {
    Quit,
    Sort,
    By,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Enter,
    Back,
    Pause,
    Help,
    Filter,
    /// Part of the filter, as is the next one.
    Char(char),
    Erase,
}

/// The order of the rows, the most first.
#[derive(Clone, Copy, Debug, Default, PartialEq, clap::ValueEnum)]
pub enum Sort {
    /// Calls per second.
    #[default]
    Calls,
    /// Errors per second.
    Errors,
    /// Time on CPUs in calls.
    Cpu,
    /// Time blocked in calls.
    Blocked,
    /// Mean elapsed time per call.
    Mean,
    /// 99th percentile of the elapsed time.
    P99,
}

impl Sort {
    pub fn name(self) -> &'static str {
        match self {
            Sort::Calls => "calls/s",
            Sort::Errors => "errors/s",
            Sort::Cpu => "% CPU",
            Sort::Blocked => "blocked",
            Sort::Mean => "mean us",
            Sort::P99 => "p99 us",
        }
    }

    /// Unknown values come last.
    fn value(self, row: &Row) -> f64 {
        let value = match self {
            Sort::Calls => Some(row.calls_per_s),
            Sort::Errors => Some(row.errors_per_s),
            Sort::Cpu => row.on_cpu_share,
            Sort::Blocked => row.blocked_threads,
            Sort::Mean => row.mean_ns,
            Sort::P99 => row.p99_ns,
        };
        value.unwrap_or(-1.0)
    }
}

const SORTS_OF_SAMPLES: [Sort; 2] = [Sort::Cpu, Sort::Blocked];
const KINDS: [By; 6] = [
    By::Program,
    By::Process,
    By::Call,
    By::Class,
    By::Error,
    By::Cgroup,
];
const KINDS_OF_SAMPLES: [By; 4] = [By::Program, By::Process, By::Call, By::Cgroup];
const PAGE: usize = 10;

#[derive(Clone, Default)]
pub struct View {
    /// The kind of the outermost rows.
    pub by: By,
    pub sort: Sort,
    pub paused: bool,
    pub help: bool,
    pub filter: String,
    pub types: bool,
    /// The rows that were gone into, the outermost first.
    entered: Vec<Row>,
    selected: Option<Row>,
    kinds: &'static [By],
    sorts: &'static [Sort],
}

impl View {
    pub fn new(by: By, sort: Sort) -> View {
        View {
            by,
            sort,
            kinds: &KINDS,
            sorts: Sort::value_variants(),
            ..View::default()
        }
    }

    /// Samples have neither classes nor errors, and are sorted by time.
    pub fn for_samples(by: By, sort: Sort) -> View {
        let view = View::new(
            by,
            if sort == Sort::Blocked {
                sort
            } else {
                Sort::Cpu
            },
        );
        View {
            kinds: &KINDS_OF_SAMPLES,
            sorts: &SORTS_OF_SAMPLES,
            ..view
        }
    }

    pub fn focus(&self) -> Focus {
        let mut focus = Focus::default();
        for row in &self.entered {
            focus.process = focus.process.or(row.who());
            if row.process.is_none() {
                focus.cgroup = focus.cgroup.or(row.cgroup.clone());
            }
            focus.call = focus.call.or(row.call.clone());
        }
        focus
    }

    /// Calls inside a process, classes inside a call.
    pub fn rows_by(&self) -> By {
        match self.entered.last() {
            None => self.by,
            Some(row) if row.call.is_some() => By::Class,
            Some(row) if row.process.is_some() => By::Call,
            Some(_) => By::Program,
        }
    }

    pub fn shown(&self, mut rows: Vec<Row>) -> Vec<Row> {
        let wanted = self.filter.to_lowercase();
        rows.retain(|row| wanted.is_empty() || row.contains(&wanted));
        rows.sort_by(|a, b| self.sort.value(b).total_cmp(&self.sort.value(a)));
        rows
    }

    /// The first row if it is gone.
    pub fn selected(&self, rows: &[Row]) -> usize {
        rows.iter()
            // Rows move with every interval, so the selection follows the key and not the position.
            .position(|row| {
                self.selected
                    .as_ref()
                    .is_some_and(|selected| selected.key == row.key)
            })
            .unwrap_or(0)
    }

    /// `rows` are those on the screen. False if the key ends it.
    pub fn press(&mut self, key: Key, rows: &[Row]) -> bool {
        // Help goes away by any key.
        if std::mem::take(&mut self.help) {
            return key != Key::Quit;
        }
        match key {
            Key::Quit => return false,
            Key::Help => self.help = true,
            Key::Pause => self.paused = !self.paused,
            Key::Sort => self.sort = next(&self.sorts_of_rows(), self.sort),
            Key::By => {
                self.by = next(self.kinds, self.by);
                self.entered.clear();
                self.leave_rows();
            }
            Key::Filter | Key::Char(_) | Key::Erase => self.edit(key),
            Key::Enter if self.types => self.types = false,
            Key::Enter => self.enter(rows),
            Key::Back if self.types || !self.filter.is_empty() => self.clear_filter(),
            Key::Back => self.selected = self.entered.pop().or(self.selected.take()),
            _ => self.step(key, rows),
        }
        true
    }

    fn enter(&mut self, rows: &[Row]) {
        if self.rows_by() == By::Class {
            return;
        }
        if let Some(row) = rows.get(self.selected(rows)) {
            self.entered.push(row.clone());
            self.leave_rows();
        }
    }

    fn leave_rows(&mut self) {
        self.selected = None;
        self.clear_filter();
    }

    fn edit(&mut self, key: Key) {
        self.types = true;
        match key {
            Key::Char(c) => self.filter.push(c),
            Key::Erase => drop(self.filter.pop()),
            _ => {}
        }
    }

    fn clear_filter(&mut self) {
        self.types = false;
        self.filter.clear();
    }

    fn sorts_of_rows(&self) -> Vec<Sort> {
        self.sorts
            .iter()
            .copied()
            .filter(|sort| match self.rows_by() {
                By::Call => true,
                By::Error => matches!(sort, Sort::Calls | Sort::Errors),
                By::Program | By::Process | By::Class | By::Cgroup => *sort != Sort::P99,
            })
            .collect()
    }

    fn step(&mut self, key: Key, rows: &[Row]) {
        let at = self.selected(rows);
        let to = match key {
            Key::Up => at.saturating_sub(1),
            Key::Down => at + 1,
            Key::PageUp => at.saturating_sub(PAGE),
            Key::PageDown => at + PAGE,
            Key::Home => 0,
            _ => rows.len(),
        };
        self.selected = rows.get(to.min(rows.len().saturating_sub(1))).cloned();
    }
}

fn next<T: Copy + PartialEq>(all: &[T], now: T) -> T {
    let at = all
        .iter()
        .position(|one| *one == now)
        .map_or(0, |at| at + 1);
    all.get(at % all.len().max(1)).copied().unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::super::rates::tests::{counted, counts, group};
    use super::super::{Counts, between};
    use super::*;

    fn rows(view: &View) -> Vec<Row> {
        let mut slow = counted("read", 4, 4_000);
        slow.blocked_ns = Some(9_000);
        let groups = vec![
            group("a", 1, vec![slow, counted("write", 20, 10)]),
            group("b", 2, vec![counted("read", 8, 1)]),
        ];
        let now = counts(1_000_000_000, groups);
        view.shown(between(&Counts::default(), &now, view.rows_by(), &view.focus()).rows)
    }

    fn names(view: &View) -> Vec<String> {
        rows(view)
            .into_iter()
            .map(|Row { key, .. }| key.call.or(key.process).or(key.cgroup).unwrap_or_default())
            .collect()
    }

    fn press(view: &mut View, keys: &[Key]) {
        for key in keys {
            assert!(view.press(*key, &rows(view)), "{key:?}");
        }
    }

    #[test]
    fn the_selection_stays_with_its_row_when_rows_move() {
        let mut view = View::new(By::Call, Sort::Calls);
        press(&mut view, &[Key::Down]);
        let was = rows(&view)[view.selected(&rows(&view))].call.clone();
        while view.sort != Sort::Cpu {
            press(&mut view, &[Key::Sort]);
        }
        assert_eq!(names(&view), ["read", "write"]);
        assert_eq!(rows(&view)[view.selected(&rows(&view))].call, was);
        press(&mut view, &[Key::By, Key::By, Key::By, Key::By]);
        assert_eq!((view.by, view.selected(&rows(&view))), (By::Program, 0));
    }

    #[test]
    fn only_columns_of_the_rows_are_sorted_by() {
        let mut view = View::new(By::Error, Sort::Calls);
        press(&mut view, &[Key::Sort, Key::Sort]);
        assert_eq!(view.sort, Sort::Calls);
        let mut samples = View::for_samples(By::Process, Sort::Calls);
        press(&mut samples, &[Key::Sort, Key::By]);
        assert_eq!((samples.sort, samples.by), (Sort::Blocked, By::Call));
    }
}
