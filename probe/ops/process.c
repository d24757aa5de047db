/*
 * process.c: creating processes and threads, executing programs in them and waiting for them. The times include
 * everything that the child does: libc's initialisation of a process or thread, and the start-up of an executed
 * program.
 */
#include "../loader.h"
#include "../probe.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#define LINUX_ONLY(hook) hook
#else
#define LINUX_ONLY(hook) NULL
#endif

/* ---- memory of the parent, whose page tables fork() has to copy ---- */

static void fill_memory(const char *call, size_t size) {
    volatile char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail(errno, call);
#ifdef MADV_NOHUGEPAGE
    CHECK(madvise((void *)memory, size, MADV_NOHUGEPAGE) == 0 || errno == EINVAL); /* EINVAL: no huge pages */
#endif
    for (size_t i = 0; i < size; i += 4096) memory[i] = 1;
}

static void touch_memory(void) {
    size_t size = param_memory("rss", 1 << 20, 1);
    if (size == 0) return;
    fill_memory("parameter rss: mmap()", size);
}

/* ---- children that exit at once or execute the tiny program ---- */

static const char *program;
static char *const arguments[] = {"tiny", NULL};
static char *const no_environment[] = {NULL}; /* LD_PRELOAD and the like would change what the program does */
static volatile int exec_error;               /* set by a child that shares its parent's memory */

static void reap(pid_t pid) {
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    if (status == 0) return;
    if (exec_error != 0) fail(exec_error, "execve of the program to start");
    fail(0, "the program to start cannot run here: its C library may be missing or too old");
}

static _Noreturn void execute(void) {
    execve(program, arguments, no_environment);
    exec_error = errno;
    _exit(127);
}

/* Defines run_<name>: make() a child, which does `task`, and wait for it. The loop is in a function of its own,
   because a child of vfork() writes to the variables of the function that called it. */
#define DEFINE_CHILD(name, make, task)                                                                                 \
    static NOINLINE pid_t start_##name(void) {                                                                         \
        pid_t pid;                                                                                                     \
        CHECK((pid = make()) >= 0);                                                                                    \
        if (pid == 0) task;                                                                                            \
        return pid;                                                                                                    \
    }                                                                                                                  \
    static void run_##name(uint64_t n) { LOOP(n) reap(start_##name()); }
DEFINE_CHILD(fork_wait, fork, _exit(0))
DEFINE_CHILD(vfork_wait, vfork, _exit(0))
DEFINE_CHILD(fork_exec, fork, execute())
DEFINE_CHILD(vfork_exec, vfork, execute())

static void run_posix_spawn(uint64_t n) {
    LOOP(n) {
        pid_t pid;
        CHECK((errno = posix_spawn(&pid, program, NULL, NULL, arguments, no_environment)) == 0);
        reap(pid);
    }
}

/* Tries execve() once by vfork(), whose child can report why it failed. */
static void setup_program(const char *name) {
    touch_memory();
    program = beside_probe(name);
    need_loader(program);
    run_vfork_exec(1);
}

static void setup_static(void) { setup_program("tiny-static"); }
static void setup_dynamic(void) { setup_program("tiny-dynamic"); }
static void setup_bare(void) { setup_program("bare"); }

/* glibc's posix_spawn() resets every signal that is not ignored in the child: the number of its calls must not
   depend on what the starter of this process ignores. */
static void setup_spawn(void) {
    for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
    setup_static();
}

/* ---- waiting for a child that has ended, and the end itself ---- */

enum { MOST_ZOMBIES = 32, MOST_DYING = 8 };
OWN pid_t ended[MOST_ZOMBIES];

static void prepare_wait(uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        siginfo_t report;
        CHECK((ended[i] = fork()) >= 0);
        if (ended[i] == 0) _exit(0);
        CHECK(waitid(P_PID, (id_t)ended[i], &report, WEXITED | WNOWAIT) == 0);
    }
}

static void run_wait(uint64_t n) {
    const pid_t *next = ended;
    LOOP(n) reap(*next++);
}

