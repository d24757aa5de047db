/* call.c: no system call at all, or one through an unusual gate: the yardsticks for the other areas. */
#include "../probe.h"

#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

#if defined(__linux__) && defined(__x86_64__)
#define LINUX_X86_64_ONLY(hook) hook
#else
#define LINUX_X86_64_ONLY(hook) NULL
#endif
#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#define INLINE_GATE_ONLY(hook) hook
#else
#define INLINE_GATE_ONLY(hook) NULL
#endif

/* ---- calls that stay in user mode ---- */

extern void cross_empty(void); /* in libsyscost_cross */

static void run_empty_loop(uint64_t n) { LOOP(n); }

static NOINLINE void empty(void) { keep(); }

static void run_direct(uint64_t n) { LOOP(n) empty(); }

/* Volatile, so that the compiler cannot know which function this is. */
static void (*volatile pointer_to_empty)(void) = empty;

static void run_indirect(uint64_t n) { LOOP(n) pointer_to_empty(); }

/* The first call may resolve the function (lazy binding), so setup makes it. */
static void setup_cross_library(void) { cross_empty(); }

static void run_cross_library(uint64_t n) { LOOP(n) cross_empty(); }

/* A chain of dependent additions, about 100 ns on a 3 GHz machine: nothing but user-mode instructions. */
static void run_spin(uint64_t n) {
    uint64_t x = 1;
    LOOP(n) {
        for (int i = 0; i < 320; i++) {
            x += 1;
            __asm__ volatile("" : "+r"(x));
        }
    }
    __asm__ volatile("" ::"r"(x));
}

/* ---- getpid, by every gate ---- */

/* What getpid() was in glibc before 2.25: benchmarks that used it measured this. */
static pid_t remembered_pid;

static NOINLINE pid_t cached_pid(void) {
    if (remembered_pid == 0) remembered_pid = getpid();
    return remembered_pid;
}

static void setup_cached_pid(void) { CHECK(cached_pid() == getpid()); }

static void run_cached_pid(uint64_t n) { LOOP(n) CHECK(cached_pid() > 0); }

static void run_getpid(uint64_t n) { LOOP(n) CHECK(getpid() > 0); }

#ifdef __linux__
static void run_syscall_getpid(uint64_t n) { LOOP(n) CHECK(syscall(SYS_getpid) > 0); }
#endif

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
static inline long inline_getpid(void) {
#ifdef __x86_64__
    long result = SYS_getpid;
    __asm__ volatile("syscall" : "+a"(result)::"rcx", "r11", "memory");
#else
    register long number __asm__("x8") = SYS_getpid;
    register long result __asm__("x0");
    __asm__ volatile("svc #0" : "=r"(result) : "r"(number) : "memory");
#endif
    return result;
}

static void run_inline_getpid(uint64_t n) { LOOP(n) CHECK(inline_getpid() > 0); }
#endif

/* ---- gates that a kernel may have disabled: it then answers with SIGSEGV ---- */

#if defined(__linux__) && (defined(__x86_64__) || defined(__i386__))
#define INT80_ONLY(hook) hook
static sigjmp_buf gate_closed;

static void on_fault(int number) {
    (void)number;
    siglongjmp(gate_closed, 1);
}

/* Goes through `gate` once; fails the operation if the kernel does not allow it. */
static long try_gate(long (*gate)(void), const char *name) {
    struct sigaction catching, before;
    memset(&catching, 0, sizeof catching);
    catching.sa_handler = on_fault;
    CHECK(sigaction(SIGSEGV, &catching, &before) == 0);
    if (sigsetjmp(gate_closed, 1) != 0) fail(ENOSYS, name);
    long result = gate();
    CHECK(sigaction(SIGSEGV, &before, NULL) == 0);
    return result;
}

/* The 32-bit gate, with the 32-bit number of getpid. Kernels before 4.17 did not preserve r8 to r11. */
static inline long int80_getpid(void) {
    long result = 20;
#ifdef __x86_64__
    __asm__ volatile("int $0x80" : "+a"(result)::"r8", "r9", "r10", "r11", "memory");
#else
    __asm__ volatile("int $0x80" : "+a"(result)::"memory");
#endif
    return result;
}

static void setup_int80(void) {
    if (try_gate(int80_getpid, "int $0x80") != getpid()) fail(ENOSYS, "int $0x80: not the answer of getpid");
}

static void run_int80(uint64_t n) { LOOP(n) CHECK(int80_getpid() > 0); }
#else
#define INT80_ONLY(hook) NULL
#endif

