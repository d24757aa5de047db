//! Twenty benchmarks; the one that PLANTED names makes a call of stat more.

mod sections;

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

macro_rules! benchmarks {
    ($($name:ident $number:literal)*) => { $(
        #[divan::bench]
        fn $name(bencher: divan::Bencher) {
            let is_planted = env::var("PLANTED").as_deref() == Ok(stringify!($name));
            bencher.section(stringify!($name), || work($number, is_planted));
        }
    )* };
}

benchmarks! {
    b00 0 b01 1 b02 2 b03 3 b04 4 b05 5 b06 6 b07 7 b08 8 b09 9
    b10 10 b11 11 b12 12 b13 13 b14 14 b15 15 b16 16 b17 17 b18 18 b19 19
}

fn main() {
    divan::main();
}
