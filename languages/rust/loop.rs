// loop.rs: times the code of a snippet, Rust. The protocol is that of languages/README.md, on descriptors 3 and 4.
//
// The set-up and the body are in main(), where `?` works; the prelude is at file scope. The names of `one_liners` need
// no `use`, and a `use` in the prelude for the same name does not conflict, because it shadows the glob. keep() is
// std::hint::black_box. Every iteration has an empty one, which emits no instruction but keeps the loop (a compiler
// fence does not: the compiler removes an empty loop around it). As with any such harness, arithmetic on local variables
// alone may be hoisted: pass them through keep().
#[allow(unused_imports)]
use one_liners::*;

mod one_liners {
    pub use std::collections::{BTreeMap, HashMap};
    pub use std::fs::{self, File, OpenOptions};
    pub use std::hint::black_box as keep;
    pub use std::io::{self, BufRead, Read, Seek, Write};
    pub use std::process;
    pub use std::sync::{self, Arc, Mutex};
    pub use std::thread;
    pub use std::time::{Duration, Instant, SystemTime};
}

mod syscost {
    use std::fs::File;
    use std::io::{BufRead, BufReader, Lines, Write};
    use std::mem::ManuallyDrop;
    use std::os::unix::io::FromRawFd;

    pub struct Request {
        pub n: u64,
        pub k: usize,
        before: Usage,
    }

    /// CPU time in user and system mode, minor and major faults.
    type Usage = [i64; 4];

    #[cfg(target_os = "linux")]
    mod system {
        use std::os::raw::{c_int, c_long};

        /// struct rusage: two struct timeval, then 14 counters. Declared here because the loop has no crates.
        #[repr(C)]
        #[derive(Default)]
        struct Rusage {
            user: [c_long; 2],
            system: [c_long; 2],
            counters: [c_long; 14],
        }

        const SELF: c_int = 0;
        const THREAD: c_int = 1;

        extern "C" {
            fn getrusage(who: c_int, usage: *mut Rusage) -> c_int;
        }

        fn rusage(who: c_int) -> Rusage {
            let mut usage = Rusage::default();
            unsafe { getrusage(who, &mut usage) };
            usage
        }

        /// Of the process: the body's threads count too, and Linux brings the accounting of a process up to date when
        /// asked, that of a thread at ticks and switches only.
        pub fn usage() -> super::Usage {
            let usage = rusage(SELF);
            let ns = |time: [c_long; 2]| time[0] as i64 * 1_000_000_000 + time[1] as i64 * 1000;
            [ns(usage.user), ns(usage.system), usage.counters[4] as i64, usage.counters[5] as i64]
        }

        pub fn switches() -> i64 {
            rusage(THREAD).counters[13] as i64
        }
    }

    #[cfg(not(target_os = "linux"))]
    mod system {
        pub fn usage() -> super::Usage {
            [0; 4]
        }

        pub fn switches() -> i64 {
            0
        }
    }

    pub use system::switches;

    pub fn put(text: &str) -> std::io::Result<()> {
        // Not closed at the end: it is the process's, not ours.
        ManuallyDrop::new(unsafe { File::from_raw_fd(4) }).write_all(text.as_bytes())
    }

    pub struct Requests(Lines<BufReader<File>>);

    impl Requests {
        pub fn open() -> Self {
            Self(BufReader::new(unsafe { File::from_raw_fd(3) }).lines())
        }
    }

    impl Iterator for Requests {
        type Item = Request;

        fn next(&mut self) -> Option<Request> {
            let line = self.0.next()?.expect("a request can be read");
            let numbers: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
            match numbers[..] {
                [n, k] => Some(Request { n, k: k as usize, before: system::usage() }),
                _ => panic!("a request is not of the form 'N K'"),
            }
        }
    }

    pub fn reply(request: &Request, batches: &[(u128, i64)]) -> std::io::Result<()> {
        let after = system::usage();
        let mut text: String = batches.iter().map(|(ns, switches)| format!("{ns} {switches}\n")).collect();
        text += "total";
        for (after, before) in after.iter().zip(request.before) {
            text += &format!(" {}", after - before);
        }
        put(&(text + "\n"))
    }
}

{{prelude}}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    {{setup}}
    ;
    syscost::put(&format!("ready pid={}\n", std::process::id()))?;
    for syscost_request in syscost::Requests::open() {
        let mut syscost_batches = Vec::with_capacity(syscost_request.k);
        for _ in 0..syscost_request.k {
            let syscost_switched = syscost::switches();
            let mut syscost_i = 0;
            let syscost_start = std::time::Instant::now();
            while syscost_i < syscost_request.n {
                // Both stand before the body, because a `continue` in it would skip what follows.
                syscost_i += 1;
                std::hint::black_box(());
                {{body}}
            }
            let syscost_time = syscost_start.elapsed().as_nanos();
            if syscost_i < syscost_request.n {
                return Err("the body left the loop around it".into());
            }
            syscost_batches.push((syscost_time, syscost::switches() - syscost_switched));
        }
        syscost::reply(&syscost_request, &syscost_batches)?;
    }
    Ok(())
}