static size_t dying_size;
static int ready_pipe[2], end_pipe[2]; /* children say that they are ready; the parent ends one */

static void setup_exit(void) {
    dying_size = param_memory("mib", 1 << 20, MOST_DYING);
    CHECK(pipe(ready_pipe) == 0 && pipe(end_pipe) == 0);
}

/* Dies with its parent, whose end closes the pipe. */
static _Noreturn void await_end(void) {
    char byte = 0;
    close(end_pipe[1]);
    if (dying_size) fill_memory("parameter mib: mmap()", dying_size);
    CHECK(write(ready_pipe[1], "r", 1) == 1);
    _exit(read(end_pipe[0], &byte, 1) == 1 ? 0 : 1);
}

static void prepare_exit(uint64_t n) {
    char byte;
    for (uint64_t i = 0; i < n; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) await_end();
        CHECK(read(ready_pipe[0], &byte, 1) == 1);
    }
    CHECK(usleep(200) == 0); /* so that the last of them has reached read() */
}

static void run_exit(uint64_t n) {
    LOOP(n) {
        int status;
        CHECK(write(end_pipe[1], "e", 1) == 1);
        CHECK(waitpid(-1, &status, 0) > 0 && status == 0);
    }
}

/* ---- threads ---- */

static void *do_nothing(void *argument) { return argument; }

static void run_thread(uint64_t n) {
    LOOP(n) {
        pthread_t thread;
        CHECK((errno = pthread_create(&thread, NULL, do_nothing, NULL)) == 0);
        CHECK((errno = pthread_join(thread, NULL)) == 0);
    }
}

#ifdef __linux__
static int end_thread(void *unused) {
    (void)unused;
    return 0;
}

/* The thread has no thread-local storage of its own, so it must not call libc; returning ends it. */
static void run_clone_thread(uint64_t n) {
    OWN _Alignas(64) char stack[16384];
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_VFORK;
    LOOP(n) CHECK(clone(end_thread, stack + sizeof stack, flags, NULL) > 0);
}
#endif

/* ---- waiting without a result ---- */

static pid_t sleeper;

static void sleep_for_ever(void) {
    for (;;) pause();
}

static void setup_sleeper(void) {
    sleeper = start_partner(sleep_for_ever);
    CHECK(usleep(20000) == 0); /* its start-up, including pause(), is over before the first batch */
}

static void teardown_sleeper(void) { stop_partner(sleeper); }

static void run_waitid_nothing(uint64_t n) {
    siginfo_t report;
    report.si_pid = 0;
    LOOP(n) CHECK(waitid(P_PID, (id_t)sleeper, &report, WEXITED | WNOHANG) == 0 && report.si_pid == 0);
}

/* ---- the kernel entries of libc's start-up: glibc 2.36, with the dynamic linker's cache ---- */

#if defined(__x86_64__) || defined(__i386__)
#define SET_TLS " arch_prctl/set_thread_area x1"
#else
#define SET_TLS ""
#endif
#define START SET_TLS " set_tid_address x1 rseq x1 prlimit64/ugetrlimit x1"
#define STATIC_PROGRAM                                                                                                 \
    " execve x1 brk x5 mprotect x1 readlink/readlinkat x1 getrandom x1" START " exit_group x1"
#define DYNAMIC_PROGRAM                                                                                                \
    " execve x1 brk x1 mprotect x3 access/faccessat x1 openat/open x2 newfstatat/fstat/fstat64/statx x2 read x1"       \
    " pread64 x2 mmap/mmap2 x8 munmap x1 close x2" START " exit_group x1"
/* glibc 2.41 blocks signals while it forks, and has the kernel reset those of a spawned child. */
#define FORK "clone/fork x1 rt_sigprocmask x?"
#define SPAWN "clone3/clone x1 mmap/mmap2 x1 munmap x1 rt_sigprocmask x4 rt_sigaction x?"
#define WAIT " wait4/waitpid/waitid x1"
#define RSS "rss=0:MiB of memory that the parent has touched, in small pages"

