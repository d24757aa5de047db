//! Counting with a worker whose iterations have a fixed cost.

use super::*;
use crate::model::{Case, EVENTS, Event, Role};

fn countable(name: &str) -> Countable {
    Countable { event: Event::find(name).expect("an event"), user_only: false }
}

/// A worker whose iterations have a fixed cost, with so many counters.
#[derive(Default)]
struct Fake {
    offer: AvailableEvents,
    per_iteration: f64,
    free: usize,
    on: Option<usize>,
    n: u64,
    count: f64,
    enabled_ns: u64,
    running_ns: u64,
    most: u64,
}

fn fake(names: &[&str], free: usize) -> Fake {
    let groups = vec![names.iter().map(|name| countable(name)).collect()];
    Fake {
        offer: AvailableEvents { groups, ..AvailableEvents::default() },
        per_iteration: 274.5,
        free,
        most: u64::MAX,
        ..Fake::default()
    }
}

impl Bench for Fake {
    fn groups(&self) -> Vec<Vec<Countable>> {
        self.offer.groups.clone()
    }

    fn switch(&mut self, group: usize, on: bool) -> Result<(), Failure> {
        self.on = on.then_some(group);
        Ok(())
    }

    fn read(&mut self, group: usize) -> Result<Vec<Reading>, Failure> {
        let (enabled_ns, running_ns) = (self.enabled_ns, self.running_ns);
        let reading = Reading { count: self.count as u64, enabled_ns, running_ns };
        Ok(vec![reading; self.offer.groups[group].len()])
    }

    fn prepare(&mut self, n: u64) -> Result<(), Failure> {
        assert!(n <= self.most, "{n}");
        self.n = n;
        Ok(())
    }

    fn run(&mut self) -> Result<(), Failure> {
        let Some(group) = self.on else { return Ok(()) };
        let fits = self.offer.groups[group].len() <= self.free;
        self.enabled_ns += 1000;
        if fits {
            self.running_ns += 1000;
            self.count += 5000.0 + self.per_iteration * self.n as f64;
        }
        Ok(())
    }
}

fn planned(limit: Option<u64>) -> Planned {
    Planned { limit, ..Planned::new(Case::native("id.getppid"), Role::Asked) }
}

fn counted(fake: &mut Fake, launches: usize) -> Counters {
    let mut found = Found::default();
    let mut offer = fake.offer.clone();
    for _ in 0..launches {
        fake.offer = offer.clone();
        found.add(one_launch(fake, &planned(None), LONG).expect("a launch"), &mut offer);
    }
    found.counters(&offer)
}

#[test]
fn what_does_not_grow_with_n_cancels() {
    let counters = counted(&mut fake(&["instructions:k", "cycles:k"], 4), 2);
    assert!(counters.not_counted.is_empty());
    let launches = &counters.counted["instructions:k"];
    assert_eq!((launches.len(), launches[0].len()), (2, PAIRS));
    assert!(launches.iter().flatten().all(|count| (count - 274.5).abs() < 0.01), "{launches:?}");
}

#[test]
fn a_group_that_does_not_fit_is_split_and_never_scaled() {
    let counters = counted(&mut fake(&["instructions:k", "instructions:u", "cycles:k", "cycles:u"], 2), 3);
    assert_eq!(counters.counted.len(), 4);
    assert!(counters.counted.values().all(|launches| launches.len() == 2), "the first launch had no counters");
    assert!(counters.counted.values().flatten().flatten().all(|count| (count - 274.5).abs() < 0.01));
}

#[test]
fn without_a_free_counter_there_is_a_reason_and_no_number() {
    let counters = counted(&mut fake(&["instructions:k", "cycles:k"], 0), 3);
    assert!(counters.counted.is_empty());
    assert_eq!(counters.not_counted["cycles:k"], NOT_WHOLE);
}

#[test]
fn a_counter_that_does_not_count_is_not_believed() {
    let mut still = fake(&["cycles:u"], 4);
    still.per_iteration = 0.0;
    let whole = Reading { count: 0, enabled_ns: 9, running_ns: 9 };
    assert_eq!(difference(&still.offer.groups[0], &[whole], &[whole], 8), Err(Doubt::Zero(0)));
    let misses = [countable("branch-misses")];
    assert_eq!(difference(&misses, &[whole], &[whole], 8), Ok(vec![0.0]));
}

#[test]
fn requests_stay_within_the_limit() {
    for limit in [3, 4, 64, 100, 4096] {
        let mut fake = Fake { most: limit, ..fake(&["page-faults"], 4) };
        let more = step(&mut fake, limit, 1).expect("a step");
        assert!(base(more) + more <= limit, "{limit}: {more}");
        one_launch(&mut fake, &planned(Some(limit)), LONG).expect("a launch");
    }
    assert_eq!(step(&mut fake(&["page-faults"], 4), u64::MAX, 1), Ok(MOST), "it takes no time");
    assert_eq!(step(&mut fake(&["page-faults"], 4), 100, 1 << 20), Ok(64));
}

#[test]
fn a_warning_names_events_by_reason() {
    use crate::kernel::counters::Refusal;
    let refused = EVENTS[..6].iter().map(|event| (event, Refusal::NoSuchEvent)).collect();
    let offer = AvailableEvents { refused, ..AvailableEvents::default() };
    let text = warning(&offer).expect("a warning");
    assert!(text.starts_with("not counted (--counters): instructions:k, instructions:u, "), "{text}");
    assert!(text.ends_with("this processor does not have the event"), "{text}");
    assert_eq!(warning(&AvailableEvents::default()), None);
}
