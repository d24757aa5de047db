/*
 * signal.c: setting up signals, and receiving them. The handlers are empty; a handler returns to the interrupted
 * program by a system call of its own (rt_sigreturn), which is why that is in the counts.
 */
#include "../probe.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/signalfd.h>
#include <ucontext.h>
#define LINUX_ONLY(hook) hook
#else
#define LINUX_ONLY(hook) NULL
#endif

static void on_signal(int number) { (void)number; }

static struct sigaction handled = {.sa_handler = on_signal};
static sigset_t usr1;
static pid_t self;
static int sent; /* to this process */

/* The process that started this one may have left the signal blocked; it would then never reach its handler. */
static void setup_handler(void) {
    self = getpid();
    sigemptyset(&usr1);
    sent = SIGUSR1;
#ifdef SIGRTMIN
    if (is_shared()) sent = SIGRTMIN; /* queued: two of the others that are pending become one */
#endif
    sigaddset(&usr1, sent);
    CHECK(sigaction(sent, &handled, NULL) == 0);
    CHECK(sigprocmask(SIG_UNBLOCK, &usr1, NULL) == 0);
}

static void setup_blocked(void) {
    setup_handler();
    CHECK(sigprocmask(SIG_BLOCK, &usr1, NULL) == 0);
}

/* ---- setting up ---- */

static void run_sigaction(uint64_t n) { LOOP(n) CHECK(sigaction(sent, &handled, NULL) == 0); }

/* The kernel returns early if the mask does not change, so each call changes it. */
static void run_sigprocmask(uint64_t n) {
    OWN int how = SIG_BLOCK;
    LOOP(n) {
        CHECK(sigprocmask(how, &usr1, NULL) == 0);
        how = how == SIG_BLOCK ? SIG_UNBLOCK : SIG_BLOCK;
    }
}

static void run_sigaltstack(uint64_t n) {
    static char memory[65536];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    LOOP(n) CHECK(sigaltstack(&stack, NULL) == 0);
}

/* ---- delivery to the sender ---- */

static void run_raise(uint64_t n) { LOOP(n) CHECK(raise(sent) == 0); }

static void run_kill_self(uint64_t n) { LOOP(n) CHECK(kill(self, sent) == 0); }

#ifdef __linux__
static int signal_fd;

static void run_signalfd_close(uint64_t n) {
    LOOP(n) {
        int fd;
        CHECK((fd = signalfd(-1, &usr1, SFD_CLOEXEC)) >= 0);
        CHECK(close(fd) == 0);
    }
}

static void setup_signalfd(void) {
    setup_blocked();
    CHECK((signal_fd = signalfd(-1, &usr1, SFD_CLOEXEC)) >= 0);
}

static void run_signalfd_read(uint64_t n) {
    struct signalfd_siginfo info;
    LOOP(n) {
        CHECK(kill(self, sent) == 0);
        CHECK(read(signal_fd, &info, sizeof info) == sizeof info && info.ssi_signo == (uint32_t)sent);
    }
}
#endif

/* ---- SIGSEGV ---- */

static char *forbidden; /* a page without permissions */

/* On known architectures, the handler moves the saved program counter past the store, whose length is fixed there,
   and returns: the fewest calls that a full delivery can take. Elsewhere it jumps out; SA_NODEFER makes it correct
   that the jump does not restore the mask. */
#if defined(__linux__) && (defined(__x86_64__) || defined(__i386__) || defined(__aarch64__))
#define FAULT_ENTERS "rt_sigreturn/sigreturn x1"
static void store(void) {
#ifdef __aarch64__
    __asm__ volatile("strb wzr, [%0]" ::"r"(forbidden) : "memory");
#else
    __asm__ volatile("movb $0, (%0)" ::"a"(forbidden) : "memory"); /* C6 00 00 */
#endif
}

static void leave(void *context) {
    mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
#if defined(__x86_64__)
    machine->gregs[REG_RIP] += 3;
#elif defined(__i386__)
    machine->gregs[REG_EIP] += 3;
#else
    machine->pc += 4;
#endif
}
#else
#define FAULT_ENTERS ""
static sigjmp_buf before_store;

static void store(void) {
    if (sigsetjmp(before_store, 0) == 0) *(volatile char *)forbidden = 0;
}

static void leave(void *context) {
    (void)context;
    siglongjmp(before_store, 1);
}
#endif

