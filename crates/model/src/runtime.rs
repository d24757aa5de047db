//! Functions through which programs make system calls, whoever calls them: those of the C library and of the runtimes of languages.

use crate::syscall_names::is_known;

/// The functions of CPython in which threads wait for objects of the module `threading`. From 3.13 on, locks and joins share the second.
pub const PYTHON_LOCKS: [(&str, &str); 2] = [
    ("PyThread_acquire_lock_timed", "Lock"),
    ("_PyParkingLot_Park", "Lock, RLock or join"),
];

/// The beginnings of the names of the C library's functions in which threads wait for others, and for what.
const AWAITED: [(&str, &str); 4] = [
    ("sem_", "semaphore"),
    ("pthread_cond_", "condition variable"),
    ("pthread_rwlock_", "rwlock"),
    ("pthread_barrier_", "barrier"),
];

/// `semaphore` of `sem_wait`
pub fn awaited(function: &str) -> Option<&'static str> {
    let bare = bare(function);
    let known = AWAITED.iter().find(|(begin, _)| bare.starts_with(begin));
    known.map(|(_, kind)| *kind)
}

/// `semaphore jobs`, `thread 7 to end`: the object of a wait, which is not the call's argument.
pub fn is_awaited(on: &str) -> bool {
    let mut kinds = AWAITED.iter().map(|(_, kind)| *kind);
    on.starts_with("thread ") || kinds.any(|kind| on.starts_with(kind))
}

/// The beginnings of the names of files.
const LIBRARIES: &[&str] = &[
    "libc.",
    "libc-",
    "ld-",
    "ld.",
    "libpthread",
    "libstdc++",
    "libm.",
    "libgcc_s",
    "[vdso]",
    "libuv.",
    "libevent",
    // Java's native methods.
    "libjvm.",
    "libjava.",
    "libnio.",
    "libnet.",
    "libjli.",
    "libzip.",
];

/// Packages of the standard libraries of Go and Java, whose functions are called `PACKAGE.NAME`.
const PACKAGES: &[&str] = &[
    "archive", "bufio", "bytes", "compress", "context", "crypto", "database", "encoding", "fmt",
    "hash", "html", "internal", "io", "log", "mime", "net", "os", "path", "reflect", "runtime",
    "sort", "strings", "sync", "syscall", "text", "time", "java", "javax", "jdk", "sun",
];

/// The beginnings of the names of functions in programs that have their library in them.
const FUNCTIONS: &[&str] = &[
    // The C library.
    "pthread_",
    "futex_",
    "syscall",
    "lll_lock",
    "sem_",
    "usleep",
    "sleep",
    "getaddrinfo",
    // Rust.
    "std::",
    "<std::",
    "core::",
    "<core::",
    "alloc::",
    "parking_lot",
    // Java.
    "Unsafe_Park",
    "Parker::",
    "Monitor",
    "ObjectMonitor",
    "PlatformEvent::",
    "os::",
    // Event loops in C.
    "uv_",
    "event_base_loop",
    "epoll_dispatch",
    // CPython.
    "Py_",
    "PyEval_",
    "PyMutex_",
    "PyObject_",
    "PyRun_",
    "PyThread_",
    // Perl.
    "Perl_",
    "perl_",
    // Ruby.
    "rb_",
    // Node.js.
    "v8::",
    "node::",
    "Builtins_",
    // The first functions of threads.
    "start_thread",
    "clone",
];

/// The beginnings of the names of functions in which runtimes schedule and maintain their threads: programs do not call them.
const SCHEDULERS: &[&str] = &[
    // Go. Goroutines begin in `runtime.goexit`.
    "runtime.mcall",
    "runtime.mstart",
    "runtime.systemstack",
    // Java.
    "CompileBroker::",
    "ConcurrentGCThread::",
    "VMThread::",
    "WatcherThread::",
    "WorkerThread::",
    // Node.js.
    "node::(anonymous namespace)::PlatformWorkerThread",
];

/// Whether a runtime calls it to schedule or maintain its threads.
pub fn is_scheduler(function: &str) -> bool {
    SCHEDULERS.iter().any(|begin| function.starts_with(begin))
}

/// `load` and `app.c:12` of `load (app.c:12)`.
pub fn name_and_line(function: &str) -> (&str, Option<&str>) {
    let line = function.strip_suffix(')');
    let parts = line.and_then(|function| function.rsplit_once(" ("));
    parts.map_or((function, None), |(name, line)| (name, Some(line)))
}

/// The C library, or a runtime.
pub fn is_library(file: &str) -> bool {
    LIBRARIES.iter().any(|begin| file.starts_with(begin))
}

fn bare(function: &str) -> &str {
    function
        .trim_start_matches('_')
        // Aliases within glibc are named `__GI_NAME`.
        .trim_start_matches("GI_")
        .trim_start_matches("libc_")
        .trim_start_matches("new_")
}

/// Whether a name is that of a function of the C library or of a runtime, or of none.
pub fn is_runtime(function: &str) -> bool {
    let bare = bare(function);
    function.starts_with(['[', '/'])
        || function == "_start"
        || function.starts_with("__")
        || function.starts_with("_Py")
        || function.contains("+0x")
        || function.contains(":0x")
        || !bare.contains(char::is_alphabetic)
        || is_known(bare)
        || FUNCTIONS.iter().any(|begin| bare.starts_with(begin))
        // Node.js.
        || function.contains(" (node:")
        || is_in_package(function)
}

/// `os.(*File).Write`, `net/http.(*conn).serve`; but not `io.part.0`, a piece of a C function.
fn is_in_package(function: &str) -> bool {
    const PIECES: &[&str] = &["part", "constprop", "isra", "cold", "llvm"];
    let Some((package, name)) = function.split_once(['.', '/']) else {
        return false;
    };
    PACKAGES.contains(&package) && !PIECES.iter().any(|piece| name.starts_with(piece))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_wait_name_their_object() {
        for (function, expected) in [
            ("sem_clockwait", Some("semaphore")),
            ("__new_sem_wait_slow64.constprop.0", Some("semaphore")),
            ("___pthread_cond_wait", Some("condition variable")),
            ("pthread_mutex_lock", None),
            ("semantics", None),
        ] {
            assert_eq!(awaited(function), expected, "{function}");
        }
    }

    #[test]
    fn functions_of_standard_libraries_are_the_runtimes() {
        for (function, expected) in [
            ("os.(*File).Write", true),
            ("net/http.(*conn).serve", true),
            ("runtime.mcall", true),
            ("main.logLine", false),
            ("example.com/os.Write", false),
            ("io.part.0", false),
            ("Builtins_CallApiCallback", true),
            ("java.io.FileOutputStream.write", true),
            ("J.main", false),
            ("renameSync (node:fs:1029)", true),
            ("saveAll (n.js:2)", false),
        ] {
            assert_eq!(is_runtime(function), expected, "{function}");
        }
    }
}
