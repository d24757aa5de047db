//! Guests: other kernels in machines of their own. They need an emulator and an image that 'syscost kernel fetch' got.

mod common;

use common::skip;
use std::path::PathBuf;
use std::time::Duration;
use syscost::guest::images::Images;
use syscost::guest::{Guest, Options};
use syscost::kernel::affinity::Placement;
use syscost::model::{Failure, FailureKind};
use syscost::runner::{Interrupt, RunDirectory, Workers};

const EMULATOR: &str = "qemu-system-x86_64";
const TIMEOUT: Duration = Duration::from_secs(30);

/// The newest fetched image for the emulator.
fn image() -> Option<PathBuf> {
    let all = Images::open().ok()?.all();
    all.into_iter().map(|(image, _)| image).find(|image| image.architecture == "x86_64").map(|image| image.path)
}

/// The name of an environment that can be booted here, or says that the test is skipped.
fn environment(test: &str) -> Option<String> {
    let on_path = std::env::split_paths(&std::env::var_os("PATH")?).any(|directory| directory.join(EMULATOR).exists());
    match image() {
        Some(path) if on_path => return Some(format!("linux:{}", path.display())),
        Some(_) => skip(test, "no qemu-system-x86_64 on PATH"),
        None => skip(test, "no kernel image: syscost kernel fetch 6.1"),
    }
    None
}

fn workers() -> Workers {
    let placement = Placement { measuring: None, driver: Vec::new(), reason: String::new() };
    Workers::new(RunDirectory::create().unwrap(), placement, Interrupt::default(), TIMEOUT)
}

fn boot(workers: &Workers, name: &str, append: &str) -> Result<Guest, Failure> {
    Guest::boot(workers, name, &Options { append: append.into(), ..Options::default() })
}

#[test]
fn a_guest_answers_on_several_channels() {
    let Some(name) = environment("a_guest_answers_on_several_channels") else { return };
    let workers = workers();
    let guest = boot(&workers, &name, "audit=0").unwrap();
    assert!(guest.file("/proc/cmdline").unwrap()[0].ends_with("audit=0"));
    assert_eq!(guest.file("/proc/sys/kernel/osrelease").unwrap(), [guest.release()]);
    let (first, second) = (guest.channel("op id.getppid").unwrap(), guest.channel("op id.umask").unwrap());
    for channel in [&second, &first, &second] {
        let reply = channel.request(100, 3, TIMEOUT).unwrap();
        assert_eq!(reply.batches.len(), 3);
        assert!(reply.batches.iter().all(|batch| (2_000..10_000_000).contains(&batch.ns)), "{reply:?}");
    }
    let none = guest.channel("op no.such").err().unwrap();
    assert_eq!(none.message, "no such operation");
    let missing = guest.file("/no/such").unwrap_err();
    assert_eq!(missing.message, "the guest answered: ENOENT /no/such: No such file or directory");
    drop(second);
    assert_eq!(first.request(1, 1, TIMEOUT).unwrap().batches.len(), 1);
    assert!(guest.is_alive());
}

#[test]
fn a_guest_that_panics_says_so() {
    let Some(name) = environment("a_guest_that_panics_says_so") else { return };
    let failure = boot(&workers(), &name, "rdinit=/nothing root=/dev/none").err().unwrap();
    assert_eq!(failure.kind, FailureKind::Crashed);
    assert!(failure.message.contains("Kernel panic - not syncing: "), "{failure}");
}
