//! Opens the files that processes have mapped as code. A file is known by device, inode, generation and size: another one may have its
//! path by now. A process that lives shows its mappings in /proc. For one that has ended, there is the path within the file system, which
//! may be mounted here too.

use super::budget::Budget;
use super::image::Image;
use crate::mounts;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::{self, File, Metadata};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::rc::Rc;
use sys::bpf::{Executed, MappedFile};
use sys::regular::{self, Links};
use sys::step::{Mapping as Line, parse_mapping};

const LARGEST: u64 = 8 << 30;
/// The PID namespace of the kernel's own numbers (linux/proc_ns.h).
const FIRST_PIDS: &str = "pid:[4026531836]";

type Opened = (u64, u64, u64, i64, i64);

#[derive(Default)]
pub struct Files {
    pub budget: Rc<Budget>,
    mapped: HashMap<MappedFile, Rc<Image>>,
    opened: RefCell<HashMap<Opened, Rc<Image>>>,
    unread: RefCell<HashMap<String, Rc<Image>>>,
}

impl Files {
    /// The image of a mapped file, opened `through` the process if that lives: its PID, and start and end of the mapping.
    pub fn mapped(
        &mut self,
        file: &MappedFile,
        names: &[u8],
        through: Option<(u32, u64, u64)>,
    ) -> Rc<Image> {
        if let Some(image) = self.mapped.get(file) {
            return image.clone();
        }
        let path = path(names);
        let through = through
            .and_then(|(pid, start, end)| through_process(pid, start, end))
            .and_then(|place| open_same(file, &place));
        let opened = through.or_else(|| open_same(file, &place_here(file.device, &path)?));
        let Some((opened, facts)) = opened else {
            return self.unread(&path);
        };
        let image = self.opened(&path, opened, &facts);
        self.mapped.insert(*file, image.clone());
        image
    }

    /// The interpreter of a program that has ended, below its root; only if its mounts are those of this process.
    pub fn interpreter(&self, executed: &Executed, path: &Path) -> Option<Rc<Image>> {
        // In another mount namespace the path may name another file.
        let same = fs::read_link("/proc/self/ns/mnt").ok()?.to_str()?
            == format!("mnt:[{}]", executed.mounts);
        if !same {
            return None;
        }
        let names = executed.root.get(..executed.root_length as usize)?;
        let root = place_here(executed.root_device, &self::path(names))?;
        let place = regular::place_in(&root, path, Links::Followed).ok()?;
        let (file, facts) = regular::open(&place, LARGEST)?;
        Some(self.opened(path.to_str()?, file, &facts))
    }

    pub fn of_line(&self, pid: u32, line: &Line) -> Rc<Image> {
        let place = through_process(pid, line.start, line.end).or_else(|| {
            // map_files needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE; this way does not.
            let root = regular::place(Path::new(&format!("/proc/{pid}/root"))).ok()?;
            regular::place_in(&root, Path::new(&line.path), Links::Refused).ok()
        });
        let opened = place
            .and_then(|place| regular::open(&place, LARGEST))
            // The device differs on btrfs and overlayfs between stat and maps, so only the inode is compared.
            .filter(|(_, facts)| facts.ino() == line.inode);
        opened.map_or_else(
            || self.unread(&line.path),
            |(file, facts)| self.opened(&line.path, file, &facts),
        )
    }

    fn opened(&self, path: &str, file: File, facts: &Metadata) -> Rc<Image> {
        let key = (
            facts.dev(),
            facts.ino(),
            facts.len(),
            facts.ctime(),
            facts.ctime_nsec(),
        );
        self.opened
            .borrow_mut()
            .entry(key)
            .or_insert_with(|| Rc::new(Image::from_file(last(path), file, &self.budget)))
            .clone()
    }

    fn unread(&self, path: &str) -> Rc<Image> {
        self.unread
            .borrow_mut()
            .entry(last(path).to_string())
            .or_insert_with(|| Rc::new(Image::unread(last(path))))
            .clone()
    }
}

fn open_same(file: &MappedFile, place: &File) -> Option<(File, Metadata)> {
    regular::open(place, LARGEST)
        .filter(|(_, facts)| facts.ino() == file.inode && facts.len() == file.size)
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Whether PIDs in events, which are the kernel's own, are those of /proc here.
pub fn numbers_are_ours() -> bool {
    fs::read_link("/proc/self/ns/pid").is_ok_and(|link| link.as_os_str() == FIRST_PIDS)
}

fn through_process(pid: u32, start: u64, end: u64) -> Option<File> {
    let link = format!("/proc/{pid}/map_files/{start:x}-{end:x}");
    if !numbers_are_ours() {
        return None;
    }
    regular::place(Path::new(&link)).ok()
}

/// The path within the file system; events have its names in order from the file outwards.
fn path(names: &[u8]) -> String {
    let names = names.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    // The outermost is the root of the file system.
    let inner: Vec<_> = names
        .filter(|name| !name.is_empty() && name != "/")
        .collect();
    inner
        .iter()
        .rev()
        .fold(String::new(), |path, name| path + "/" + name)
}

fn place_here(device: u32, path: &str) -> Option<File> {
    let root = regular::place(Path::new("/")).ok()?;
    mounts::read()
        .lines()
        .filter_map(mounts::mount)
        .filter(|mount| mount.device == device)
        .find_map(|mount| {
            let below = path.strip_prefix(mount.root.trim_end_matches('/'))?;
            let place = regular::place_in(
                &root,
                Path::new(&format!("{}{below}", mount.place)),
                Links::Refused,
            )
            .ok()?;
            // Another file system, mounted later, may hide the file.
            let info =
                fs::read_to_string(format!("/proc/self/fdinfo/{}", place.as_raw_fd())).ok()?;
            let is_there = info.lines().any(|line| {
                line.strip_prefix("mnt_id:")
                    .is_some_and(|id| id.trim() == mount.id)
            });
            is_there.then_some(place)
        })
}

/// `None` for a mapping without a file.
pub fn line(line: &str) -> Option<Line> {
    let line = parse_mapping(line).filter(|line| line.path.starts_with('/'))?;
    // The kernel marks files that were removed.
    let path = line
        .path
        .strip_suffix(" (deleted)")
        .unwrap_or(&line.path)
        .to_string();
    Some(Line { path, ..line })
}