static _Thread_local volatile uint64_t faults;

/* A fault elsewhere is a bug: it recurs, and the default action ends the process. */
static void on_fault(int number, siginfo_t *info, void *context) {
    if (info->si_addr != forbidden) {
        signal(number, SIG_DFL);
        return;
    }
    faults++;
    leave(context);
}

static void setup_segv(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    forbidden = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(forbidden != MAP_FAILED);
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    CHECK(sigaction(SIGBUS, &action, NULL) == 0); /* which some systems send instead */
}

static void run_segv(uint64_t n) {
    uint64_t before = faults;
    LOOP(n) store();
    if (faults - before != n) fail(0, "a store into a page without permissions did not fault");
}

/* ---- between two processes ---- */

static pid_t partner;
static sigset_t waiting; /* leaves SIGUSR1 unblocked */

/* The signal is blocked except during sigsuspend(): an early one stays pending, and none is lost. */
static void await_signal(void) { CHECK(sigsuspend(&waiting) == -1 && errno == EINTR); }

static void answer(void) {
    for (;;) {
        await_signal();
        CHECK(kill(self, SIGUSR1) == 0);
    }
}

static void run_pause_pingpong(uint64_t n) {
    LOOP(n) {
        CHECK(kill(partner, SIGUSR1) == 0);
        await_signal();
    }
}

static void setup_pingpong(void) {
    if (is_shared()) fail(ENOTSUP, "parameter shared: the partner's signals would reach any thread of the process");
    setup_blocked();
    CHECK(sigprocmask(SIG_BLOCK, NULL, &waiting) == 0);
    sigdelset(&waiting, SIGUSR1);
    partner = start_partner(answer);
    run_pause_pingpong(1); /* once the partner has answered, it has started */
}

static void teardown_pingpong(void) { stop_partner(partner); }

const struct operation signal_operations[] = {
    {.id = "signal.sigaction", .what = "sigaction() that installs an empty handler",
     .enters = "rt_sigaction/sigaction x1", .systems = "posix", .setup = setup_handler, .run = run_sigaction},
    {.id = "signal.sigprocmask", .what = "sigprocmask() that blocks or, every other time, unblocks one signal",
     .enters = "rt_sigprocmask/sigprocmask x1", .systems = "posix", .setup = setup_handler, .run = run_sigprocmask},
    {.id = "signal.sigaltstack", .what = "sigaltstack() that sets the stack for handlers", .enters = "sigaltstack x1",
     .systems = "posix", .run = run_sigaltstack},
    {.id = "signal.raise", .what = "raise() of a signal with an empty handler, up to the handler's return",
     .enters = "getpid x1 gettid x1 tgkill/tkill x1 rt_sigreturn/sigreturn x1", .systems = "posix",
     .family = "delivery", .setup = setup_handler, .run = run_raise},
    {.id = "signal.kill_self", .what = "kill() of the own process by a signal with an empty handler, up to its end",
     .enters = "kill x1 rt_sigreturn/sigreturn x1", .systems = "posix", .family = "delivery", .setup = setup_handler,
     .run = run_kill_self},
    {.id = "signal.signalfd_close", .what = "signalfd() for one signal, and close() of it",
     .enters = "signalfd4/signalfd x1 close x1", .systems = "linux", .setup = setup_blocked,
     .run = LINUX_ONLY(run_signalfd_close)},
    {.id = "signal.signalfd_read", .what = "kill() of the own process by a blocked signal, and read() of a signalfd",
     .enters = "kill x1 read x1", .systems = "linux", .family = "delivery", .setup = LINUX_ONLY(setup_signalfd),
     .run = LINUX_ONLY(run_signalfd_read)},
    {.id = "signal.segv",
     .what = "a store into a page without permissions: SIGSEGV to a handler that counts it and goes on after the store",
     .enters = FAULT_ENTERS, .systems = "posix", .family = "delivery", .flags = FAULTS, .setup = setup_segv,
     .run = run_segv},
    {.id = "signal.pause_pingpong",
     .what = "a signal to another process and one back: kill() and sigsuspend() in each, with empty handlers",
     .enters = "kill x2 rt_sigsuspend/sigsuspend x2 rt_sigreturn/sigreturn x2", .systems = "posix",
     .family = "round_trip", .flags = SWITCHES, .setup = setup_pingpong, .run = run_pause_pingpong,
     .teardown = teardown_pingpong},
    {0},
};
