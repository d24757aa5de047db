#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| syscost_fuzz::run("explained", bytes));
