/*
 * filters.c: system call filters, made from tables in the memory of the process that installs them. Called by confine.c.
 *
 * A list of values is compared one after the other, each jump to the action beyond them, as libseccomp lays it out unless
 * asked for a search tree. Rejected: the action after each comparison; then every comparison that fails is a jump taken,
 * which costs several times as much.
 */
#include "filters.h"

#include "../probe.h"

#ifdef __linux__
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_clone3
#define SYS_clone3 435 /* since Linux 5.3, on all architectures */
#endif

static struct sock_filter filter[BPF_MAXINSNS];
static unsigned short used;

static void add(uint16_t code, uint8_t if_true, uint8_t if_false, uint32_t k) {
    if (used == BPF_MAXINSNS) fail(E2BIG, "a system call filter");
    filter[used++] = (struct sock_filter){code, if_true, if_false, k};
}

static void load(size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset); }
static void load_number(void) { load(offsetof(struct seccomp_data, nr)); }

/* The lower half: little-endian machines only have it first. */
static void load_argument(int which) {
    const int upper_first = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 4 : 0;
    load(offsetof(struct seccomp_data, args) + 8 * (size_t)which + upper_first);
}

static void end(uint32_t action) { add(BPF_RET | BPF_K, 0, 0, action); }
static void refuse_with(int error) { end(SECCOMP_RET_ERRNO | (uint32_t)error); }

/* The action if what was loaded is among the values. A jump reaches 255 instructions, so the list is cut in blocks. */
static void if_among(const uint32_t *values, size_t count, uint32_t action) {
    enum { BLOCK = 250 };
    for (size_t length; count > 0; values += length, count -= length) {
        length = count < BLOCK ? count : BLOCK;
        for (size_t i = 0; i < length; i++) add(BPF_JMP | BPF_JEQ | BPF_K, (uint8_t)(length - i), 0, values[i]);
        add(BPF_JMP | BPF_JA, 0, 0, 1);
        end(action);
    }
}

/* ---- by number: all calls, those of the future included ---- */

enum { MOST_CALLS = 512 };

static void allow_numbers(void) {
    uint32_t numbers[MOST_CALLS];
    for (uint32_t number = 0; number < MOST_CALLS; number++) numbers[number] = number;
    load_number();
    if_among(numbers, MOST_CALLS, SECCOMP_RET_ALLOW);
    refuse_with(ENOSYS);
}

/* ---- by argument ---- */

enum { RULES = 400, UNLIKELY = 0x5ec0000 };

/* The kernel remembers which calls a filter allows whatever their arguments (since 5.11), but not these. */
static void look_at_arguments(void) {
    uint32_t values[RULES];
    for (uint32_t rule = 0; rule < RULES; rule++) values[rule] = UNLIKELY + rule;
    load_argument(5);
    if_among(values, RULES, SECCOMP_RET_ERRNO | EPERM);
    end(SECCOMP_RET_ALLOW);
}

/* ---- of a given length ---- */

static size_t length;

/* All instructions are executed: a load, comparisons with values that nothing has, and the verdict, which alone is the shortest. */
static void compare_in_vain(void (*load_value)(void)) {
    if (length > 1) load_value();
    for (size_t i = 2; i < length; i++) add(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, UNLIKELY + (uint32_t)i);
    end(SECCOMP_RET_ALLOW);
}

static void load_last_argument(void) { load_argument(5); }
static void compare_number(void) { compare_in_vain(load_number); }
static void compare_argument(void) { compare_in_vain(load_last_argument); }

/* ---- the shape of Docker's default profile ---- */

#if defined __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined __riscv
#define ARCHITECTURE AUDIT_ARCH_RISCV64
#endif

#ifdef ARCHITECTURE
/* The calls that its documentation names as blocked (docs.docker.com, "Seccomp security profiles for Docker"), without
   those that it allows on kernels since 4.8. */
static const int blocked[] = {
    SYS_acct, SYS_add_key, SYS_bpf, SYS_clock_adjtime, SYS_clock_settime, SYS_delete_module, SYS_finit_module,
    SYS_get_mempolicy, SYS_init_module, SYS_kcmp, SYS_kexec_load, SYS_keyctl, SYS_lookup_dcookie, SYS_mbind, SYS_mount,
    SYS_move_pages, SYS_nfsservctl, SYS_open_by_handle_at, SYS_perf_event_open, SYS_pivot_root, SYS_quotactl, SYS_reboot,
    SYS_request_key, SYS_set_mempolicy, SYS_setns, SYS_settimeofday, SYS_swapon, SYS_swapoff, SYS_umount2, SYS_unshare,
    SYS_userfaultfd,
#ifdef __x86_64__
    SYS_create_module, SYS_get_kernel_syms, SYS_ioperm, SYS_iopl, SYS_kexec_file_load, SYS_query_module, SYS_sysfs,
    SYS__sysctl, SYS_uselib, SYS_ustat,
#endif
};

