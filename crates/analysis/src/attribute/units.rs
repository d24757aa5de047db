//! Which operation prices which call, and with which of its parameters.
//!
//! An operation is rarely one call and nothing else. `less` names operations whose cost is subtracted, `count` is the number
//! of calls of that kind that one iteration makes.

mod table;

pub use model::syscall_names::bare_name;
pub use table::{CREATION, FAMILIES, NULL_CALLS, UNITS};

use model::{CallCount, Class, DescriptorKind};

#[derive(Clone, Copy, Debug)]
pub enum Per {
    Flat,
    Size,
    Depth,
    Set,
    /// Estimated from the bytes of the list.
    Entries,
    /// A value that is typical of programs.
    Fixed(&'static str, u64),
}

// getdents64(2): 19 bytes and the name with its final 0, rounded up to 8 bytes.
/// With a name of usual length; and the two entries that every directory has (getdents64(2)).
const ENTRY_BYTES: u64 = 32;
const DOTS_BYTES: u64 = 48;

impl Per {
    pub fn parameter(self) -> Option<&'static str> {
        Some(match self {
            Per::Flat => return None,
            Per::Size => "size",
            Per::Depth => "depth",
            Per::Set => "fds",
            Per::Entries => "entries",
            Per::Fixed(name, _) => name,
        })
    }

    /// `None` if the cost does not depend on one, or the class lacks it.
    pub fn value_in(self, class: &Class) -> Option<(&'static str, u64)> {
        let value = match self {
            Per::Flat => None,
            Per::Size => class.size,
            Per::Depth => class.depth,
            Per::Set => class.set,
            Per::Entries => class
                .size
                .map(|size| size.saturating_sub(DOTS_BYTES) / ENTRY_BYTES),
            Per::Fixed(_, value) => Some(value),
        };
        self.parameter().zip(value)
    }
}

/// Names are separated by spaces.
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    calls: &'static str,
    on: &'static [DescriptorKind],
    not_on: &'static [DescriptorKind],
    no_path: bool,
    /// Beginnings of what the call does; empty if that is not known, or needs no name.
    does: Option<&'static str>,
    fails: &'static str,
    operations: &'static str,
    less: &'static str,
    pub count: f64,
    pub per: Per,
}

const fn unit(calls: &'static str, operations: &'static str) -> Unit {
    Unit {
        calls,
        on: &[],
        not_on: &[],
        no_path: false,
        does: None,
        fails: "",
        operations,
        less: "",
        count: 1.0,
        per: Per::Flat,
    }
}

const fn per(per: Per, calls: &'static str, operations: &'static str) -> Unit {
    Unit {
        per,
        ..unit(calls, operations)
    }
}

impl Unit {
    const fn on(self, on: &'static [DescriptorKind]) -> Unit {
        Unit { on, ..self }
    }

    const fn not_on(self, not_on: &'static [DescriptorKind]) -> Unit {
        Unit { not_on, ..self }
    }

    const fn no_path(self) -> Unit {
        Unit {
            no_path: true,
            ..self
        }
    }

    const fn does(self, does: &'static str) -> Unit {
        Unit {
            does: Some(does),
            ..self
        }
    }

    const fn fails(self, fails: &'static str) -> Unit {
        Unit { fails, ..self }
    }

    const fn less(self, less: &'static str) -> Unit {
        Unit { less, ..self }
    }

    const fn times(self, count: f64) -> Unit {
        Unit { count, ..self }
    }

    /// The best first.
    pub fn operations(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.operations.split_whitespace()
    }

    pub fn less_operations(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.less.split_whitespace()
    }

    fn applies(&self, class: &Class, errno: Option<&str>) -> bool {
        let on =
            |kinds: &[DescriptorKind]| class.descriptor.is_some_and(|kind| kinds.contains(&kind));
        (self.on.is_empty() || on(self.on))
            && !on(self.not_on)
            && (!self.no_path || class.depth == Some(0))
            && self.does.is_none_or(|names| match &class.operation {
                Some(operation) => names
                    .split_whitespace()
                    .any(|name| operation.starts_with(name)),
                None => names.is_empty(),
            })
            && (self.fails.is_empty() || errno.is_some_and(|errno| has(self.fails, errno)))
    }
}

/// `names` are separated by spaces.
pub fn has(names: &str, name: &str) -> bool {
    names.split_whitespace().any(|listed| listed == name)
}

/// `None` for success, or an errno.
pub type Ending<'a> = Option<&'a str>;

/// How the calls ended, with their numbers; at least one.
pub fn endings(count: &CallCount) -> Vec<(Ending<'_>, u64)> {
    let failures = count
        .errors
        .iter()
        .map(|(errno, calls)| (Some(errno.as_str()), *calls));
    let successes = (None, count.calls.saturating_sub(count.failures()));
    let mut all: Vec<_> = [successes].into_iter().chain(failures).collect();
    all.retain(|(_, calls)| *calls > 0);
    if all.is_empty() { vec![(None, 1)] } else { all }
}

/// The best first.
pub fn units_of<'a>(
    call: &'a str,
    class: &'a Class,
    ending: Ending<'a>,
) -> impl Iterator<Item = &'static Unit> + use<'a> {
    let name = bare_name(call);
    UNITS
        .iter()
        .filter(move |unit| has(unit.calls, name) && unit.applies(class, ending))
}

#[cfg(test)]
mod tests;
