use super::*;
use crate::kernel::fake::tree;
use crate::kernel::perf::PARANOID;

fn names(offer: &AvailableEvents) -> Vec<Vec<String>> {
    offer.groups.iter().map(|group| group.iter().map(Countable::name).collect()).collect()
}

const CPU: (&str, &str) = ("sys/bus/event_source/devices/cpu/type", "4\n");

#[test]
fn counters_are_devices_of_a_processor() {
    let with = |device: &str| has_processor_counters(&tree(&[(device, "4\n")]).1);
    assert!(with("sys/bus/event_source/devices/cpu/type"));
    assert!(with("sys/bus/event_source/devices/armv8_cortex_a72/type"));
    assert!(!with("sys/bus/event_source/devices/software/type"));
}

#[test]
fn every_event_has_a_number() {
    for event in EVENTS {
        let attributes = Countable { event, user_only: false }.attributes(0, 0).expect(event.name);
        assert_eq!(attributes.kind == SOFTWARE, !event.hardware, "{}", event.name);
        assert_eq!(attributes.size, 64, "PERF_ATTR_SIZE_VER0");
    }
}

#[test]
fn modes_are_bits() {
    let flags = |name: &str, user_only| {
        let event = Event::find(name).unwrap();
        Countable { event, user_only }.attributes(0, INHERIT).unwrap().flags
    };
    assert_eq!(flags("instructions:u", false), 0b110_0010);
    assert_eq!(flags("instructions:k", false), 0b101_0010);
    assert_eq!(flags("branch-misses", false), 0b10);
    assert_eq!(flags("branch-misses", true), 0b110_0010);
}

#[test]
fn numbers_are_those_of_the_header() {
    let config = |name: &str, extended| {
        let event = Event::find(name).unwrap();
        Countable { event, user_only: false }.attributes(extended, 0).unwrap().config
    };
    assert_eq!((config("cycles:k", 0), config("instructions:u", 0), config("branch-misses", 0)), (0, 1, 5));
    assert_eq!((config("LLC-load-misses", 0), config("dTLB-load-misses", 0)), (0x10002, 0x10003));
    assert_eq!((config("instructions:u", 10), config("page-faults", 10)), (10 << 32 | 1, 2));
}

#[test]
fn groups_fit_into_four_counters_and_software_is_apart() {
    let offer = AvailableEvents::of(&tree(&[CPU]).1, |_| Ok(true));
    let groups = names(&offer);
    assert_eq!(groups[0], ["instructions:k", "instructions:u", "cycles:k", "cycles:u"]);
    assert_eq!(groups[3], ["page-faults", "context-switches", "cpu-migrations"]);
    assert!(offer.refused.is_empty() && offer.has_hardware());
}

#[test]
fn a_machine_without_counters_counts_in_software() {
    let (_keep, sources) = tree(&[("sys/bus/event_source/devices/software/type", "1\n")]);
    let opens = |countable: &Countable| if countable.event.hardware { Err(Errno::ENOENT) } else { Ok(true) };
    let offer = AvailableEvents::of(&sources, opens);
    assert_eq!(names(&offer), [["page-faults", "context-switches", "cpu-migrations"]]);
    assert!(offer.refused.iter().all(|(_, refusal)| *refusal == Refusal::NoCounters) && !offer.has_hardware());
}

#[test]
fn where_kernel_mode_is_refused_user_mode_remains() {
    let (_keep, sources) = tree(&[CPU, (PARANOID, "2\n")]);
    let opens = |countable: &Countable| match countable.event.name {
        "instructions:u" | "cycles:u" => Ok(true),
        _ if countable.user_only => Ok(true),
        _ => Err(Errno::EACCES),
    };
    let offer = AvailableEvents::of(&sources, opens);
    let counted: Vec<String> = names(&offer).concat();
    assert_eq!(counted[..4], ["instructions:u", "cycles:u", "branches:u", "branch-misses:u"]);
    assert_eq!(counted.last().map(String::as_str), Some("page-faults:u"));
    let refused: Vec<&str> = offer.refused.iter().map(|(event, _)| event.name).collect();
    assert_eq!(refused, ["instructions:k", "cycles:k", "context-switches", "cpu-migrations"]);
    assert!(offer.refused[0].1.to_string().starts_with("kernel.perf_event_paranoid is 2,"));
}