/* Those that are looked at more closely. */
static const int looked_at[] = {SYS_clone, SYS_clone3, SYS_personality, SYS_socket};

static int is_among(int number, const int *numbers, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (numbers[i] == number) return 1;
    return 0;
}

#ifdef __x86_64__
enum { LAST_OLD = 334, FIRST_NEW = 424, LAST = 462 };
#else
enum { LAST_OLD = 294, FIRST_NEW = 424, LAST = 462 };
#endif

static int is_allowed(int number) {
    return (number <= LAST_OLD || number >= FIRST_NEW) && !is_among(number, blocked, COUNT(blocked)) &&
           !is_among(number, looked_at, COUNT(looked_at));
}

/* Skips `rules` instructions unless the call has this number. */
static void if_call(int number, uint8_t rules) { add(BPF_JMP | BPF_JEQ | BPF_K, 0, rules, (uint32_t)number); }

static void look_closely(void) {
    static const uint32_t personalities[] = {0x0, 0x8, 0x20000, 0x20008, 0xffffffff};
    if_call(SYS_clone3, 1);
    refuse_with(ENOSYS); /* its flags are in memory, where a filter cannot look; the library then uses clone() */
    if_call(SYS_socket, 5);
    load_argument(0);
    if_among((uint32_t[]){AF_VSOCK}, 1, SECCOMP_RET_ERRNO | EPERM);
    end(SECCOMP_RET_ALLOW);
    if_call(SYS_personality, COUNT(personalities) + 4);
    load_argument(0);
    if_among(personalities, COUNT(personalities), SECCOMP_RET_ALLOW);
    refuse_with(EPERM);
    if_call(SYS_clone, 4);
    load_argument(0);
    add(BPF_JMP | BPF_JSET | BPF_K, 1, 0,
        CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET);
    end(SECCOMP_RET_ALLOW);
    refuse_with(EPERM);
}

static void like_docker(void) {
    load(offsetof(struct seccomp_data, arch));
    add(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCHITECTURE);
    refuse_with(ENOSYS);
    uint32_t allowed[LAST + 1];
    size_t count = 0;
    for (int number = 0; number <= LAST; number++)
        if (is_allowed(number)) allowed[count++] = (uint32_t)number;
    load_number();
    if_among(allowed, count, SECCOMP_RET_ALLOW);
    look_closely();
    refuse_with(EPERM);
}
#else
static void like_docker(void) { fail(ENOSYS, "this profile on this kind of processor"); }
#endif

/* ---- installing ---- */

static const struct {
    const char *name;
    void (*make)(void);
} kinds[] = {
    {"numbers", allow_numbers}, {"arguments", look_at_arguments}, {"docker", like_docker},
    {"cached", compare_number}, {"uncached", compare_argument},
};

/* Without new privileges, which everybody may do (seccomp(2)). */
static int install(unsigned long flags) {
    struct sock_fprog program = {.len = used, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) fail(errno, "prctl(PR_SET_NO_NEW_PRIVS)");
    long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    if (result < 0) fail(errno, "seccomp(SECCOMP_SET_MODE_FILTER)");
    return (int)result;
}

int filter_calls(const char *kind, const char *instructions) {
    length = instructions ? strtoul(instructions, NULL, 10) : 1;
    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (!kind || strcmp(kinds[i].name, kind) != 0) continue;
        kinds[i].make();
        install(0);
        return 1;
    }
    return 0;
}

#ifndef SYS_openat2
#define SYS_openat2 437 /* since Linux 5.6, on all architectures */
#endif

#ifdef SECCOMP_FILTER_FLAG_NEW_LISTENER
int ask_for_opens(void) {
    static const uint32_t opens[] = {
#ifdef SYS_open
        SYS_open,
#endif
        SYS_openat, SYS_openat2};
    load_number();
    if_among(opens, COUNT(opens), SECCOMP_RET_USER_NOTIF);
    end(SECCOMP_RET_ALLOW);
    return install(SECCOMP_FILTER_FLAG_NEW_LISTENER);
}
#endif
#endif
