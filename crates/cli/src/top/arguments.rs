//! What the processes of rows were started with: read once for each, since most outlive many intervals.

use analysis::top::{Row, Who};
use std::collections::HashMap;
use sys::process;

#[derive(Default)]
pub struct Arguments(HashMap<Who, Option<String>>);

impl Arguments {
    /// Forgets processes that have no row any more.
    pub fn fill(&mut self, rows: &mut [Row]) {
        let mut before = std::mem::take(&mut self.0);
        for row in rows {
            let Some((who, pid)) = row.who().zip(row.pid) else {
                continue;
            };
            let known = before
                .remove(&who)
                .unwrap_or_else(|| process::arguments(pid));
            row.arguments.clone_from(&known);
            self.0.insert(who, known);
        }
    }
}
