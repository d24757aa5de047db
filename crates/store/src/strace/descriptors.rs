//! The kinds of what descriptors refer to, by the calls that opened them, for logs that do not show them: `strace -y` does.

use super::arguments::{descriptor_kind, string_in};
use model::DescriptorKind::{self, Directory, Event, File, Pipe, Socket};
use std::collections::HashMap;

/// By process and number.
#[derive(Default)]
pub struct Descriptors(HashMap<(u64, i64), Descriptor>);

#[derive(Clone, Copy)]
struct Descriptor {
    kind: DescriptorKind,
    ends_at_exec: bool,
}

impl Descriptors {
    /// The kind of the descriptor that an argument names.
    pub fn kind(&self, process: u64, argument: &str) -> Option<DescriptorKind> {
        let known = self.0.get(&(process, argument.parse().ok()?))?;
        Some(known.kind)
    }

    /// Follows a call that returned `value`.
    pub fn follow(&mut self, process: u64, name: &str, arguments: &[&str], value: i64) {
        let first = arguments.first().copied().unwrap_or_default();
        let kind = match name {
            "open" | "openat" | "openat2" | "creat" => opened(arguments),
            "socket" | "accept" | "accept4" | "socketpair" => Some(Socket),
            "pipe" | "pipe2" => Some(Pipe),
            "epoll_create" | "epoll_create1" | "eventfd" | "eventfd2" | "timerfd_create"
            | "signalfd" | "signalfd4" | "inotify_init" | "inotify_init1" => Some(Event),
            "dup" | "dup2" | "dup3" => self.kind(process, first),
            "fcntl" | "fcntl64"
                if arguments
                    .get(1)
                    .is_some_and(|command| command.starts_with("F_DUPFD")) =>
            {
                self.kind(process, first)
            }
            "close" => None,
            _ => return,
        };
        let pair = arguments.iter().find(|argument| argument.starts_with('['));
        let numbers: Vec<i64> = match (name, pair) {
            ("close", _) => first.parse().into_iter().collect(),
            ("pipe" | "pipe2" | "socketpair", Some(pair)) => pair
                .trim_matches(['[', ']'])
                .split(", ")
                .filter_map(|number| number.parse().ok())
                .collect(),
            _ => vec![value],
        };
        let ends_at_exec = arguments
            .iter()
            .any(|argument| argument.contains("CLOEXEC"));
        for number in numbers {
            let key = (process, number);
            match kind {
                Some(kind) => drop(self.0.insert(key, Descriptor { kind, ends_at_exec })),
                None => drop(self.0.remove(&key)),
            }
        }
    }

    pub fn executes(&mut self, process: u64) {
        self.0
            .retain(|(owner, _), descriptor| *owner != process || !descriptor.ends_at_exec);
    }

    /// A child begins with those of its parent.
    pub fn forked(&mut self, parent: u64, child: u64) {
        self.0.retain(|(owner, _), _| *owner != child);
        let copies: Vec<_> = self
            .0
            .iter()
            .filter(|((owner, _), _)| *owner == parent)
            .map(|((_, number), descriptor)| ((child, *number), *descriptor))
            .collect();
        self.0.extend(copies);
    }
}

/// Below /dev only some names show the kind.
fn opened(arguments: &[&str]) -> Option<DescriptorKind> {
    let path = arguments.iter().find_map(|argument| string_in(argument))?;
    if arguments
        .iter()
        .any(|argument| argument.contains("O_DIRECTORY"))
    {
        return Some(Directory);
    }
    match path.starts_with('/') {
        true => descriptor_kind(&format!("<{path}")),
        false => Some(File),
    }
}
