//! Makes each benchmark of divan a section of syscost. Copy to benches/sections/mod.rs, and in the benchmark:
//! `mod sections; use sections::Section;` and `bencher.section("name", || work())` for `bencher.bench(|| work())`.

use std::{cell::Cell, hint::black_box, path::Path};

pub trait Section {
    fn section<O>(self, name: &str, routine: impl FnMut() -> O);
}

impl Section for divan::Bencher<'_, '_> {
    fn section<O>(self, name: &str, mut routine: impl FnMut() -> O) {
        black_box(routine()); // what happens only the first time is not counted
        // divan makes all inputs of a sample first, so their number is that of its iterations.
        let (wanted, made) = (Cell::new(0), Cell::new(0));
        let bencher = self.with_inputs(|| wanted.set(wanted.get() + 1));
        bencher.bench_local_values(|()| {
            if made.replace(made.get() + 1) == 0 {
                let _ = Path::new(&format!("/.syscost/begin/{name}")).exists();
            }
            let output = routine();
            if made == wanted {
                let end = format!("/.syscost/end/{name}/{}", made.replace(0));
                let _ = Path::new(&end).exists();
                wanted.set(0);
            }
            output
        });
    }
}
