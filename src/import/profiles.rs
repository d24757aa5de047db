//! Traces of other programs as profiles: one row a kind. Pure: text in, `Profile` out; `cli::import` reads and writes.

use super::tally::LineError;
use super::{perf_trace, strace};
use crate::model::{Profile, Source, Tool};

/// A tracer whose output can be read.
pub struct ProfileKind {
    /// As the command line has it.
    pub name: &'static str,
    /// What is read, in a few words.
    pub what: &'static str,
    read: fn(&str) -> Result<Profile, LineError>,
}

pub const PROFILE_KINDS: [ProfileKind; 2] = [
    ProfileKind {
        name: "strace",
        what: "table of 'strace -c', or log of 'strace -f -T -ttt' (a profile)",
        read: strace::read,
    },
    ProfileKind {
        name: "perf-trace",
        what: "output of 'perf trace -s' or of 'perf trace' (a profile)",
        read: perf_trace::read,
    },
];

impl ProfileKind {
    /// The kind of that name.
    pub fn find(name: &str) -> Option<&'static ProfileKind> {
        PROFILE_KINDS.iter().find(|kind| kind.name == name)
    }

    /// What `text` holds. `from` tells where it comes from, e.g. a file's name.
    ///
    /// # Errors
    /// The first line that is not as the program prints it; or that there is no call at all.
    pub fn import(&self, text: &str, from: &str) -> Result<Profile, LineError> {
        let mut profile = (self.read)(text)?;
        profile.tool = Some(Tool::default());
        let note = profile.source.map_or_else(String::new, |source| source.note);
        profile.source = Some(Source { title: format!("{}, from {from}", profile.tracer.kind), note });
        Ok(profile)
    }
}
