/*
 * agent.c: BPF programs on the tracepoints of all system calls, as agents for security and observability attach them: at the entry
 * the time is kept by thread, at the exit calls and their times are added up by number. Called by confine.c.
 *
 * Such programs are run by every process of the machine, so they are attached only while the measured program works: a helper
 * stands between its pipes and the driver's, attaches when a request passes and detaches before an answer does. Other
 * environments of the same run are not slowed. The helper's descriptors hold the programs, so they vanish with it, however it ends.
 *
 * Rejected: attaching for the life of the process, or a filter by process, which leaves the tracepoints on for all others.
 */
#include "confine.h"

#include "../probe.h"

#ifdef __linux__
#include <fcntl.h>
#include <linux/bpf.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 10240, NUMBERS = 512 };

static int bpf(int command, union bpf_attr *attributes) {
    return (int)syscall(SYS_bpf, command, attributes, sizeof *attributes);
}

static int map(unsigned type, unsigned key, unsigned value, unsigned entries) {
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.map_type = type, attributes.key_size = key, attributes.value_size = value, attributes.max_entries = entries;
    int fd = bpf(BPF_MAP_CREATE, &attributes);
    if (fd < 0) cannot("bpf(BPF_MAP_CREATE)");
    return fd;
}

/* ---- the programs ---- */

#define OP(code_, dst, src, off_, imm_)                                                                                \
    (struct bpf_insn) { .code = (code_), .dst_reg = (dst), .src_reg = (src), .off = (off_), .imm = (imm_) }
#define LOAD(dst, src, at) OP(BPF_LDX | BPF_MEM | BPF_DW, dst, src, at, 0)
#define STORE(dst, at, src) OP(BPF_STX | BPF_MEM | BPF_DW, dst, src, at, 0)
#define STORE_WORD(dst, at, src) OP(BPF_STX | BPF_MEM | BPF_W, dst, src, at, 0)
#define MOVE(dst, src) OP(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define SET(dst, value) OP(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, value)
#define ADD(dst, value) OP(BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, value)
#define ADD_REGISTER(dst, src) OP(BPF_ALU64 | BPF_ADD | BPF_X, dst, src, 0, 0)
#define SUBTRACT(dst, src) OP(BPF_ALU64 | BPF_SUB | BPF_X, dst, src, 0, 0)
#define IF_NONE(dst, skip) OP(BPF_JMP | BPF_JEQ | BPF_K, dst, 0, skip, 0)
#define CALL(helper) OP(BPF_JMP | BPF_CALL, 0, 0, 0, helper)
#define MAP(dst, fd) OP(BPF_LD | BPF_DW | BPF_IMM, dst, BPF_PSEUDO_MAP_FD, 0, fd), OP(0, 0, 0, 0, 0)
#define END OP(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
/* Register 10 is the frame. */
#define AT_FRAME(dst, at) MOVE(dst, 10), ADD(dst, at)
enum { THREAD = -8, NUMBER = -16, TIME = -24, INDEX = -12 };

static int load(const struct bpf_insn *program, size_t length) {
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
    attributes.insns = (uintptr_t)program, attributes.insn_cnt = (unsigned)length;
    attributes.license = (uintptr_t) "Dual MIT/GPL";
    int fd = bpf(BPF_PROG_LOAD, &attributes);
    if (fd < 0) cannot("bpf(BPF_PROG_LOAD)");
    return fd;
}

/* The tracepoint's second argument is the call's number. */
static int load_entry(int started) {
    const struct bpf_insn program[] = {
        LOAD(6, 1, 8), CALL(BPF_FUNC_get_current_pid_tgid), STORE(10, THREAD, 0), CALL(BPF_FUNC_ktime_get_ns),
        STORE(10, TIME, 0), STORE(10, NUMBER, 6), MAP(1, started), AT_FRAME(2, THREAD), AT_FRAME(3, TIME), SET(4, BPF_ANY),
        CALL(BPF_FUNC_map_update_elem), SET(0, 0), END,
    };
    return load(program, COUNT(program));
}

