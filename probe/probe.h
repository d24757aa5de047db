/*
 * probe.h: the probe's interface for operations.
 *
 * An operation is one `struct operation` in the table at the end of ops/<area>.c: its text fields describe one
 * iteration, its hooks perform it. One process runs one operation, so hooks keep their state in static variables. The
 * working directory is private to the process and is removed, with everything in it, by whoever created it.
 *
 * Hooks, in the order of their calls:
 *     setup        once, untimed: files, descriptors, partners
 *     own          once in each thread of `shared`, else in the process, after setup and untimed: what threads cannot share
 *     prepare(n)   before each batch, untimed (`prepares` declares the calls that it makes per iteration)
 *     run(n)       the batch: n iterations between two clock readings
 *     teardown     once: what removing the directory and ending the process do not undo
 * Every operation has three more parameters: `threads` runs it that many times at once, `shared` makes these threads on
 * the same objects instead of processes (see crowd.c), and `cold` calls prepare(1) and run(1) in turn, with other work in
 * between (see cold.c).
 * With `shared`, objects that an iteration only uses are those of `setup`, the same for all threads. What it makes, removes, moves
 * or uses up (names in the common directory, places in memory, positions in a file, buffers) each thread has for itself:
 * `own` makes it, in variables declared OWN.
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
    SWITCHES = 1, /* the iteration itself blocks or switches threads: context switches and idle time are part of it */
    CHILDREN = 2, /* CPU time is spent in children that are waited for: they count in the CPU split */
    MACHINE = 4,  /* the time depends on a device (disk, timer), not only on kernel code */
    FAULTS = 8,   /* enters the kernel by faults, which the sampler cannot tell from user mode */
    HISTORY = 16, /* the cost depends on earlier file system activity: the state of its journal, of its lists of free inodes
                     and blocks, of the dentry cache; it may change manyfold within minutes */
    LINKED = 32,  /* means something only in a dynamically linked program: the built-in probe of a static tool lets the dynamic
                     one that it brings measure it */
    SEVERAL = 64, /* its threads choose their CPUs, which are idle in turn: the probe is not only where it was started */
};

struct operation {
    const char *id;       /* "<area>.<name>", with the area of the file */
    const char *what;     /* what one iteration is, in one line */
    const char *enters;   /* kernel entries per iteration: "openat x1 close x1"; "" for none. A name that other systems or
                             libcs use instead follows a slash ("newfstatat/stat x1"), and "vdso" if the vDSO may answer in
                             user mode ("getcpu/vdso x1"); a count may be a fraction
                             ("read x1/4096"), a parameter ("nanosleep x{procs}") or ? if it is not fixed */
    const char *prepares; /* untimed entries per iteration, in the same notation; NULL for none */
    const char *params;   /* "name=default:what it is" separated by "; "; sizes may be written 4K, 1M; NULL for none */
    const char *systems;  /* "posix", "linux", "linux/x86_64", ... : the systems that have it */
    const char *family;   /* operations of one family are variants of each other; or NULL */
    unsigned flags;
    uint64_t limit; /* most iterations a batch may have; 0 for no limit */
    void (*setup)(void);
    void (*own)(void);
    void (*prepare)(uint64_t n);
    void (*run)(uint64_t n); /* NULL if the system that this was built for lacks it */
    void (*teardown)(void);
};

/* The loop of every `run`. The empty asm keeps the compiler from removing, merging or vectorising it. */
static inline void keep(void) { __asm__ volatile("" ::: "memory"); }
#define LOOP(n) for (uint64_t left_ = (n); left_ != 0; keep(), left_--)
#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
#define OWN static _Thread_local
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* For the table: hooks that are under #ifdef __linux__, e.g. `.run = LINUX_ONLY(run_gettid)`. */
#ifdef __linux__
#define LINUX_ONLY(hook) hook
#else
#define LINUX_ONLY(hook) NULL
#endif
#ifdef __APPLE__
#define NOT_ON_MACOS(hook) NULL
#else
#define NOT_ON_MACOS(hook) hook
#endif

/* The batch is being sampled: a tick may end a call early, with EINTR or less than was asked for. */
extern volatile sig_atomic_t sampled;

/* CHECK(lstat("f", &st) == 0): fails the operation with the text of the call and errno unless the condition holds. */
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (__builtin_expect(!(condition), 0) && !sampled) fail(errno, #condition);                                    \
    } while (0)

/* Fails the operation: "error ENOENT <call>: No such file or directory". With `error` 0, no errno is printed. */
_Noreturn void fail(int error, const char *call);

/* The value of a parameter that the operation declares, given or default. */
uint64_t param(const char *name);

/* The same, from `least` to `most`; fails the operation with a message if it is not. */
uint64_t param_within(const char *name, uint64_t least, uint64_t most);

/* A parameter that is an amount of memory in units of `unit` bytes; returns bytes. All `copies` together may take
   half of the machine's memory; if they would take more, fails with the name of the parameter, before any of it is
   touched. */
size_t param_memory(const char *name, uint64_t unit, uint64_t copies);

/* The parameter `entries`: files to create in a directory, at most a million and no more than the file system has
   room for. */
uint64_t param_entries(void);

/* Creates so many empty files, called other-0, other-1, ..., in a directory whose name is empty or ends in a slash. */
void make_entries(const char *directory, uint64_t entries);

/* Creates a file of `size` bytes (a repeated line of 63 characters and a newline) in the working directory; fails
   before the first byte if the file system does not have that much room. */
void make_file(const char *path, uint64_t size);

/* Starts a process that runs `body` and exits 0; it is killed if the probe dies. `stop_partner` kills and reaps it. */
pid_t start_partner(void (*body)(void));
void stop_partner(pid_t pid);

/* A name in the common directory for what this thread makes: `name` itself, but for companions of `shared`. */
const char *own_name(const char *name);

/* Whether companions are threads of this process. */
int is_shared(void);

/* Creates the directories, the files and the path for the parameters `depth` and `entries`: the returned path has
   `depth` components, the last being own_name(`name`) (not created), in a directory with `entries` other files. Fails with the
   name of the parameter if the path is too long or there are too many files. */
const char *make_path(const char *name);

/* Creates a System V object, which outlives processes, such that it is removed even if this process is killed: calls
   `make` with keys of the run, which the janitor knows in advance, until one is free. `make` must create a new
   object (IPC_CREAT | IPC_EXCL) and return its id, or -1 with errno; so does this. */
int make_object(int (*make)(key_t key));

/* The same for POSIX message queues: a name that belongs to the run, a different one for each attempt. */
const char *queue_name(int attempt);

/* The path of a file beside the probe's own executable, e.g. "tiny-static". */
const char *beside_probe(const char *name);

#endif
