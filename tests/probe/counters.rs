//! Counted events against the real kernel. What cannot be tested here is said on standard error.

use crate::common::{PATIENCE, Place, skip};
use measure::counters;
use measure::plan::{Choices, Subject, select};
use measure::runner::{Interrupt, RunDirectory, Workers, read_catalogue};
use model::Operation;
use sys::Sources;
use sys::affinity::{Placement, Wanted};
use sys::counters::{Offer, offer};

struct Machine {
    workers: Workers,
    catalogue: Vec<Operation>,
    offer: Offer,
}

/// This machine; `None`, said loudly, if software events cannot be counted on it.
fn machine() -> Option<Machine> {
    let offer = offer(&Sources::default());
    if let Some((event, Err(why))) = offer
        .iter()
        .find(|(event, refused)| !event.is_hardware() && refused.is_err())
    {
        skip(&format!("{}: {why}", event.name));
        return None;
    }
    let directory = RunDirectory::create().unwrap();
    let catalogue = read_catalogue(&directory.probe()).unwrap();
    let placement = Placement::choose(Wanted::Best).unwrap();
    let workers = Workers::new(directory, placement, Interrupt::default(), PATIENCE);
    Some(Machine {
        workers,
        catalogue,
        offer,
    })
}

impl Machine {
    fn count(&self, id: &str, event: &str) -> f64 {
        let operation = self
            .catalogue
            .iter()
            .find(|operation| operation.id == id)
            .unwrap();
        let planned = select(
            &self.catalogue,
            &[Subject::Operation(operation)],
            &Choices::default(),
        )
        .unwrap()
        .remove(0);
        let counters =
            counters::count(&self.workers, &planned, &self.offer, counters::LONG).unwrap();
        stats::event_count(&counters[event]).unwrap().value
    }
}

#[test]
fn page_faults_and_switches_are_counted_in_children_and_partners_too() {
    let Some(machine) = machine() else {
        return;
    };
    // mem.madvise: each page is written to, untimed, before it is given back.
    for (id, expected) in [
        ("mem.fault_anonymous", 1.0),
        ("id.getppid", 0.0),
        ("mem.madvise", 0.0),
    ] {
        let faults = machine.count(id, "page-faults");
        assert!((faults - expected).abs() < 0.01, "{id}: {faults}");
    }
    assert!(machine.count("process.fork_wait", "page-faults") > 3.0);
    let switches = machine.count("ipc.pipe", "context-switches");
    assert!(
        switches > 1.5,
        "there and back, each of the two sleeps once: {switches}"
    );
}

#[test]
fn a_run_counts_and_shows() {
    let Some(machine) = machine() else {
        return;
    };
    let place = Place::new();
    let run = [
        "run",
        "mem.fault_anonymous",
        "--time",
        "0.5",
        "--quiet",
        "--view",
        "counters",
        "--out",
        "a.json",
    ];
    let table = place.printed(&run);
    assert!(
        table.contains("page-faults") && table.contains("call.direct"),
        "{table}"
    );
    assert_eq!(
        table.contains("not counted:"),
        machine.offer.iter().any(|(_, refused)| refused.is_err()),
        "{table}"
    );
    assert_eq!(
        place.printed(&["show", "a.json", "--view", "counters"]),
        table
    );
    let csv = place.printed(&["show", "a.json", "--view", "counters", "--format", "csv"]);
    assert!(
        csv.starts_with("operation,") && csv.contains("page-faults"),
        "{csv}"
    );
}
