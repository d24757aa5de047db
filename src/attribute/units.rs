//! Which operation prices which call, and with which of its parameters. Pure data and the look-up.
//!
//! An operation is rarely one call and nothing else. `less` names operations whose cost is subtracted, `count` is the number
//! of calls of that kind that one iteration makes. The table itself is in `table`; `costs` prices by it.

mod table;

pub use crate::syscall_names::bare_name;
pub use table::{CREATION, FAMILIES, NULL_CALLS, UNITS};

use crate::model::{CallCount, Class, DescriptorKind};

/// The part of a class that is a parameter of the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// None: the operation has one cost.
    Flat,
    /// Bytes: `size`.
    Size,
    /// Names in the path: `depth`.
    Depth,
    /// Descriptors in the set: `fds`.
    Set,
    /// Files listed: `entries`, from the bytes of the list.
    Entries,
    /// The same value for every class: what is typical of programs.
    Fixed(&'static str, u64),
}

/// Bytes of a directory's entry with a name of usual length, and of the two that every directory has (getdents64(2)).
const ENTRY_BYTES: u64 = 32;
const DOTS_BYTES: u64 = 48;

impl Per {
    /// The operation's parameter; `None` for `Flat`.
    pub fn parameter(self) -> Option<&'static str> {
        match self {
            Per::Flat => None,
            Per::Size => Some("size"),
            Per::Depth => Some("depth"),
            Per::Set => Some("fds"),
            Per::Entries => Some("entries"),
            Per::Fixed(name, _) => Some(name),
        }
    }

    /// The operation's parameter and its value in `class`.
    pub fn value_in(self, class: &Class) -> Option<(&'static str, u64)> {
        let value = match self {
            Per::Flat => None,
            Per::Size => class.size,
            Per::Depth => class.depth,
            Per::Set => class.set,
            Per::Entries => class.size.map(|size| size.saturating_sub(DOTS_BYTES) / ENTRY_BYTES),
            Per::Fixed(_, value) => Some(value),
        };
        self.parameter().zip(value)
    }
}

/// What a class must be for a row of the table to apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// One of these kinds of descriptor.
    On(&'static [DescriptorKind]),
    /// None of these kinds, or not known.
    NotOn(&'static [DescriptorKind]),
    /// The path is empty: the call acts on a descriptor.
    NoPath,
    /// What the call does begins with one of these names.
    Does(&'static [&'static str]),
    /// What the call does is not known, or needs no name.
    DoesUsual,
    /// It fails with one of these.
    Fails(&'static [&'static str]),
}

impl When {
    fn matches(self, class: &Class, errno: Option<&str>) -> bool {
        let on = |kinds: &[DescriptorKind]| class.descriptor.is_some_and(|kind| kinds.contains(&kind));
        match self {
            When::On(kinds) => on(kinds),
            When::NotOn(kinds) => !on(kinds),
            When::NoPath => class.depth == Some(0),
            When::Does(names) => {
                class.operation.as_deref().is_some_and(|own| names.iter().any(|name| own.starts_with(name)))
            }
            When::DoesUsual => class.operation.is_none(),
            When::Fails(with) => errno.is_some_and(|errno| with.contains(&errno)),
        }
    }
}

/// How a call of a class is priced.
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    pub calls: &'static [&'static str],
    /// All of these hold.
    pub when: &'static [When],
    /// The first that the run has prices the call.
    pub operations: &'static [&'static str],
    /// Operations whose cost is subtracted.
    pub less: &'static [&'static str],
    /// Calls of this kind per iteration.
    pub count: f64,
    pub per: Per,
}

const fn unit(calls: &'static [&'static str], operations: &'static [&'static str], per: Per) -> Unit {
    Unit { calls, when: &[], operations, less: &[], count: 1.0, per }
}

impl Unit {
    const fn when(self, when: &'static [When]) -> Unit {
        Unit { when, ..self }
    }

    const fn less(self, less: &'static [&'static str]) -> Unit {
        Unit { less, ..self }
    }

    const fn count(self, count: f64) -> Unit {
        Unit { count, ..self }
    }
}

/// How calls ended: `None` for success, or an errno. Failures have prices of their own only where the table has a row for them.
pub type Ending<'a> = Option<&'a str>;

/// How the calls of `count` ended, with their numbers; at least one.
pub fn endings(count: &CallCount) -> Vec<(Ending<'_>, u64)> {
    let failures = count.errors.iter().map(|(errno, calls)| (Some(errno.as_str()), *calls));
    let successes = (None, count.calls.saturating_sub(count.failures()));
    let all = std::iter::once(successes).chain(failures).filter(|(_, calls)| *calls > 0);
    let all: Vec<_> = all.collect();
    if all.is_empty() { vec![(None, 1)] } else { all }
}

/// What prices `call` of `class` that ends so, the best first; none where no operation resembles it.
pub fn units_of<'a>(
    call: &'a str,
    class: &'a Class,
    ending: Ending<'a>,
) -> impl Iterator<Item = &'static Unit> + use<'a> {
    let name = bare_name(call);
    let applies = move |when: &When| when.matches(class, ending);
    UNITS.iter().filter(move |unit| unit.calls.contains(&name) && unit.when.iter().all(applies))
}

#[cfg(test)]
mod tests;
