//! Makes each benchmark of criterion a section of syscost. Copy to benches/sections/mod.rs, and in the benchmark:
//! `mod sections; use sections::Section;` and `b.section("group/name", || work())` for `b.iter(|| work())`.

use std::{env, hint::black_box, path::Path, time::Instant};

pub trait Section {
    fn section<O>(&mut self, name: &str, routine: impl FnMut() -> O);
}

impl Section for criterion::Bencher<'_> {
    fn section<O>(&mut self, name: &str, mut routine: impl FnMut() -> O) {
        let fixed = env::var("SYSCOST_ITERATIONS").map(|text| text.parse().unwrap());
        black_box(routine()); // what happens only the first time is not counted
        self.iter_custom(|wanted| {
            let made: u64 = fixed.clone().unwrap_or(wanted);
            let end = format!("/.syscost/end/{name}/{made}");
            let _ = Path::new(&format!("/.syscost/begin/{name}")).exists();
            let started = Instant::now();
            for _ in 0..made {
                black_box(routine());
            }
            let elapsed = started.elapsed();
            let _ = Path::new(&end).exists();
            elapsed.mul_f64(wanted as f64 / made as f64)
        });
    }
}
