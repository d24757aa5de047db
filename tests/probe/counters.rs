//! Counted events against the real kernel. What cannot be tested here is said on standard error.

use crate::common::*;
use measure::counters;
use sys::Sources;
use sys::counters::{Offer, offer};

/// What can be counted here; `None`, said loudly, if software events cannot.
fn offered() -> Option<Offer> {
    let offer = offer(&Sources::default());
    for (event, refused) in &offer {
        if let (false, Err(why)) = (event.is_hardware(), refused) {
            skip(&format!("{}: {why}", event.name));
            return None;
        }
    }
    Some(offer)
}

#[test]
fn page_faults_and_switches_are_counted_in_children_and_partners_too() {
    let (offer, machine) = (needs!(offered()), Machine::new());
    let count = |id: &str, event: &str| {
        let planned = machine.planned(id);
        let counters =
            counters::count_events(&machine.workers, &planned, &offer, counters::LONG).unwrap();
        stats::event_count(&counters[event]).unwrap().value
    };
    // mem.madvise: each page is written to, untimed, before it is given back.
    for (id, expected) in [
        ("mem.fault_anonymous", 1.0),
        ("id.getppid", 0.0),
        ("mem.madvise", 0.0),
    ] {
        let faults = count(id, "page-faults");
        assert!((faults - expected).abs() < 0.01, "{id}: {faults}");
    }
    assert!(count("process.fork_wait", "page-faults") > 3.0);
    let switches = count("ipc.pipe", "context-switches");
    assert!(
        switches > 1.5,
        "there and back, each of the two sleeps once: {switches}"
    );
}

#[test]
fn a_run_counts_and_shows() {
    let offer = needs!(offered());
    let place = Place::new();
    let run = "run mem.fault_anonymous --time 0.5 --quiet --view counters --out a.json";
    let table = place.printed(run);
    expect_in(&table, ["page-faults", "call.direct"]);
    assert_eq!(
        table.contains("not counted:"),
        offer.iter().any(|(_, refused)| refused.is_err()),
        "{table}"
    );
    assert_eq!(place.printed("show a.json --view counters"), table);
    let csv = place.printed("show a.json --view counters --format csv");
    assert!(
        csv.starts_with("operation,") && csv.contains("page-faults"),
        "{csv}"
    );
}
