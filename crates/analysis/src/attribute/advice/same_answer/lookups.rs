//! Paths that are looked up again: all look-ups of a path by the same call but the first of each process; and names of which none exists.

use super::{Again, Remedy};
use crate::attribute::advice::caller::{
    Caller, Part, STATS, added, done, errors, is_one_of, share,
};
use crate::attribute::advice::output::PathUse;
use crate::attribute::advice::paths::{LOCKS, QUESTIONS, elapsed_ns};
use crate::attribute::advice::search::searched;
use model::syscall_names::bare_name;
use model::{CallCount, ObjectCount};
use std::collections::BTreeMap;

static CACHE: Remedy = Remedy {
    least: 0.03,
    ..Remedy::new(
        "{calls} on {same}",
        "do it once and keep the answer; inotify reports when it changes",
    )
};
static LIST: Remedy = Remedy {
    least: 0.01,
    ..Remedy::new(
        "{calls}, all of names that do not exist",
        "list the directory once, or remember what is absent",
    )
};

/// Fewer calls are not worth a line.
const MANY: u64 = 1000;
/// Questions that the answer to one of them answers too.
const EXISTS: &str = "access faccessat faccessat2";

pub(super) fn again<'a>(caller: &'a Caller<'a>) -> Vec<Again<'a>> {
    let looks = Looks::new(caller);
    [looks.repeated(), looks.absent()]
        .into_iter()
        .flatten()
        .collect()
}

type Same<'a> = BTreeMap<(&'a str, &'a str), Vec<(&'a ObjectCount, u64)>>;

struct Looks<'a> {
    caller: &'a Caller<'a>,
    same: Same<'a>,
}

impl<'a> Looks<'a> {
    fn new(caller: &'a Caller<'a>) -> Looks<'a> {
        let searched = searched(caller);
        let mut same = Same::new();
        let asked = caller.paths.iter().map(|object| (*object, looks(object)));
        for (object, calls) in asked.filter(|(_, calls)| *calls > 0) {
            if !searched.contains_key(object.name.as_str()) {
                let key = (object.name.as_str(), question(&object.count));
                same.entry(key).or_default().push((object, calls));
            }
        }
        Looks { caller, same }
    }

    /// Each process may look, and once more to see whether something changed. A name that is absent while locks are taken, such as a journal's, is
    /// the answer.
    fn repeated(&self) -> Option<Again<'a>> {
        let caller = self.caller;
        let locks = caller.named(LOCKS).calls;
        let mut part = Part::new(caller);
        let mut paths: BTreeMap<&str, PathUse> = BTreeMap::new();
        for ((path, _), objects) in &self.same {
            let calls = added(objects.iter().map(|(_, calls)| *calls));
            let again = calls.saturating_sub(self.reasons(path));
            let is_absent = objects.iter().all(|(object, _)| done(&object.count) == 0);
            if again <= self.caller.processes || is_absent && locks.saturating_mul(2) >= calls {
                continue;
            }
            let mut left = again;
            for (object, asked) in objects.iter().rev() {
                let taken = left.min(*asked);
                left -= taken;
                part.add(&object.count, share(taken, object.count.calls));
            }
            let used = paths.entry(path).or_default();
            used.path = path.to_string();
            used.calls += calls;
            used.elapsed_ns += elapsed_ns(objects.iter().map(|(object, _)| *object));
        }
        if part.calls < MANY {
            return None;
        }
        Some(Again {
            paths: paths.into_values().collect(),
            ..Again::new(part, &CACHE)
        })
    }

    fn reasons(&self, path: &str) -> u64 {
        let changes = self.caller.workload.changes.get(path).copied().unwrap_or(0);
        self.caller
            .processes
            .saturating_add(changes.saturating_mul(CHANGES))
    }

    /// Names that were asked for once, by a call that found hardly any.
    fn absent(&self) -> Option<Again<'a>> {
        let caller = self.caller;
        let mut part = Part::new(caller);
        for ((path, _), objects) in &self.same {
            let once = added(objects.iter().map(|(_, calls)| *calls)) <= self.reasons(path);
            for (object, _) in objects
                .iter()
                .filter(|(object, _)| once && !finds(caller, object))
            {
                let calls = &errors(&object.count, "ENOENT");
                part.add(&object.count, share(*calls, object.count.calls));
            }
        }
        (part.calls >= MANY).then(|| Again::new(part, &LIST))
    }
}

/// Whether more than a hundredth of these calls succeeds.
fn finds(caller: &Caller, object: &ObjectCount) -> bool {
    let calls = caller.sum(|count| count.call == object.count.call);
    done(&calls).saturating_mul(100) > calls.calls
}

const CHANGES: u64 = 10;

fn looks(object: &ObjectCount) -> u64 {
    let count = &object.count;
    let asks = [STATS, QUESTIONS, "inotify_add_watch"]
        .iter()
        .any(|names| is_one_of(count, names));
    if asks { count.calls } else { count.failures() }
}

fn question(count: &CallCount) -> &str {
    if is_one_of(count, STATS) || is_one_of(count, EXISTS) {
        ""
    } else {
        bare_name(&count.call)
    }
}
