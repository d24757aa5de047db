//! Text for the class of a call: `file 4K`, `depth 3`, `wait`, `64 fds`.

use model::{Class, DescriptorKind, Size};

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
