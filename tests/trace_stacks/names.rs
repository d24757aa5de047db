// Calls getppid from a function whose name is mangled.
mod app {
    unsafe extern "C" {
        fn getppid() -> i32;
    }

    #[inline(never)]
    pub fn ask(sum: i64) -> i64 {
        sum + i64::from(unsafe { getppid() })
    }
}

fn main() {
    let mut sum = 0;
    for _ in 0..20 {
        sum = std::hint::black_box(app::ask(sum));
    }
}
