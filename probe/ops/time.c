/* time.c: reading clocks through the C library (mostly in user mode, by the vDSO) and by system call; timers. */
#include "../probe.h"

#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <sys/timerfd.h>
#ifndef SYS_clock_gettime /* 32-bit architectures that never had 32-bit times */
#define SYS_clock_gettime SYS_clock_gettime64
#define SYS_clock_getres SYS_clock_getres_time64
#endif
#endif

#if defined(_POSIX_TIMERS) && _POSIX_TIMERS > 0
#define POSIX_TIMERS_ONLY(hook) hook
#else
#define POSIX_TIMERS_ONLY(hook) NULL
#endif
/* Calls that newer architectures lack: clock_gettime does their work there. */
#ifdef SYS_time
#define SYS_TIME_ONLY(hook) hook
#else
#define SYS_TIME_ONLY(hook) NULL
#endif
#ifdef SYS_gettimeofday
#define SYS_GETTIMEOFDAY_ONLY(hook) hook
#else
#define SYS_GETTIMEOFDAY_ONLY(hook) NULL
#endif

/* ---- clocks ---- */

static void run_time(uint64_t n) { LOOP(n) CHECK(time(NULL) > 0); }

static void run_gettimeofday(uint64_t n) {
    struct timeval t;
    LOOP(n) CHECK(gettimeofday(&t, NULL) == 0);
}

#ifdef SYS_time
static void run_time_raw(uint64_t n) { LOOP(n) CHECK(syscall(SYS_time, NULL) > 0); }
#endif

#ifdef SYS_gettimeofday
static void run_gettimeofday_raw(uint64_t n) {
    struct timeval t;
    LOOP(n) CHECK(syscall(SYS_gettimeofday, &t, NULL) == 0);
}
#endif

static inline void read_clock(uint64_t n, clockid_t clock) {
    struct timespec t;
    LOOP(n) CHECK(clock_gettime(clock, &t) == 0);
}

static void run_monotonic(uint64_t n) { read_clock(n, CLOCK_MONOTONIC); }
static void run_realtime(uint64_t n) { read_clock(n, CLOCK_REALTIME); }
static void run_process_cpu(uint64_t n) { read_clock(n, CLOCK_PROCESS_CPUTIME_ID); }
static void run_thread_cpu(uint64_t n) { read_clock(n, CLOCK_THREAD_CPUTIME_ID); }

static void run_clock_getres(uint64_t n) {
    struct timespec t;
    LOOP(n) CHECK(clock_getres(CLOCK_MONOTONIC, &t) == 0);
}

#ifdef __linux__
static void run_monotonic_raw(uint64_t n) { read_clock(n, CLOCK_MONOTONIC_RAW); }
static void run_monotonic_coarse(uint64_t n) { read_clock(n, CLOCK_MONOTONIC_COARSE); }
static void run_realtime_coarse(uint64_t n) { read_clock(n, CLOCK_REALTIME_COARSE); }
static void run_boottime(uint64_t n) { read_clock(n, CLOCK_BOOTTIME); }
static void run_tai(uint64_t n) { read_clock(n, CLOCK_TAI); }

/* The same without the vDSO. */
static inline void enter_clock(uint64_t n, clockid_t clock) {
    struct timespec t;
    LOOP(n) CHECK(syscall(SYS_clock_gettime, clock, &t) == 0);
}

static void enter_monotonic(uint64_t n) { enter_clock(n, CLOCK_MONOTONIC); }
static void enter_realtime(uint64_t n) { enter_clock(n, CLOCK_REALTIME); }
static void enter_process_cpu(uint64_t n) { enter_clock(n, CLOCK_PROCESS_CPUTIME_ID); }
static void enter_thread_cpu(uint64_t n) { enter_clock(n, CLOCK_THREAD_CPUTIME_ID); }
static void enter_monotonic_raw(uint64_t n) { enter_clock(n, CLOCK_MONOTONIC_RAW); }
static void enter_monotonic_coarse(uint64_t n) { enter_clock(n, CLOCK_MONOTONIC_COARSE); }
static void enter_realtime_coarse(uint64_t n) { enter_clock(n, CLOCK_REALTIME_COARSE); }
static void enter_boottime(uint64_t n) { enter_clock(n, CLOCK_BOOTTIME); }
static void enter_tai(uint64_t n) { enter_clock(n, CLOCK_TAI); }

static void enter_clock_getres(uint64_t n) {
    struct timespec t;
    LOOP(n) CHECK(syscall(SYS_clock_getres, CLOCK_MONOTONIC, &t) == 0);
}
#endif

/* ---- timers: armed for one hour, so that none ever expires ---- */

#if defined(_POSIX_TIMERS) && _POSIX_TIMERS > 0
static const struct itimerspec one_hour = {.it_value = {.tv_sec = 3600}};

