//! Guests in other conditions than an empty machine's: rules of audit, and a disk with a file system of its own.

use crate::common::*;
use crate::machines::{self, boot};
use measure::guest::Guest;
use measure::runner::{RunDirectory, Workers, on_path};
use model::Failure;

fn workers() -> Workers {
    machines::workers(RunDirectory::create().unwrap())
}

/// Instructions of one iteration, from two requests of different length.
fn instructions(guest: &Guest, greeting: &str) -> Result<u64, Failure> {
    let channel = guest.channel(greeting)?;
    let of = |n: u64| channel.request(n, 1).map(|reply| reply.batches[0].ns);
    of(2000)?;
    Ok((of(3000)? - of(1000)?) / 2000)
}

#[test]
fn a_guest_puts_its_channels_behind_filters_domains_and_programs() {
    let name = needs!(emulated_kernel());
    let ways = "none seccomp:cached:1 seccomp:cached:100 seccomp:uncached:2 seccomp:uncached:100 landlock:1 landlock:16 \
                bpf:raw_tp bpf:fentry bpf:kprobe cgroup:16 overlay toaster";
    let environments = ways
        .split_whitespace()
        .map(|way| format!("{name} confine={way}"));
    let environments = environments.collect::<Vec<_>>().join(",");
    let output = Place::new().run((
        "run id.getppid file.open_close --no-verify --quiet --format json --env",
        [&*environments],
    ));
    let run = json(&output);
    let record = |way: &str, operation: &str| {
        let mut records = list(&run["records"]).iter();
        let environment = format!("{name} confine={way}");
        let record = records.find(|record| {
            record["environment"] == *environment && record["operation"] == operation
        });
        record.unwrap().clone()
    };
    let calls = |way| record(way, "id.getppid")["instructions"].as_f64().unwrap();
    let opens = |way| {
        let record = record(way, "file.open_close");
        record["instructions"].as_f64().unwrap()
    };
    let none = calls("none");
    // The kernel does not run a filter whose verdict depends on the number alone.
    let cached = calls("seccomp:cached:100");
    assert!(cached > none + 50.0, "{none} {cached}");
    assert_eq!(cached, calls("seccomp:cached:1"));
    // It executes a comparison and a jump for each instruction of the others.
    let (short, long) = (calls("seccomp:uncached:2"), calls("seccomp:uncached:100"));
    assert_eq!(long - short, 2.0 * 98.0);
    // Files only, and each domain for itself.
    assert_eq!(calls("landlock:16"), none);
    let layers = ["none", "landlock:1", "landlock:16"].map(opens);
    assert!(
        layers[1] > layers[0] + 500.0 && layers[2] > layers[1] + 15.0 * 50.0,
        "{layers:?}"
    );
    let programs = ["bpf:raw_tp", "bpf:fentry", "bpf:kprobe"].map(calls);
    assert!(
        programs.iter().all(|program| *program > none + 50.0),
        "{programs:?}"
    );
    assert!(opens("cgroup:16") > layers[0] + 50.0);
    for (way, reason) in [
        ("overlay", "which this kernel does not have"),
        ("toaster", "confine: no such way"),
    ] {
        expect_in(record(way, "id.getppid").to_string(), reason);
    }
}

#[test]
#[cfg_attr(not(feature = "heavy"), ignore = "heavy")]
fn rules_of_audit_cost_instructions_and_directories_on_a_disk_can_ignore_case() {
    let name = needs!(emulated_kernel());
    if on_path("mkfs.ext4").is_none() {
        return skip("no mkfs.ext4 on PATH");
    }
    let workers = workers();
    let guest = boot(
        &workers,
        &name.replacen("linux", "linux-ext4", 1),
        "audit=1",
    )
    .unwrap();
    let with_rules = boot(&workers, &name, "audit=1 SYSCOST_AUDIT_RULES=10").unwrap();
    let [alone, with_rules] =
        [&guest, &with_rules].map(|guest| instructions(guest, "op id.getppid").unwrap());
    // Each rule is at least a comparison of the call's number and one of the user.
    assert!(with_rules > alone + 10 * 5, "{alone} {with_rules}");
    let mounts = guest.file("/proc/mounts").unwrap();
    assert!(
        mounts
            .iter()
            .any(|line| line.starts_with("/dev/nvme0n1 /tmp ext4 ")),
        "{mounts:?}"
    );
    let of = |params: &str| instructions(&guest, &format!("op file.lstat_name {params}")).unwrap();
    let (plain, same, other) = (
        of("size=200"),
        of("folds=1 size=200"),
        of("folds=1 other=1 size=200"),
    );
    // Each of 200 letters is folded for the hash and for the comparison.
    assert!(
        same > plain + 200 && other > plain + 400,
        "{plain} {same} {other}"
    );
    // Only a directory that ignores case looks for an absent name anew, and compares it with each of a few names.
    let absent = |params: &str| of(&format!("absent=1 {params}"));
    assert!(absent("entries=30") < absent("entries=0") + 1000);
    assert!(absent("folds=1 entries=30") > absent("folds=1 entries=0") + 30 * 100);
    let error = instructions(&guest, "op file.lstat_name other=1").unwrap_err();
    assert_eq!(
        error.message,
        "EINVAL: parameter other: from 0 to 0: Invalid argument"
    );
}
