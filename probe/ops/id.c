/* id.c: calls that get or set one number of the calling process: the cheapest real system calls. */
#include "../probe.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#endif

/* ---- who am I ---- */

static void run_getppid(uint64_t n) { LOOP(n) CHECK(getppid() >= 0); }
static void run_getuid(uint64_t n) { LOOP(n) CHECK(getuid() != (uid_t)-1); }
static void run_geteuid(uint64_t n) { LOOP(n) CHECK(geteuid() != (uid_t)-1); }
static void run_getgid(uint64_t n) { LOOP(n) CHECK(getgid() != (gid_t)-1); }
static void run_getpgid(uint64_t n) { LOOP(n) CHECK(getpgid(0) >= 0); }

#ifdef __linux__
/* gettid() itself is missing in glibc before 2.30. */
static void run_gettid(uint64_t n) { LOOP(n) CHECK(syscall(SYS_gettid) > 0); }
#endif

/* ---- attributes and accounts of the process ---- */

enum { MASK = 077 };

static void setup_umask(void) { umask(MASK); }

static void run_umask(uint64_t n) { LOOP(n) CHECK(umask(MASK) == MASK); }

OWN struct rlimit limits;

static void own_setrlimit(void) { CHECK(getrlimit(RLIMIT_NOFILE, &limits) == 0); }

static void run_getrlimit(uint64_t n) { LOOP(n) CHECK(getrlimit(RLIMIT_NOFILE, &limits) == 0); }
static void run_setrlimit(uint64_t n) { LOOP(n) CHECK(setrlimit(RLIMIT_NOFILE, &limits) == 0); }

static void run_getrusage(uint64_t n) {
    struct rusage usage;
    LOOP(n) CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
}

static void run_times(uint64_t n) {
    struct tms ticks;
    LOOP(n) CHECK(times(&ticks) != (clock_t)-1);
}

static pid_t own_pid;

static void setup_kill_self(void) { own_pid = getpid(); }

static void run_kill_self(uint64_t n) { LOOP(n) CHECK(kill(own_pid, 0) == 0); }

#ifdef __linux__
static void run_prctl(uint64_t n) { LOOP(n) CHECK(prctl(PR_GET_DUMPABLE) >= 0); }
#endif

/* ---- the machine ---- */

static void run_uname(uint64_t n) {
    struct utsname names;
    LOOP(n) CHECK(uname(&names) >= 0);
}

static void run_sched_yield(uint64_t n) { LOOP(n) CHECK(sched_yield() == 0); }

#ifdef __linux__
static void run_sysinfo(uint64_t n) {
    struct sysinfo info;
    LOOP(n) CHECK(sysinfo(&info) == 0);
}

/* If the C library has no getcpu() (musl, glibc before 2.29), its sched_getcpu() uses the vDSO as well. */
static inline int libc_getcpu(unsigned *cpu) {
#if __GLIBC__ * 100 + __GLIBC_MINOR__ >= 229
    return getcpu(cpu, NULL);
#else
    int number = sched_getcpu();
    *cpu = (unsigned)number;
    return number < 0 ? -1 : 0;
#endif
}

static void run_getcpu(uint64_t n) {
    unsigned cpu;
    LOOP(n) CHECK(libc_getcpu(&cpu) == 0);
}

static void run_getcpu_raw(uint64_t n) {
    unsigned cpu;
    LOOP(n) CHECK(syscall(SYS_getcpu, &cpu, NULL, NULL) == 0);
}

enum { MOST_RANDOM = (1 << 25) - 1 }; /* bytes that every kernel returns in one call (getrandom(2)) */

OWN void *random_bytes;
static size_t random_size;

static void setup_getrandom(void) { random_size = (size_t)param_within("size", 0, MOST_RANDOM); }

static void own_getrandom(void) {
    CHECK((random_bytes = malloc(random_size + 1)) != NULL);
    memset(random_bytes, 1, random_size); /* so that no page is first touched within a batch */
}

static void run_getrandom(uint64_t n) {
    LOOP(n) CHECK(getrandom(random_bytes, random_size, 0) == (ssize_t)random_size);
}

static void run_getrandom_raw(uint64_t n) {
    LOOP(n) CHECK(syscall(SYS_getrandom, random_bytes, random_size, 0) == (long)random_size);
}
#endif

