/*
 * probe.h: what an operation sees of the probe.
 *
 * An operation is one `struct operation` in the table at the end of ops/<area>.c: its text fields say what one iteration
 * is, its hooks do it. One process runs one operation, so hooks keep their state in static variables. The working
 * directory is private to the process and is removed with everything in it by whoever made it.
 *
 * Hooks, in the order of their calls:
 *     setup        once, untimed: files, descriptors, partners
 *     prepare(n)   before each batch, untimed (`prepares` declares calls that it makes per iteration)
 *     run(n)       the batch: n iterations between two clock readings
 *     teardown     once: what the removal of the directory and the end of the process do not undo
 * Every operation has two more parameters: `threads` lets so many do it at once, `shared` makes them threads on the same
 * objects rather than processes (see crowd.c).
 * A hook that cannot go on calls fail(): the operation becomes a row with the reason, never a time.
 */
#ifndef SYSCOST_PROBE_H
#define SYSCOST_PROBE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    SWITCHES = 1, /* the iteration itself blocks or changes threads: context switches and idle time are part of it */
    CHILDREN = 2, /* CPU time is spent in children that are waited for: they count in the CPU split */
    MACHINE = 4,  /* the figure depends on a device (disk, timer), not on the kernel's code alone */
    FAULTS = 8,   /* enters the kernel by faults, which the sampler of modes cannot tell from user mode */
    HISTORY = 16, /* the cost depends on what was done to the file system before: the state of its journal, of its lists of
                     free inodes and blocks, of the caches of names; it may change manyfold within minutes */
};

struct operation {
    const char *id;       /* "<area>.<name>", the area being the file's */
    const char *what;     /* what one iteration is, in one line */
    const char *enters;   /* kernel entries per iteration: "openat x1 close x1"; "" for none. Names that other systems or
                             libcs use instead stand behind a slash ("newfstatat/stat x1"); a count may be a fraction
                             ("read x1/4096"), a parameter ("nanosleep x{procs}") or ? where it is not fixed */
    const char *prepares; /* untimed entries per iteration, written alike; NULL for none */
    const char *params;   /* "name=default:what it is" separated by "; "; sizes may be written 4K, 1M; NULL for none */
    const char *systems;  /* "posix", "linux", "linux/x86_64", ... : the systems that have it */
    const char *family;   /* operations of one family are variants of each other (`explain --variants`); or NULL */
    unsigned flags;
    uint64_t limit; /* most iterations a batch may have; 0 for no limit */
    void (*setup)(void);
    void (*prepare)(uint64_t n);
    void (*run)(uint64_t n); /* NULL where the system this was built for lacks it */
    void (*teardown)(void);
};

/* The loop that every `run` is made of. The empty asm keeps the compiler from removing, merging or vectorising it. */
static inline void keep(void) { __asm__ volatile("" ::: "memory"); }
#define LOOP(n) for (uint64_t left_ = (n); left_ != 0; keep(), left_--)
#define NOINLINE __attribute__((noinline, noclone))
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* For the table: hooks that stand under #ifdef __linux__, `.run = LINUX_ONLY(run_gettid)`. */
#ifdef __linux__
#define LINUX_ONLY(hook) hook
#else
#define LINUX_ONLY(hook) NULL
#endif

/* The batch is one of the sampler's, whose ticks may end a call early: EINTR, or less than was asked for. */
extern volatile sig_atomic_t sampled;

/* CHECK(lstat("f", &st) == 0): ends the operation with the call's text and errno unless the condition holds. */
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (__builtin_expect(!(condition), 0) && !sampled) fail(errno, #condition);                                    \
    } while (0)

/* Ends the operation: "error ENOENT <call>: No such file or directory". `error` 0: no errno is printed. */
_Noreturn void fail(int error, const char *call);

/* The value of a parameter that the operation declares, as given or by default. */
uint64_t param(const char *name);

/* The same, of one that must be from `least` to `most`; otherwise the operation ends with a line that says so. */
uint64_t param_within(const char *name, uint64_t least, uint64_t most);

/* A parameter that counts memory in units of `unit` bytes, in bytes. All `copies` together may be half of the machine's
   memory; what is more ends the operation with a line that names the parameter, before any of it is touched. */
size_t param_memory(const char *name, uint64_t unit, uint64_t copies);

/* The parameter `entries`: files to be made in a directory, at most a million and not more than the file system has room
   for. */
uint64_t param_entries(void);

/* Makes a file of `size` bytes (a repeated line of 63 characters and a newline) in the working directory; one that is
   larger than what the file system has free is refused before the first byte. */
void make_file(const char *path, uint64_t size);

/* Starts a process that runs `body` and exits 0; it dies with the probe. `stop_partner` ends it and reaps it. */
pid_t start_partner(void (*body)(void));
void stop_partner(pid_t pid);

/* Makes the directories, the files beside it and the path for the parameters `depth` and `entries`: the returned path
   has `depth` components, the last being `name` (not made), in a directory that holds `entries` other files. A path that
   is too long, or too many files, end the operation with a line that names the parameter. */
const char *make_path(const char *name);

/* Makes a System V object, which outlives processes, so that it is removed even if this process is killed: `make` is
   called with keys that are the run's, which are known before there is any object, until one is free. It must insist on
   a new object (IPC_CREAT | IPC_EXCL); what it returns, the id or -1 with errno, is returned. */
int make_object(int (*make)(key_t key));

/* The same for POSIX message queues: a name that is the run's, another one for each attempt. */
const char *queue_name(int attempt);

/* Path of a file that stands beside the probe's own executable, e.g. "tiny-static". */
const char *beside_probe(const char *name);

#endif