static void run_clock_nanosleep0(uint64_t n) {
    static const struct timespec zero;
    LOOP(n) CHECK((errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &zero, NULL)) == 0);
}

/* Its time is over before it begins: the timer expires at once, whatever the timer slack. */
static void run_clock_nanosleep_past(uint64_t n) {
    static const struct timespec past = {.tv_nsec = 1};
    LOOP(n) CHECK((errno = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &past, NULL)) == 0);
}

static void run_timer_create_delete(uint64_t n) {
    timer_t timer;
    LOOP(n) {
        CHECK(timer_create(CLOCK_MONOTONIC, NULL, &timer) == 0);
        CHECK(timer_delete(timer) == 0);
    }
}

/* Would send SIGALRM: the kernel never really arms a timer that notifies nobody (SIGEV_NONE). */
static timer_t armed_timer;

static void setup_timer_settime(void) {
    CHECK(timer_create(CLOCK_MONOTONIC, NULL, &armed_timer) == 0);
    CHECK(timer_settime(armed_timer, 0, &one_hour, NULL) == 0);
}

static void run_timer_settime(uint64_t n) { LOOP(n) CHECK(timer_settime(armed_timer, 0, &one_hour, NULL) == 0); }
#endif

#ifdef __linux__
static void run_timerfd_create_close(uint64_t n) {
    int fd;
    LOOP(n) {
        CHECK((fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) >= 0);
        CHECK(close(fd) == 0);
    }
}

static int timer_fd;

static void setup_timerfd(void) {
    CHECK((timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) >= 0);
    CHECK(timerfd_settime(timer_fd, 0, &one_hour, NULL) == 0);
}

static void run_timerfd_settime(uint64_t n) { LOOP(n) CHECK(timerfd_settime(timer_fd, 0, &one_hour, NULL) == 0); }

static void run_timerfd_gettime(uint64_t n) {
    struct itimerspec left;
    LOOP(n) CHECK(timerfd_gettime(timer_fd, &left) == 0 && left.it_value.tv_sec > 0);
}
#endif

#define CLOCK_CALLS "clock_gettime/clock_gettime64"
#define ENTERS_CLOCK CLOCK_CALLS " x1"
#define READS_CLOCK CLOCK_CALLS "/vdso x1"
/* A clock read through the C library (entering the kernel as `how` says), and its twin by system call. */
#define CLOCK(name, kin, clock, on, how, hook)                                                                         \
    {.id = name, .what = "clock_gettime() of " clock, .enters = how, .systems = on, .family = kin, .run = hook}
#define RAW_CLOCK(name, kin, clock, hook)                                                                              \
    {.id = name, .what = "syscall(SYS_clock_gettime) of " clock, .enters = ENTERS_CLOCK, .systems = "linux",           \
     .family = kin, .run = LINUX_ONLY(hook)}