#define GETRANDOM_PARAMS "size=16:random bytes asked for"

const struct operation id_operations[] = {
    {.id = "id.getppid", .what = "getppid(): the parent's process id", .enters = "getppid x1", .systems = "posix",
     .run = run_getppid},
    {.id = "id.getuid", .what = "getuid(): the real user id", .enters = "getuid/getuid32 x1", .systems = "posix",
     .run = run_getuid},
    {.id = "id.geteuid", .what = "geteuid(): the effective user id", .enters = "geteuid/geteuid32 x1",
     .systems = "posix", .run = run_geteuid},
    {.id = "id.getgid", .what = "getgid(): the real group id", .enters = "getgid/getgid32 x1", .systems = "posix",
     .run = run_getgid},
    {.id = "id.gettid", .what = "syscall(SYS_gettid): the thread id", .enters = "gettid x1", .systems = "linux",
     .run = LINUX_ONLY(run_gettid)},
    {.id = "id.getpgid", .what = "getpgid(0): the process group of the caller", .enters = "getpgid x1",
     .systems = "posix", .run = run_getpgid},
    {.id = "id.umask", .what = "umask() to the value that it has", .enters = "umask x1", .systems = "posix",
     .setup = setup_umask, .run = run_umask},
    {.id = "id.getrlimit", .what = "getrlimit() of RLIMIT_NOFILE", .enters = "prlimit64/getrlimit/ugetrlimit x1",
     .systems = "posix", .run = run_getrlimit},
    {.id = "id.setrlimit", .what = "setrlimit() of RLIMIT_NOFILE to the values that it has",
     .enters = "prlimit64/setrlimit x1", .systems = "posix", .own = own_setrlimit, .run = run_setrlimit},
    {.id = "id.getrusage", .what = "getrusage() of the calling process (one thread)", .enters = "getrusage x1",
     .systems = "posix", .run = run_getrusage},
    {.id = "id.times", .what = "times(): CPU time of the process and of its waited-for children", .enters = "times x1",
     .systems = "posix", .run = run_times},
    {.id = "id.kill_self", .what = "kill() of the own process id with signal 0: checks permission, sends nothing",
     .enters = "kill x1", .systems = "posix", .setup = setup_kill_self, .run = run_kill_self},
    {.id = "id.prctl", .what = "prctl(PR_GET_DUMPABLE)", .enters = "prctl x1", .systems = "linux",
     .run = LINUX_ONLY(run_prctl)},
    {.id = "id.uname", .what = "uname(): names and versions of the system", .enters = "uname x1", .systems = "posix",
     .run = run_uname},
    {.id = "id.sched_yield", .what = "sched_yield() with nothing else to run on the processor",
     .enters = "sched_yield x1", .systems = "posix", .run = run_sched_yield},
    {.id = "id.sysinfo", .what = "sysinfo(): memory, load and uptime of the machine", .enters = "sysinfo x1",
     .systems = "linux", .run = LINUX_ONLY(run_sysinfo)},
    {.id = "id.getcpu", .what = "getcpu() of the C library (in user mode where the vDSO has it)",
     .enters = "getcpu/vdso x1", .systems = "linux", .family = "getcpu", .run = LINUX_ONLY(run_getcpu)},
    {.id = "id.getcpu_raw", .what = "syscall(SYS_getcpu)", .enters = "getcpu x1", .systems = "linux",
     .family = "getcpu", .run = LINUX_ONLY(run_getcpu_raw)},
    {.id = "id.getrandom",
     .what = "getrandom() of `size` bytes by the C library (in user mode since glibc 2.41 and Linux 6.11)",
     .enters = "getrandom/vdso x1", .params = GETRANDOM_PARAMS, .systems = "linux", .family = "getrandom",
     .setup = LINUX_ONLY(setup_getrandom), .own = LINUX_ONLY(own_getrandom), .run = LINUX_ONLY(run_getrandom)},
    {.id = "id.getrandom_raw", .what = "syscall(SYS_getrandom) of `size` bytes", .enters = "getrandom x1",
     .params = GETRANDOM_PARAMS, .systems = "linux", .family = "getrandom", .setup = LINUX_ONLY(setup_getrandom), .own = LINUX_ONLY(own_getrandom),
     .run = LINUX_ONLY(run_getrandom_raw)},
    {0},
};
