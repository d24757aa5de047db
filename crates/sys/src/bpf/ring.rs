//! A ring buffer that programs write to and user space reads while they run: map kind `BPF_MAP_TYPE_RINGBUF`, since Linux 5.8.
//! Source: kernel/bpf/ringbuf.c, Documentation/bpf/ringbuf.rst.

#![allow(unsafe_code)]

use super::maps::{self, MapSpec};
use anyhow::{Context, Result, ensure};
use nix::sys::mman::{MapFlags, MmapAdvise, ProtFlags, madvise, mmap, munmap};
use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const RING: u32 = 27;
/// Bytes before each record: its length with two flags, and an offset for the kernel.
const HEADER: usize = 8;
const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;

/// A ring and its two mappings: how far it was read, a page of our own; then how far it was written, a page, and the data twice,
/// so that records that wrap around lie in one piece.
pub struct Ring {
    fd: OwnedFd,
    bytes: usize,
    page: usize,
    read: NonNull<c_void>,
    written: NonNull<c_void>,
}

impl Ring {
    /// `bytes` is a power of two; less than a page is one.
    pub fn create(name: &str, bytes: usize) -> Result<Ring> {
        let page = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE)
            .ok()
            .flatten()
            .unwrap_or(4096);
        let page = usize::try_from(page).unwrap_or(4096);
        let bytes = bytes.max(page);
        ensure!(
            bytes.is_power_of_two(),
            "BPF map '{name}': {bytes} bytes are not a power of two"
        );
        let max_entries = u32::try_from(bytes).context("a ring of that size")?;
        let spec = MapSpec {
            name,
            kind: RING,
            max_entries,
            flags: 0,
            types: None,
        };
        let fd = maps::create(&spec, 0, 0)
            .with_context(|| format!("the kernel refuses BPF map '{name}'"))?;
        // The kernel lets user space write only to the first page, which holds the reader's position.
        let both = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let cannot = || format!("BPF map '{name}' cannot be mapped");
        let read = map(&fd, page, both, 0).with_context(cannot)?;
        let written =
            map(&fd, page + 2 * bytes, ProtFlags::PROT_READ, page).with_context(cannot)?;
        Ok(Ring {
            fd,
            bytes,
            page,
            read,
            written,
        })
    }

    /// Instructions refer to the ring by it; valid as long as this lives.
    pub fn as_raw_fd(&self) -> i32 {
        self.fd.as_raw_fd()
    }

    /// Calls `each` with all complete records, in the order in which programs reserved them, and frees their room.
    pub fn drain(&mut self, each: &mut dyn FnMut(&[u8])) {
        // SAFETY: both positions are aligned 64-bit words at the beginning of pages that are mapped as long as `self` lives,
        // written by us alone and by the kernel alone.
        let (read, written) = unsafe {
            (
                self.read.cast::<AtomicU64>().as_ref(),
                self.written.cast::<AtomicU64>().as_ref(),
            )
        };
        let mut at = read.load(Ordering::Relaxed);
        while at < written.load(Ordering::Acquire) {
            let offset = self.page + (at as usize & (self.bytes - 1));
            // SAFETY: below the written position, the kernel keeps records at multiples of 8 bytes, each within `bytes` after
            // its offset, which the second mapping of the data covers. A header is one aligned word that the kernel writes.
            let head = unsafe { self.written.byte_add(offset).cast::<AtomicU32>().as_ref() }
                .load(Ordering::Acquire);
            // A program is still filling this one. Later records wait, complete or not: the order counts.
            if head & BUSY != 0 {
                break;
            }
            let length = (head & !DISCARDED) as usize;
            if head & DISCARDED == 0 {
                // SAFETY: as above; a record that is not busy is not written to until the read position has passed it.
                let record = unsafe {
                    std::slice::from_raw_parts(
                        self.written.byte_add(offset + HEADER).cast::<u8>().as_ptr(),
                        length,
                    )
                };
                each(record);
            }
            at += (length + HEADER).next_multiple_of(8) as u64;
            read.store(at, Ordering::Release);
        }
    }
}

fn map(fd: &OwnedFd, length: usize, access: ProtFlags, offset: usize) -> Result<NonNull<c_void>> {
    let length = NonZeroUsize::new(length).context("an empty mapping")?;
    // SAFETY: a new shared mapping of the ring, which `drop` unmaps.
    let mapped = unsafe {
        mmap(
            None,
            length,
            access,
            MapFlags::MAP_SHARED,
            fd,
            offset as i64,
        )
    }?;
    // The traced command begins as a child of ours, whose mappings count as the command's resident set.
    // SAFETY: the mapping was just made, and no child uses it.
    unsafe { madvise(mapped, length.get(), MmapAdvise::MADV_DONTFORK) }?;
    Ok(mapped)
}

/// Readable while there are records. The programs choose for which records a sleeping reader is woken.
impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: both mappings are ours, of these lengths, and nothing refers to them any more.
        unsafe {
            let _ = munmap(self.read, self.page);
            let _ = munmap(self.written, self.page + 2 * self.bytes);
        }
    }
}