const struct operation time_operations[] = {
    {.id = "time.time", .what = "time(): seconds", .enters = "time/" READS_CLOCK, .systems = "posix",
     .family = "time", .run = run_time},
    {.id = "time.time_raw", .what = "syscall(SYS_time)", .enters = "time x1", .systems = "linux/x86_64",
     .family = "time", .run = SYS_TIME_ONLY(run_time_raw)},
    {.id = "time.gettimeofday", .what = "gettimeofday(): microseconds", .enters = "gettimeofday/" READS_CLOCK,
     .systems = "posix", .family = "gettimeofday", .run = run_gettimeofday},
    {.id = "time.gettimeofday_raw", .what = "syscall(SYS_gettimeofday)", .enters = "gettimeofday x1",
     .systems = "linux", .family = "gettimeofday", .run = SYS_GETTIMEOFDAY_ONLY(run_gettimeofday_raw)},
    CLOCK("time.clock_gettime", "clock_gettime", "CLOCK_MONOTONIC", "posix", READS_CLOCK, run_monotonic),
    RAW_CLOCK("time.clock_gettime_raw", "clock_gettime", "CLOCK_MONOTONIC", enter_monotonic),
    CLOCK("time.clock_realtime", "clock_realtime", "CLOCK_REALTIME", "posix", READS_CLOCK, run_realtime),
    RAW_CLOCK("time.clock_realtime_raw", "clock_realtime", "CLOCK_REALTIME", enter_realtime),
    CLOCK("time.clock_monotonic_raw", "clock_monotonic_raw", "CLOCK_MONOTONIC_RAW, which nothing adjusts", "linux",
          READS_CLOCK, LINUX_ONLY(run_monotonic_raw)),
    RAW_CLOCK("time.clock_monotonic_raw_raw", "clock_monotonic_raw", "CLOCK_MONOTONIC_RAW", enter_monotonic_raw),
    CLOCK("time.clock_monotonic_coarse", "clock_monotonic_coarse", "CLOCK_MONOTONIC_COARSE, as of the last tick",
          "linux", READS_CLOCK, LINUX_ONLY(run_monotonic_coarse)),
    RAW_CLOCK("time.clock_monotonic_coarse_raw", "clock_monotonic_coarse", "CLOCK_MONOTONIC_COARSE",
              enter_monotonic_coarse),
    CLOCK("time.clock_realtime_coarse", "clock_realtime_coarse", "CLOCK_REALTIME_COARSE, as of the last tick", "linux",
          READS_CLOCK, LINUX_ONLY(run_realtime_coarse)),
    RAW_CLOCK("time.clock_realtime_coarse_raw", "clock_realtime_coarse", "CLOCK_REALTIME_COARSE",
              enter_realtime_coarse),
    CLOCK("time.clock_boottime", "clock_boottime", "CLOCK_BOOTTIME", "linux", READS_CLOCK, LINUX_ONLY(run_boottime)),
    RAW_CLOCK("time.clock_boottime_raw", "clock_boottime", "CLOCK_BOOTTIME", enter_boottime),
    CLOCK("time.clock_tai", "clock_tai", "CLOCK_TAI", "linux", READS_CLOCK, LINUX_ONLY(run_tai)),
    RAW_CLOCK("time.clock_tai_raw", "clock_tai", "CLOCK_TAI", enter_tai),
    CLOCK("time.clock_process_cpu", "clock_process_cpu", "CLOCK_PROCESS_CPUTIME_ID", "posix", ENTERS_CLOCK,
          run_process_cpu),
    RAW_CLOCK("time.clock_process_cpu_raw", "clock_process_cpu", "CLOCK_PROCESS_CPUTIME_ID", enter_process_cpu),
    CLOCK("time.clock_thread_cpu", "clock_thread_cpu", "CLOCK_THREAD_CPUTIME_ID", "posix", ENTERS_CLOCK,
          run_thread_cpu),
    RAW_CLOCK("time.clock_thread_cpu_raw", "clock_thread_cpu", "CLOCK_THREAD_CPUTIME_ID", enter_thread_cpu),
    {.id = "time.clock_getres", .what = "clock_getres() of CLOCK_MONOTONIC",
     .enters = "clock_getres/clock_getres_time64/vdso x1", .systems = "posix", .family = "clock_getres",
     .run = run_clock_getres},
    {.id = "time.clock_getres_raw", .what = "syscall(SYS_clock_getres) of CLOCK_MONOTONIC",
     .enters = "clock_getres/clock_getres_time64 x1", .systems = "linux", .family = "clock_getres",
     .run = LINUX_ONLY(enter_clock_getres)},
    {.id = "time.clock_nanosleep0",
     .what = "clock_nanosleep() of 0 ns: sleeps for the timer slack of the thread (on Linux 50 us by default)",
     .enters = "clock_nanosleep/clock_nanosleep_time64 x1", .systems = "posix", .flags = SWITCHES | MACHINE,
     .run = POSIX_TIMERS_ONLY(run_clock_nanosleep0)},
    {.id = "time.clock_nanosleep_past", .what = "clock_nanosleep(TIMER_ABSTIME) to a time that has passed: until a "
     "timer has expired", .enters = "clock_nanosleep/clock_nanosleep_time64 x1", .systems = "posix",
     .flags = SWITCHES | MACHINE, .run = POSIX_TIMERS_ONLY(run_clock_nanosleep_past)},
    {.id = "time.timer_create_delete", .what = "timer_create() of a timer that would signal, and timer_delete()",
     .enters = "timer_create x1 timer_delete x1", .systems = "posix",
     .run = POSIX_TIMERS_ONLY(run_timer_create_delete)},
    {.id = "time.timer_settime", .what = "timer_settime() of an armed timer to an hour from now",
     .enters = "timer_settime/timer_settime64 x1", .systems = "posix", .setup = POSIX_TIMERS_ONLY(setup_timer_settime),
     .run = POSIX_TIMERS_ONLY(run_timer_settime)},
    {.id = "time.timerfd_create_close", .what = "timerfd_create() and close()",
     .enters = "timerfd_create x1 close x1", .systems = "linux", .run = LINUX_ONLY(run_timerfd_create_close)},
    {.id = "time.timerfd_settime", .what = "timerfd_settime() of an armed timer to an hour from now",
     .enters = "timerfd_settime/timerfd_settime64 x1", .systems = "linux", .setup = LINUX_ONLY(setup_timerfd),
     .run = LINUX_ONLY(run_timerfd_settime)},
    {.id = "time.timerfd_gettime", .what = "timerfd_gettime() of an armed timer",
     .enters = "timerfd_gettime/timerfd_gettime64 x1", .systems = "linux", .setup = LINUX_ONLY(setup_timerfd),
     .run = LINUX_ONLY(run_timerfd_gettime)},
    {0},
};
