use super::*;
use crate::bpf::layout::state;
use crate::bpf::selection::{PREEMPTIBLE, REGISTERS_OF_TASKS};
use crate::bpf::*;

#[test]
fn the_tail_of_the_verifiers_log_is_one_line() {
    assert_eq!(
        log_tail(b"a\nb\n\nc\nd\nR1 invalid\nprocessed 5 insns\n\0junk"),
        "b | c | d | R1 invalid"
    );
    assert_eq!(log_tail(&[0; 8]), "no reason given");
}

#[test]
fn what_changes_while_it_is_read_is_read_again_and_reported() {
    fn reads(numbers: Vec<u64>) -> (i32, bool) {
        let mut numbers = numbers.into_iter();
        let mut count = 0;
        let actual = until_whole(vec![numbers.next().unwrap()], || {
            count += 1;
            Ok((vec![numbers.next().unwrap()], count))
        });
        actual.unwrap()
    }

    assert_eq!(reads(vec![4, 4]), (1, true));
    assert_eq!(reads(vec![4, 6, 8, 8]), (3, true));
    // An entry that is being handed over is in both maps, or in neither.
    assert_eq!(reads(vec![5, 5, 6, 6]), (3, true));
    assert_eq!(reads((0..40).collect()), (20, false));
}

#[test]
fn the_verifier_takes_every_variant() {
    if let Err(why) = crate::bpf::available() {
        return eprintln!("SKIPPED: {why}");
    }
    let all = Wanted {
        paths: true,
        descriptors: true,
        stacks: true,
        callers: false,
        slowest: true,
        waits: true,
    };
    let waits = Wanted {
        waits: true,
        callers: true,
        ..Wanted::default()
    };
    let (old, new) = ((5, 14), PREEMPTIBLE);
    for (record, scope, release, casts) in [
        (Record::Times, Scope::Command, new, true),
        (Record::Counts, Scope::Command, REGISTERS_OF_TASKS, true),
        (Record::Times, Scope::Processes, REGISTERS_OF_TASKS, false),
        (Record::Counts, Scope::Cgroup(1), old, true),
        (Record::Times, Scope::System, old, false),
        (Record::Counts, Scope::System, new, true),
        (Record::Samples, Scope::Command, new, true),
        (Record::Samples, Scope::System, REGISTERS_OF_TASKS, false),
    ] {
        let paths = Wanted {
            paths: true,
            ..Wanted::default()
        };
        let descriptors = Wanted {
            descriptors: true,
            ..Wanted::default()
        };
        let none = (Wanted::default(), GroupBy::Cgroup);
        for (details, group_by) in [
            none,
            (all, GroupBy::Tree),
            (waits, GroupBy::Tree),
            (paths, GroupBy::Tree),
            (descriptors, GroupBy::Name),
        ] {
            let config = Config {
                record,
                scope,
                group_by,
                calls: Box::default(),
                details,
                interruption: Some(Duration::from_micros(5)),
            };
            Programs::load_with(&config, release, casts).unwrap();
        }
    }
}

#[test]
fn nothing_counts_after_the_end() {
    fn pause() {
        std::thread::sleep(Duration::from_millis(50))
    }

    fn calls(raw: &Raw) -> u64 {
        raw.calls.iter().map(|(_, counted)| counted.calls).sum()
    }

    if let Err(why) = crate::bpf::available() {
        return eprintln!("SKIPPED: {why}");
    }
    let config = Config {
        record: Record::Times,
        scope: Scope::Processes,
        group_by: GroupBy::Name,
        calls: Box::default(),
        details: Wanted::default(),
        interruption: None,
    };
    let mut programs = Programs::load(&config).unwrap();
    programs.attach().unwrap();
    programs.begin().unwrap();
    let mut yes = std::process::Command::new("yes");
    let mut yes = yes.stdout(std::process::Stdio::null()).spawn().unwrap();
    let pidfd = crate::pidfd::open(yes.id().cast_signed()).unwrap();
    programs.mark(pidfd.as_fd(), state::LIVE).unwrap();
    programs.begin_present().unwrap();
    pause();
    programs.end().unwrap();
    let raw = programs.read().unwrap();
    pause();
    let later = programs.read().unwrap();
    yes.kill().unwrap();
    yes.wait().unwrap();
    assert!(calls(&raw) > 0);
    assert_eq!((calls(&later), later.now_ns), (calls(&raw), raw.now_ns));
    let ran_ns: Vec<u64> = raw.live.iter().map(|task| task.used.ran_ns).collect();
    assert!(ran_ns.len() == 1 && later.live.is_empty(), "{ran_ns:?}");
}

/// libbpf has a list of names of sections, and maps what has the flag for that.
#[test]
fn the_object_leaves_nothing_to_its_loader_that_libbpf_does_not_do() {
    let object = Object::parse(object::BYTES).unwrap();
    let attached_to = ["task", "", "sys_enter"].map(|target| {
        let programs = object.programs.iter();
        programs.filter(|program| program.target == target).count()
    });
    assert_eq!((attached_to, object.programs.len()), ([2, 2, 1], 19));
    const EXIT: u64 = 0x95;
    assert!(
        object
            .programs
            .iter()
            .all(|program| program.code.contains(&EXIT)),
        "each has its own part of a section"
    );
    for name in ["tasks", "windows", "details"] {
        assert_eq!(
            object.map(name).unwrap().flags,
            crate::bpf::maps::MAPPABLE,
            "{name}"
        );
    }
}