static int load_exit(int started, int sums) {
    const struct bpf_insn program[] = {
        CALL(BPF_FUNC_get_current_pid_tgid), STORE(10, THREAD, 0), MAP(1, started), AT_FRAME(2, THREAD),
        CALL(BPF_FUNC_map_lookup_elem), IF_NONE(0, 23), LOAD(7, 0, 0), LOAD(8, 0, 8), CALL(BPF_FUNC_ktime_get_ns),
        SUBTRACT(0, 7), MOVE(7, 0), STORE_WORD(10, INDEX, 8), MAP(1, sums), AT_FRAME(2, INDEX),
        CALL(BPF_FUNC_map_lookup_elem), IF_NONE(0, 6), LOAD(1, 0, 0), ADD(1, 1), STORE(0, 0, 1), LOAD(1, 0, 8),
        ADD_REGISTER(1, 7), STORE(0, 8, 1), MAP(1, started), AT_FRAME(2, THREAD), CALL(BPF_FUNC_map_delete_elem),
        SET(0, 0), END,
    };
    return load(program, COUNT(program));
}

static struct {
    const char *tracepoint;
    int program, attached; /* -1: not attached */
} programs[] = {{"sys_enter", -1, -1}, {"sys_exit", -1, -1}};

/* Kernels before 5.11 count maps as locked memory; the program keeps the limit that it had. */
static void load_programs(void) {
    struct rlimit before, most = {RLIM_INFINITY, RLIM_INFINITY};
    int limited = getrlimit(RLIMIT_MEMLOCK, &before) == 0 && setrlimit(RLIMIT_MEMLOCK, &most) == 0;
    int started = map(BPF_MAP_TYPE_HASH, 8, 16, THREADS), sums = map(BPF_MAP_TYPE_PERCPU_ARRAY, 4, 16, NUMBERS);
    programs[0].program = load_entry(started);
    programs[1].program = load_exit(started, sums);
    close(started), close(sums); /* the programs hold them */
    if (limited) DO(setrlimit(RLIMIT_MEMLOCK, &before));
}

static void detach(void) {
    for (size_t i = 0; i < COUNT(programs); i++) {
        if (programs[i].attached >= 0) close(programs[i].attached);
        programs[i].attached = -1;
    }
}

static void attach(void) {
    union bpf_attr attributes;
    for (size_t i = 0; i < COUNT(programs); i++) {
        if (programs[i].attached >= 0) continue;
        memset(&attributes, 0, sizeof attributes);
        attributes.raw_tracepoint.name = (uintptr_t)programs[i].tracepoint;
        attributes.raw_tracepoint.prog_fd = (unsigned)programs[i].program;
        programs[i].attached = bpf(BPF_RAW_TRACEPOINT_OPEN, &attributes);
        if (programs[i].attached < 0) cannot("bpf(BPF_RAW_TRACEPOINT_OPEN)");
    }
}

/* ---- the helper ---- */

struct pipes {
    int to[2], from[2]; /* the program's input and output */
    void (*attach)(void), (*detach)(void);
};

/* Passes on what there is, after `before`. 0 at the end. */
static int pass_on(int from, int to, void (*before)(void)) {
    char bytes[1 << 14];
    ssize_t length = read(from, bytes, sizeof bytes), written;
    if (length > 0) before();
    for (ssize_t done = 0; done < length; done += written)
        if ((written = write(to, bytes + done, (size_t)(length - done))) < 0) return 0;
    return length > 0;
}

/* Ends when the program's output does, that is, with the program. A request may still be worked on when the input has ended. */
static int relay(void *data) {
    const struct pipes *pipes = data;
    struct pollfd input[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = pipes->from[0], .events = POLLIN}};
    signal(SIGPIPE, SIG_IGN);
    close(pipes->to[0]), close(pipes->from[1]);
    for (;;) {
        if (poll(input, COUNT(input), -1) < 0) continue;
        if (input[1].revents) {
            if (!pass_on(pipes->from[0], STDOUT_FILENO, pipes->detach)) _exit(0);
        } else if (input[0].revents && !pass_on(STDIN_FILENO, pipes->to[1], pipes->attach)) {
            close(pipes->to[1]);
            input[0].fd = -1;
        }
    }
}

void attach_during_requests(void (*attach)(void), void (*detach)(void)) {
    struct pipes pipes = {.attach = attach, .detach = detach};
    attach(); /* whether it may */
    detach();
    DO(pipe2(pipes.to, O_CLOEXEC));
    DO(pipe2(pipes.from, O_CLOEXEC));
    start_untraced(relay, &pipes);
    DO(dup2(pipes.to[0], STDIN_FILENO));
    DO(dup2(pipes.from[1], STDOUT_FILENO));
}

void agent(char **arguments) {
    (void)arguments;
    load_programs();
    attach_during_requests(attach, detach);
}
#endif
