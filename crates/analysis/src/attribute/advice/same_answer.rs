//! The same call on the same object with the same answer, again and again, with nothing in between that could change it: questions,
//! settings, look-ups, failures, and reads that find nothing. Those with the same remedy are one piece of advice, however many calls
//! take turns.

mod errors;
mod lookups;
mod questions;
mod reads;

use super::caller::{Caller, Part, Rule};
use super::output::{Advice, PathUse};
use super::paths::about;
use crate::attribute::seconds::Seconds;

pub use errors::failing_with;
pub use questions::AGAIN;

pub static RULE: Rule = Rule {
    name: "same-answer",
    least: 0.01,
    phrase: "{calls}",
    change: "",
    find,
};

struct Again<'a> {
    part: Part<'a>,
    remedy: &'static Remedy,
    error: Option<String>,
    after: Option<String>,
    paths: Vec<PathUse>,
}

#[derive(PartialEq)]
struct Remedy {
    phrase: &'static str,
    change: &'static str,
    left: f64,
    least: f64,
    /// Untraced, a loop that waits for something takes as long, with more turns.
    waits: bool,
}

impl Remedy {
    const fn new(phrase: &'static str, change: &'static str) -> Remedy {
        Remedy {
            phrase,
            change,
            left: 0.0,
            least: 0.02,
            waits: false,
        }
    }

    const fn instead_of_waiting(phrase: &'static str, change: &'static str) -> Remedy {
        Remedy {
            waits: true,
            least: 0.05,
            ..Remedy::new(phrase, change)
        }
    }
}

fn find(caller: &Caller) -> Vec<Advice> {
    let mut groups: Vec<Again> = Vec::new();
    let kinds = [
        questions::again,
        errors::again,
        reads::again,
        lookups::again,
    ];
    for again in kinds.iter().flat_map(|kind| kind(caller)) {
        let mut same = groups.iter_mut();
        let same = same.find(|group| group.remedy == again.remedy && group.error == again.error);
        match same {
            Some(group) => group.join(again),
            None => groups.push(again),
        }
    }
    groups.into_iter().map(Again::advice).collect()
}

impl<'a> Again<'a> {
    fn new(part: Part<'a>, remedy: &'static Remedy) -> Again<'a> {
        Again {
            part,
            remedy,
            error: None,
            after: None,
            paths: Vec::new(),
        }
    }

    fn join(&mut self, more: Again<'a>) {
        self.part.join(more.part);
        self.paths.extend(more.paths);
    }

    fn advice(self) -> Advice {
        let Remedy {
            phrase,
            change,
            left,
            least,
            waits,
        } = *self.remedy;
        let kept = 1.0 - left;
        let saved = if waits {
            spun(&self.part)
        } else {
            self.part.left_out()
        };
        let saved = saved.times([kept * kept, kept, 1.0]);
        let advice = Advice {
            phrase,
            change,
            least,
            spins: waits,
            subject: self.error,
            after: self.after,
            ..self.part.advice(0, saved)
        };
        about(advice, self.paths)
    }
}

/// Seconds of calls in a loop that waits for an event.
///
/// A loop that waits for something takes as long untraced, because it turns more often then; one that counts its turns does not.
pub fn spun(part: &Part) -> Seconds {
    let (_, traced_s) = part.caller.traced_s(part.calls);
    part.left_out()
        .plus(Seconds::scaled(traced_s, [0.0, 0.85, 1.2]))
}