#if defined(__linux__) && defined(__x86_64__)
/* The page at this fixed address once held code; now a call into it faults, and the kernel performs it. */
static inline long vsyscall_time(void) { return ((long (*)(long *))0xffffffffff600400)(NULL); }

static int has_vsyscall_page(void) {
    char line[512];
    int found = 0;
    FILE *maps;
    CHECK((maps = fopen("/proc/self/maps", "r")) != NULL);
    while (!found && fgets(line, sizeof line, maps)) found = strstr(line, "[vsyscall]") != NULL;
    fclose(maps);
    return found;
}

static void setup_vsyscall_time(void) {
    if (!has_vsyscall_page()) fail(ENOSYS, "no [vsyscall] in /proc/self/maps");
    long seconds = try_gate(vsyscall_time, "vsyscall time");
    long difference = (long)time(NULL) - seconds;
    if (difference < 0 || difference > 1) fail(ENOSYS, "vsyscall time: not the answer of time()");
}

static void run_vsyscall_time(uint64_t n) { LOOP(n) CHECK(vsyscall_time() > 0); }
#endif

/* ---- calls that fail at once: entry and exit with as little as possible in between ---- */

#ifdef __linux__
static void run_bad_number(uint64_t n) { LOOP(n) CHECK(syscall(-1) == -1 && errno == ENOSYS); }
#endif

static void run_bad_descriptor(uint64_t n) {
    char byte;
    LOOP(n) CHECK(read(-1, &byte, 1) == -1 && errno == EBADF);
}

const struct operation call_operations[] = {
    {.id = "call.empty_loop", .what = "an iteration of the measuring loop with an empty body", .enters = "",
     .systems = "posix", .run = run_empty_loop},
    {.id = "call.direct", .what = "call of an empty function in the same file", .enters = "", .systems = "posix",
     .run = run_direct},
    {.id = "call.indirect", .what = "call of an empty function through a volatile pointer", .enters = "",
     .systems = "posix", .run = run_indirect},
    {.id = "call.cross_library", .what = "call of an empty function in a shared library (PLT)", .enters = "",
     .systems = "posix", .flags = LINKED, .setup = setup_cross_library, .run = run_cross_library},
    {.id = "call.spin", .what = "320 dependent additions: user-mode work that no kernel can change", .enters = "",
     .systems = "posix", .run = run_spin},
    {.id = "call.cached_pid", .what = "function that returns a process id cached by its first call: no system call",
     .enters = "", .systems = "posix", .family = "getpid", .setup = setup_cached_pid, .run = run_cached_pid},
    {.id = "call.getpid", .what = "getpid() of the C library", .enters = "getpid x1", .systems = "posix",
     .family = "getpid", .run = run_getpid},
    {.id = "call.syscall_getpid", .what = "syscall(SYS_getpid)", .enters = "getpid x1", .systems = "linux",
     .family = "getpid", .run = LINUX_ONLY(run_syscall_getpid)},
    {.id = "call.inline_getpid", .what = "getpid by an inline system call instruction, without the C library",
     .enters = "getpid x1", .systems = "linux/x86_64 linux/aarch64", .family = "getpid",
     .run = INLINE_GATE_ONLY(run_inline_getpid)},
    {.id = "call.int80", .what = "getpid by the 32-bit gate, an inline int $0x80, from a process of 64 or 32 bits",
     .enters = "getpid(i386)/getpid x1", .systems = "linux/x86_64 linux/i386", .family = "getpid",
     .setup = INT80_ONLY(setup_int80), .run = INT80_ONLY(run_int80)},
    {.id = "call.vsyscall_time",
     .what = "time by the legacy vsyscall page: no system call is seen, the kernel is entered by a page fault",
     .enters = "", .systems = "linux/x86_64", .family = "time", .flags = FAULTS,
     .setup = LINUX_X86_64_ONLY(setup_vsyscall_time), .run = LINUX_X86_64_ONLY(run_vsyscall_time)},
    {.id = "call.bad_number", .what = "syscall(-1), a number that no system call has: fails with ENOSYS",
     .enters = "syscall(-1) x1", .systems = "linux", .run = LINUX_ONLY(run_bad_number)},
    {.id = "call.bad_descriptor", .what = "read() of one byte from descriptor -1: fails with EBADF",
     .enters = "read x1", .systems = "posix", .run = run_bad_descriptor},
    {0},
};