#define CHILD(name, text, enter, group, start, hook)                                                                   \
    {.id = "process." name, .what = text, .enters = enter WAIT, .params = RSS, .systems = "posix", .family = group,    \
     .flags = CHILDREN | SWITCHES, .setup = start, .run = hook}

const struct operation process_operations[] = {
    CHILD("fork_wait", "fork() of a child that calls _exit(0) at once, and waitpid() for it",
          FORK " set_robust_list x1 exit_group x1", "process", touch_memory, run_fork_wait),
    CHILD("vfork_wait", "vfork() of a child that calls _exit(0) at once, and waitpid() for it",
          "vfork/clone x1 exit_group x1", "process", touch_memory, run_vfork_wait),
    CHILD("fork_exec_static", "fork(), execve() of a static program that does nothing, and waitpid()",
          FORK " set_robust_list x2" STATIC_PROGRAM, "exec", setup_static, run_fork_exec),
    CHILD("fork_exec_dynamic", "fork(), execve() of a dynamically linked program that does nothing, and waitpid()",
          FORK " set_robust_list x2" DYNAMIC_PROGRAM, "exec", setup_dynamic, run_fork_exec),
    CHILD("vfork_exec_static", "vfork(), execve() of a static program that does nothing, and waitpid()",
          "vfork/clone x1 set_robust_list x1" STATIC_PROGRAM, "exec", setup_static, run_vfork_exec),
    CHILD("vfork_exec_bare", "vfork(), execve() of a program without a C library that ends at once, and waitpid()",
          "vfork/clone x1 execve x1 exit_group x1", "exec", setup_bare, run_vfork_exec),
    CHILD("posix_spawn", "posix_spawn() of a static program that does nothing, and waitpid()",
          SPAWN " set_robust_list x1" STATIC_PROGRAM, "exec", setup_spawn, run_posix_spawn),
    {.id = "process.wait", .what = "waitpid() for a child that has ended (untimed): takes its status and removes it",
     .enters = "wait4/waitpid/waitid x1",
     .prepares = "clone/fork x1 rt_sigprocmask x3 set_robust_list x1 exit_group x1 waitid x1",
     .systems = "posix", .limit = MOST_ZOMBIES, .prepare = prepare_wait, .run = run_wait},
    {.id = "process.exit_wait",
     .what = "the end of a child that has touched `mib` MiB (untimed): write() to the pipe that it reads, _exit() in "
             "the child, and waitpid()",
     .enters = "write x1 exit_group x1 wait4/waitpid/waitid x1",
     .prepares = "clone/fork x1 rt_sigprocmask x3 set_robust_list x1 close x1 mmap/mmap2 x1 madvise x1 write x1 read x2",
     .params = "mib=0:MiB that the child has touched, in small pages", .systems = "posix", .flags = CHILDREN | SWITCHES,
     .limit = MOST_DYING, .setup = setup_exit, .prepare = prepare_exit, .run = run_exit},
    {.id = "process.thread", .what = "pthread_create() of a thread that returns at once, and pthread_join()",
     .enters = "clone3/clone x1 rt_sigprocmask x4 rseq x1 set_robust_list x1 madvise x1 exit x1 futex/futex_time64 x?",
     .systems = "posix", .family = "process", .flags = SWITCHES, .run = run_thread},
    {.id = "process.clone_thread",
     .what = "clone() of a thread without libc's part, on a ready stack; the caller sleeps until it has ended",
     .enters = "clone x1 exit x1", .systems = "linux", .family = "process", .flags = SWITCHES,
     .run = LINUX_ONLY(run_clone_thread)},
    {.id = "process.waitid_nothing", .what = "waitid(WNOHANG) for a living child that has nothing to report",
     .enters = "waitid x1", .systems = "posix", .setup = setup_sleeper, .run = run_waitid_nothing,
     .teardown = teardown_sleeper},
    {0},
};
