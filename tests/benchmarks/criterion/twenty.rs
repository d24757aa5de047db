//! Twenty benchmarks; the one that PLANTED names makes a call of stat more.

mod sections;

use criterion::{Criterion, criterion_main};
use sections::Section;
use std::{env, fs::metadata, process::Command};

fn work(number: usize, is_planted: bool) {
    for _ in 0..number % 4 + 1 + usize::from(is_planted) {
        metadata("/etc/passwd").unwrap();
    }
    if number == 7 {
        assert!(Command::new("true").status().unwrap().success());
    }
}

fn twenty() {
    let mut criterion = Criterion::default().configure_from_args();
    for number in 0..20 {
        let name = format!("b{number:02}");
        let is_planted = env::var("PLANTED").as_ref() == Ok(&name);
        criterion.bench_function(&name, |b| b.section(&name, || work(number, is_planted)));
    }
}

criterion_main!(twenty);
