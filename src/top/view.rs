//! What is shown, and how keys change it. Pure: `cli::top` translates a terminal's keys.

use super::rates::{By, Focus, Row};

/// Keys that mean something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Quit,
    /// The next column to sort by.
    Sort,
    /// The next kind of rows.
    By,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    /// Into the selected row.
    Enter,
    /// Out of it.
    Back,
    Pause,
    Help,
}

/// What rows are sorted by, the most first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
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
    /// The title of its column.
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
}

/// The first two are those of samples.
const SORTS: [Sort; 6] = [Sort::Cpu, Sort::Blocked, Sort::Mean, Sort::P99, Sort::Calls, Sort::Errors];
/// The first only where counts are kept by control group; the last two not of samples.
const KINDS: [By; 5] = [By::Cgroup, By::Process, By::Call, By::Class, By::Error];
/// Rows that a page key moves by.
const PAGE: usize = 10;

#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// What rows are where nothing is gone into.
    pub by: By,
    pub sort: Sort,
    pub paused: bool,
    pub help: bool,
    /// The rows that were gone into, the outermost first.
    entered: Vec<Row>,
    selected: Option<Row>,
    /// What rows can be, and be sorted by.
    kinds: &'static [By],
    sorts: &'static [Sort],
}

impl View {
    /// A view of rows `by`. Only one that begins with control groups has them.
    pub fn new(by: By, sort: Sort) -> View {
        let kinds: &[By] = if by == By::Cgroup { &KINDS } else { &KINDS[1..] };
        View { by, sort, kinds, sorts: &SORTS, paused: false, help: false, entered: Vec::new(), selected: None }
    }

    /// The same of samples, which have neither classes nor errors, and are sorted by time.
    pub fn of_samples(by: By, sort: Sort) -> View {
        let view = View::new(by, if sort == Sort::Blocked { sort } else { Sort::Cpu });
        View { kinds: &view.kinds[..view.kinds.len() - 2], sorts: &SORTS[..2], ..view }
    }

    /// What was gone into.
    pub fn focus(&self) -> Focus {
        let of = |name: fn(&Row) -> Option<String>| self.entered.iter().find_map(name);
        Focus {
            process: self.entered.iter().find_map(Row::who),
            cgroup: of(|row| row.cgroup.clone().filter(|_| row.process.is_none())),
            call: of(|row| row.call.clone()),
        }
    }

    /// What rows are now: those of a process are calls, those of a call are classes.
    pub fn rows_by(&self) -> By {
        match self.entered.last() {
            None => self.by,
            Some(row) if row.call.is_some() => By::Class,
            Some(row) if row.process.is_some() => By::Call,
            Some(_) => By::Process,
        }
    }

    pub fn sorted(&self, mut rows: Vec<Row>) -> Vec<Row> {
        let value = |row: &Row| match self.sort {
            Sort::Calls => Some(row.calls_per_s),
            Sort::Errors => Some(row.errors_per_s),
            Sort::Cpu => row.on_cpu_share,
            Sort::Blocked => row.blocked_threads,
            Sort::Mean => row.mean_ns,
            Sort::P99 => row.p99_ns,
        };
        let value = |row: &Row| value(row).unwrap_or(-1.0);
        rows.sort_by(|a, b| value(b).total_cmp(&value(a)));
        rows
    }

    /// The index of the selected row: the first one, if that which was selected is gone.
    pub fn selected(&self, rows: &[Row]) -> usize {
        let is_it = |row: &Row| self.selected.as_ref().is_some_and(|selected| selected.key() == row.key());
        rows.iter().position(is_it).unwrap_or(0)
    }

    /// Changes what is shown by a key, with the rows as they are on the screen. False if it is over.
    pub fn press(&mut self, key: Key, rows: &[Row]) -> bool {
        // Help goes away by any key.
        if std::mem::take(&mut self.help) {
            return key != Key::Quit;
        }
        match key {
            Key::Quit => return false,
            Key::Help => self.help = true,
            Key::Pause => self.paused = !self.paused,
            Key::Sort => self.sort = next(self.sorts, self.sort),
            Key::By => {
                self.by = next(self.kinds, self.by);
                self.entered.clear();
                self.selected = None;
            }
            // There is nothing further in.
            Key::Enter if self.rows_by() == By::Class => {}
            Key::Enter => {
                self.entered.extend(rows.get(self.selected(rows)).cloned());
                self.selected = None;
            }
            Key::Back => self.selected = self.entered.pop().or(self.selected.take()),
            _ => self.step(key, rows),
        }
        true
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
    let at = all.iter().position(|one| *one == now).map_or(0, |at| at + 1);
    all[at % all.len()]
}

#[cfg(test)]
mod tests {
    use super::super::rates::tests::{count, counts, group};
    use super::super::{Counts, between};
    use super::*;

    fn rows(view: &View) -> Vec<Row> {
        let mut slow = count("read", 4, 4_000);
        slow.blocked_ns = Some(9_000);
        let groups = vec![group("a", 1, vec![slow, count("write", 20, 10)]), group("b", 2, vec![count("read", 8, 1)])];
        let now = counts(1_000_000_000, groups);
        view.sorted(between(&Counts::default(), &now, view.rows_by(), &view.focus()).rows)
    }

    fn names(view: &View) -> Vec<String> {
        let name = |row: Row| row.call.or(row.process).or(row.cgroup).unwrap_or_default();
        rows(view).into_iter().map(name).collect()
    }

    fn press(view: &mut View, keys: &[Key]) {
        for key in keys {
            assert!(view.press(*key, &rows(view)), "{key:?}");
        }
    }

    #[test]
    fn enter_goes_into_a_process_and_its_call_and_escape_comes_back() {
        let mut view = View::new(By::Process, Sort::Calls);
        assert_eq!(names(&view), ["a", "b"]);
        press(&mut view, &[Key::Down, Key::Down, Key::Up, Key::Enter]);
        assert_eq!((names(&view), view.rows_by()), (vec!["write".to_string(), "read".into()], By::Call));
        press(&mut view, &[Key::End, Key::Enter, Key::Enter]);
        assert_eq!((names(&view), view.rows_by()), (vec!["read".to_string()], By::Class));
        press(&mut view, &[Key::Back]);
        assert_eq!(view.selected(&rows(&view)), 1);
        press(&mut view, &[Key::Back, Key::Back, Key::Back]);
        assert_eq!((view.rows_by(), view.focus()), (By::Process, Focus::default()));
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
        press(&mut view, &[Key::By, Key::By, Key::By]);
        assert_eq!((view.by, view.selected(&rows(&view))), (By::Process, 0));
    }

    #[test]
    fn help_pause_and_quit() {
        let mut view = View::new(By::Process, Sort::Calls);
        press(&mut view, &[Key::Help]);
        assert!(view.help);
        press(&mut view, &[Key::Pause]);
        assert!(!view.help && !view.paused);
        press(&mut view, &[Key::Pause]);
        assert!(view.paused);
        assert!(!view.press(Key::Quit, &[]) && view.press(Key::Enter, &[]) && view.press(Key::Down, &[]));
    }
}
