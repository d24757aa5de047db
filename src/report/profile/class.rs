//! Text for the class of a call: `file 4K`, `depth 3`, `wait`, `64 fds`. Used by the tables of profiles and
//! attributions.

use crate::model::{Class, DescriptorKind, Size};

/// The class as text; empty if nothing is known.
pub fn class(class: &Class) -> String {
    let parts = [
        class.descriptor.map(|kind| descriptor(kind).to_string()),
        class.size.map(|size| Size(size).to_string()),
        class.depth.map(|depth| format!("depth {depth}")),
        class.operation.clone(),
        class.set.map(|set| format!("{} fds", Size(set))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

pub fn descriptor(kind: DescriptorKind) -> &'static str {
    match kind {
        DescriptorKind::File => "file",
        DescriptorKind::Directory => "dir",
        DescriptorKind::Pipe => "pipe",
        DescriptorKind::Socket => "socket",
        DescriptorKind::Terminal => "tty",
        DescriptorKind::Device => "device",
        DescriptorKind::Event => "event",
        DescriptorKind::None => "no fd",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_in_words() {
        let read = Class { descriptor: Some(DescriptorKind::File), size: Some(4096), ..Class::default() };
        let open = Class { depth: Some(3), ..Class::default() };
        let poll = Class { set: Some(64), ..Class::default() };
        assert_eq!([read, open, poll, Class::default()].map(|c| class(&c)), ["file 4K", "depth 3", "64 fds", ""]);
    }
}
