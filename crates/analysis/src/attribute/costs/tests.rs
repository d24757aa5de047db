//! Prices of a synthetic run.

use super::*;
use crate::fit::synthetic::{Noise, Strategy, run};
use model::DescriptorKind;
use model::fixtures::called;

fn read(size: u64) -> CallCount {
    let class = Class {
        size: Some(size),
        descriptor: Some(DescriptorKind::Device),
        ..Class::default()
    };
    CallCount {
        class,
        ..called("read", 1)
    }
}

/// 100 ns up to 64 bytes, then in proportion to the size.
fn costs() -> Costs {
    fn cost(size: u64) -> f64 {
        100.0 * (size.max(64) as f64 / 64.0)
    }

    of_run(&[("io.read_zero", &[1, 64, 4096], &cost)])
}

fn of_run(strategies: &[Strategy]) -> Costs {
    Costs::from_run(&run(strategies, 12, Noise::NONE), None).unwrap()
}

fn priced(costs: &Costs, size: u64) -> Price {
    costs.prices(costs, &read(size)).unwrap().0
}

#[test]
fn costs_lie_on_the_line_between_logarithms() {
    fn price_at(size: u64) -> Price {
        priced(&costs(), size)
    }

    for (size, ns) in [
        (1, 100.0),
        (8, 100.0),
        (64, 100.0),
        (512, 800.0),
        (4096, 6400.0),
        (0, 100.0),
    ] {
        assert!(
            (price_at(size).ns / ns - 1.0).abs() < 1e-6,
            "{size}: {:?}",
            price_at(size)
        );
    }
    // Beyond the measured values the nearest is taken.
    assert_eq!(price_at(16384).ns.round(), 6400.0);
}

#[test]
fn both_sides_are_priced_by_the_same_operation() {
    let (other, reads) = (of_run(&[("io.pread", &[4096], &|_| 50.0)]), read(4096));
    assert_eq!(costs().prices(&other, &reads), None);
    assert!(costs().prices(&costs(), &reads).is_some());
}

fn price_of_opens(costs: &Costs, failures: u64) -> (f64, String) {
    let errors = [("ENOENT".to_string(), failures)]
        .into_iter()
        .filter(|(_, calls)| *calls > 0)
        .collect();
    let opens = CallCount {
        errors,
        ..called("openat", 4)
    };
    let (price, _) = costs.prices(costs, &opens).unwrap();
    (price.ns.round(), price.basis.operation)
}

#[test]
fn failures_are_priced_as_failures() {
    let (opened, absent, closed): (_, _, &[u64]) = (|_| 1500.0, |_| 600.0, &[1]);
    let costs = of_run(&[
        ("file.open_close", closed, &opened),
        ("file.close", closed, &|_| 500.0),
        ("file.open_absent", closed, &absent),
    ]);
    let expected = [
        (0, 1000.0, "file.open_close"),
        (1, 900.0, "file.open_close"),
        (4, 600.0, "file.open_absent"),
    ];
    for (failures, ns, basis) in expected {
        assert_eq!(price_of_opens(&costs, failures), (ns, basis.to_string()));
    }
}

#[test]
fn cold_rows_are_no_unit_costs() {
    fn cost(size: u64) -> f64 {
        if size == 64 { 500.0 } else { 50.0 }
    }

    let mut run = run(&[("io.read_zero", &[64, 4096], &cost)], 12, Noise::NONE);
    run.records[0].case.params.insert("cold".into(), 4096);
    let price = priced(&Costs::from_run(&run, None).unwrap(), 64);
    assert_eq!(price.ns.round(), 50.0);
}