#[test]
fn permission_is_no_matter_where_there_are_no_counters() {
    let (_keep, sources) = tree(&[(PARANOID, "2\n")]);
    let opens = |countable: &Countable| match countable.event {
        event if !event.name.ends_with(":u") && !countable.user_only => Err(Errno::EACCES),
        event if event.hardware => Err(Errno::ENOENT),
        _ => Ok(true),
    };
    let offer = AvailableEvents::of(&sources, opens);
    assert_eq!(names(&offer), [["page-faults:u"]]);
    let hardware = offer.refused.iter().filter(|(event, _)| event.hardware);
    assert!(hardware.clone().count() > 8 && hardware.clone().all(|(_, refusal)| *refusal == Refusal::NoCounters));
    assert_eq!(offer.reasons().len(), 2);
}

#[test]
fn each_errno_has_its_reason() {
    let (_keep, with) = tree(&[CPU]);
    let (_keep_too, without) = tree(&[("x", "y")]);
    let of = |sources: &Sources, errno: Errno| explained(errno, &EVENTS[0], sources);
    assert_eq!(of(&without, Errno::EOPNOTSUPP), Refusal::NoCounters);
    assert_eq!(of(&with, Errno::EOPNOTSUPP), Refusal::NotSupported);
    assert_eq!(of(&with, Errno::ENOENT), Refusal::NoSuchEvent);
    assert_eq!(of(&with, Errno::EPERM), Refusal::Filtered);
    assert_eq!(of(&with, Errno::ENOSYS), Refusal::NoPerfEvents);
    assert_eq!(of(&with, Errno::EINVAL), Refusal::Invalid);
    assert_eq!(of(&with, Errno::EBUSY), Refusal::Busy);
    assert_eq!(of(&with, Errno::EMFILE), Refusal::TooManyFiles);
    assert_eq!(of(&with, Errno::E2BIG), Refusal::Other(Errno::E2BIG));
}

#[test]
fn a_group_is_halved_until_events_are_alone() {
    let mut offer = AvailableEvents::of(&tree(&[CPU]).1, |_| Ok(true));
    let first = offer.groups[0].clone();
    assert!(offer.split(&first) && !offer.split(&first));
    assert_eq!(names(&offer)[..2], [["instructions:k", "instructions:u"], ["cycles:k", "cycles:u"]]);
    let half = offer.groups[1].clone();
    assert!(offer.split(&half));
    let alone = offer.groups[1].clone();
    assert!(alone.len() == 1 && !offer.split(&alone));
}

#[test]
fn where_processors_differ_the_type_is_that_of_the_cpu() {
    let hybrid = [
        ("sys/bus/event_source/devices/cpu_core/cpus", "0-3\n"),
        ("sys/bus/event_source/devices/cpu_core/type", "4\n"),
        ("sys/bus/event_source/devices/cpu_atom/cpus", "4-7\n"),
        ("sys/bus/event_source/devices/cpu_atom/type", "10\n"),
    ];
    let (_keep, sources) = tree(&hybrid);
    assert_eq!([Some(1), Some(5), None].map(|cpu| extended_type(&sources, cpu)), [4, 10, 0]);
    assert_eq!(extended_type(&tree(&hybrid[..2]).1, Some(1)), 0);
    assert_eq!(extended_type(&tree(&[CPU]).1, Some(1)), 0);
}

#[test]
fn a_counter_that_was_taken_away_is_not_whole() {
    let at = |count, enabled_ns, running_ns| Reading { count, enabled_ns, running_ns };
    assert!(at(9, 200, 150).since(&at(1, 100, 50)).is_whole());
    assert!(!at(9, 200, 149).since(&at(1, 100, 50)).is_whole());
    assert!(!at(0, 0, 0).is_whole());
}

/// Against the real kernel: this test's own page faults.
#[test]
fn faults_of_a_child_are_counted() {
    let sources = Sources::default();
    let offer = AvailableEvents::here(&sources, None);
    if !names(&offer).concat().iter().any(|name| name.starts_with("page-faults")) {
        return eprintln!("SKIPPED faults_of_a_child_are_counted: {:?}", offer.refused);
    }
    // It starts another process once its input ends.
    let mut shell = std::process::Command::new("sh");
    let shell = shell.args(["-c", "read line; cat </dev/null; true"]).stdin(std::process::Stdio::piped());
    let mut child = shell.spawn().expect("sh");
    let mut attached = Attached::to(child.id(), &offer, &sources).expect("attached");
    let group = attached.groups().iter().position(|group| group[0].event.name == "page-faults").expect("a group");
    attached.switch(group, true).expect("on");
    drop(child.stdin.take());
    child.wait().expect("an end");
    let readings = attached.read(group).expect("readings");
    assert!(readings[0].is_whole() && readings[0].count > 0, "{readings:?}");
}
