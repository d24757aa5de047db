/* The data that the programs share with the code that reads their maps: crates/sys/src/bpf/layout.rs has the same, and a
 * test compares both with the types in the object. Times are in nanoseconds of CLOCK_MONOTONIC. */
#ifndef SYSCOST_LAYOUT_H
#define SYSCOST_LAYOUT_H

#include "kernel.h"

/* Numbers of calls in `config.calls`, for each of the two gates that have a table. */
#define NUMBERS 512
/* Longest path, including its 0. It is read in pieces of four words, to whose end it is padded. */
#define PATH_BYTES 4096
#define PIECE_WORDS 4
#define PIECE_BYTES (PIECE_WORDS * 8)
#define NAME_BYTES 16
#define ERRNO_MAX 4095
/* Errors from here on mean that the kernel restarts the call (ERESTARTSYS and others of linux/errno.h). */
#define ERRNO_RESTART 512
#define ENOSYS 38
/* Numbers that do not fit into a key. */
#define NUMBER_UNKNOWN 0xffff
/* In place of -1, which a debugger or a program passes for no call. */
#define NUMBER_NONE 0xfff9
/* In place of a number, where a sampled task is in no call: in user mode, in the kernel for a fault or an interrupt that
 * `key.operation` tells, waiting for a page, a thread of the kernel, or returning from a call that is not known. */
enum {
	NUMBER_USER = 0xfffe,
	NUMBER_ENTERED = 0xfffd,
	NUMBER_FAULT = 0xfffc,
	NUMBER_THREAD = 0xfffb,
	NUMBER_RETURN = 0xfffa,
};
/* In place of a number, of the durations of requests. */
#define NUMBER_REQUEST 0xfff8

/* How a call was made: as the machine's own, as a 32-bit one, or by the x32 ABI. */
enum gate { GATE_OWN, GATE_COMPAT, GATE_X32 };

/* What to do for a call. */
enum what {
	WHAT_NOTHING,
	WHAT_BYTES,	 /* its result is a byte count, the argument its descriptor */
	WHAT_DESCRIPTOR, /* the argument is a descriptor */
	WHAT_PATH,	 /* the argument is a path */
	WHAT_LENGTH,	 /* the argument is a length in bytes */
	WHAT_SET,	 /* the argument is the number of descriptors in a set */
	WHAT_RENAME,	 /* changes the name of its process */
	WHAT_EXEC,	 /* has a path that can no longer be read when the call returns */
	WHAT_CLOSE,	 /* the argument is a descriptor that is gone when the call returns */
	WHAT_SENT,	 /* as WHAT_BYTES, towards the descriptor */
};
/* The position of an argument that there is not. */
#define NO_ARGUMENT 0xff
/* In place of a directory argument: the call makes the path the working directory. */
#define NEW_DIRECTORY 0xfe

/* Kinds of descriptors: the file type bits of a mode (S_IFMT >> 12), and three of our own. Names are also of a socket's peer, of who
 * ended a wait, and of a word that threads wait for. */
enum kind {
	KIND_CHARACTER = 2,
	KIND_TERMINAL = 3,
	KIND_DIRECTORY = 4,
	KIND_ANONYMOUS = 5,
	KIND_BLOCK = 6,
	KIND_CLOSED = 7,
	KIND_REGULAR = 8,
	KIND_SOCKET = 12,
	KIND_PEER = 13,
	KIND_WAKER = 14,
	KIND_FUTEX = 15,
};

/* The value of a class that is not known. */
#define VALUE_UNKNOWN 127

/* What a call's class is made of. */
struct row {
	u8 what;
	u8 argument;
	/* The argument that selects the operation, NO_ARGUMENT for none, and the bits of it that do. */
	u8 operation;
	/* The argument with the directory that a path is relative to; NO_ARGUMENT for the working directory. */
	u8 directory;
	u32 mask;
};

/* What calls are counted by. */
struct key {
	/* The number of the process group; 0 if there was none left. */
	u32 group;
	u16 number;
	u16 error;
	/* The operation argument, masked; of NUMBER_ENTERED, half of the address of the kernel's function. */
	u32 operation;
	u8 gate;
	/* The kind of the descriptor. */
	u8 kind;
	/* For bytes, lengths and sets: 0 for 0, else 1 + log2. For paths: the names in it, at most VALUE_UNKNOWN - 1. */
	u8 value;
	/* 1 for calls whose entry was not seen, so that their times are not known. */
	u8 untimed;
};

/* Sums over the calls of one key. If calls are sampled, `calls` is the number of samples, and `unfinished` that of waits. */
struct counted {
	u64 calls;
	/* Entered, but not returned from when tracing ended. */
	u64 unfinished;
	u64 on_cpu;
	/* Off the CPU: until woken, from there until on a CPU, and preempted. */
	u64 blocked;
	u64 woken;
	u64 preempted;
	/* The part of `blocked` during which all tasks were blocked, and which this call's wake-up ended. */
	u64 stalled;
	u64 bytes;
};

/* A cached entry; empty if both sums of calls are 0. */
struct entry {
	struct key key;
	struct counted counted;
};

/* States of a task. */
enum state {
	STATE_FREE,
	STATE_HELD, /* the command, before its execve */
	STATE_LIVE, /* traced */
	STATE_BORN, /* just forked, or on its way when tracing began: its first return to user mode is not of a call that counts */
	STATE_EXCLUDED, /* not to be traced, whatever the scope */
	STATE_ENDING, /* makes no more calls, and has not left the CPU for the last time */
};

/* What a task does, as far as the scheduler is concerned. */
enum run { RUN_BLOCKED, RUN_WAITING, RUN_ON_CPU };

/* Why a task is off the CPU within a call: it was preempted, waits, or was woken and does not run yet. */
enum off { OFF_PREEMPTED, OFF_BLOCKED, OFF_WOKEN };

/* What `task.inside` says: the task is outside of calls, in one, or in one that it was in when tracing began. */
enum inside { OUTSIDE, INSIDE, INSIDE_BEFORE };

/* A traced task. It is found by its address. */
struct task {
	/* The address of its task_struct; 0 if this was never used, 1 if it is free again. */
	u64 owner;
	u32 group;
	u8 state;
	/* enum inside. */
	u8 inside;
	/* enum off, if it is off the CPU. */
	u8 off;
	/* 1 if a call was to be restarted when it last returned: its key is in `again`. */
	u8 restarts;
	/* The call that it is in, and, of a call whose argument is gone when it returns, the class. Where entries are not seen: of
	 * an execve, and of a call that it was in when tracing began. */
	u32 number;
	u8 kind;
	u8 value;
	/* enum run. */
	u8 run;
	/* Of the call that it is in, or was in last. */
	u8 gate;
	/* When the call was entered. */
	u64 start;
	/* Since when it is off the CPU within a call, for the reason `off`; 0 while it is on one. */
	u64 off_since;
	/* Time within the call: see `counted`. */
	u64 blocked;
	u64 woken;
	u64 preempted;
	u64 stalled;
	/* Time by enum run before `run_since`, when `run` changed last. */
	u64 spent[4];
	u64 run_since;
	/* The hash of what a call is made on whose argument is gone when it returns; 0 if that is not known. */
	u64 object;
	/* With GROUP_TREE: the group that started this one, whether it has its parent's name still, and how many names came
	 * before this one. */
	u32 from;
	u16 fresh;
	u16 depth;
	/* The group of the innermost section that it is in; 0 if it is in none. */
	u32 section;
	/* 1 from what it received from a client until it sent something to one. */
	u32 asked;
	struct key again;
	/* The kernel's accounting when tracing began: the first six fields of `used`. */
	u64 base[6];
	/* Who woke it last: enum waker, and its name; of a thread of the same process, the thread's. */
	u64 waker;
	u64 waker_name[2];
	/* The kernel's lock that it waits for, since when, and how: 0 for none. See want_lock(). */
	u64 lock;
	u64 lock_since;
	u32 lock_flags;
	/* Of a wait that a signal ended: see note_interrupted(). */
	u32 interrupted_value;
	u64 interrupted;
	u64 interrupted_object;
	u64 interrupted_site;
	u64 interrupted_lock;
};

/* What tasks used: `Used` of crates/sys/src/usage.rs. */
struct used {
	u64 accounting[6];
	/* On a CPU, runnable, and blocked. */
	u64 ran;
	u64 waited;
	u64 blocked;
};

#define ENTRY_BITS 8
/* Kernel functions of a stack; of a deeper one, the outermost are not seen. */
#define FRAMES 128
/* Calls of which a window counts durations. */
#define HISTOGRAMS 64
/* Durations below 32 ns have one bucket each; above, there are 32 per power of two, up to 2^42 ns (73 minutes). */
#define STEP_BITS 5
#define BUCKETS ((42 - STEP_BITS + 1) << STEP_BITS)

/* What one CPU counted and has not handed to the shared maps. Only programs on that CPU write to it. */
struct window {
	/* How often entries were handed to the shared maps. */
	u64 flushes;
	/* Largest resident set of a process that ended on this CPU, in pages. */
	u64 peak_pages;
	/* The histogram of each call, from 1; 0 for none yet. */
	u8 histogram_of[2 * NUMBERS];
	u64 histograms_used;
	/* See forget(). */
	u64 scratch;
	/* The address of the task that runs, if it is known not to be traced. */
	u64 stranger;
	/* Calls by number, up to FIRST_CALLS, whose stacks are copied. Of others, one of 2^rare is copied: when the last one was, and how many calls that of
	 * the present one stands for. */
	u8 first[NUMBERS];
	u64 rare;
	u64 last;
	u64 sampled;
	struct entry entries[1 << ENTRY_BITS];
	u32 histograms[HISTOGRAMS][BUCKETS];
	char path[PATH_BYTES + PIECE_BYTES];
	/* The stack of a sample. */
	u64 frames[FRAMES];
};

/* A count of durations that found no place in a window. */
struct duration_key {
	u16 number;
	u16 gate;
	u32 bucket;
};

/* What makes a group. */
struct group_key {
	char name[NAME_BYTES];
	/* A process, a cgroup, or the group that started it; 0 if groups are by name alone, or for the first. */
	u64 id;
};

/* Processes that are told apart, with GROUP_PROCESS. */
#define PROCESSES 7168

/* Sections that are told apart. */
#define SECTIONS 4096

/* What a program did between two paths that it asked for, `/.syscost/begin/NAME` and `/.syscost/end/NAME`. By the number of its group,
 * which has the name's hash in the second half of its own name, and no first half. */
struct section {
	/* The hash of its name, which is among `names`. */
	u64 name;
	u64 begun;
	u64 ended;
	u64 iterations;
	/* That were started by tasks in it, but not in a section within it. */
	u64 processes;
	/* The times of all ends less those of all begins. */
	u64 elapsed;
	/* The group of a task before it began the section, and the task's `from`, `depth` and `section` then. */
	u32 group;
	u32 from;
	u32 depth;
	u32 outer;
};

/* What calls are counted by if they are counted by path or descriptor: the hash of that, and of `key` all but the class. */
struct object_key {
	u64 object;
	struct key key;
};

/* Who ended a wait, as far as that is known: another thread, the parent, another traced process, or one that is not traced. */
enum waker { WAKER_UNKNOWN, WAKER_THREAD, WAKER_PARENT, WAKER_TRACED, WAKER_OTHER };

/* Bits of `value` in the key of a wait: the thread had received something from a client and sent nothing yet; it waited for a lock;
 * nobody ended the wait before its timeout. */
enum { WAIT_ASKED = 1, WAIT_LOCK = 2, WAIT_TIMEOUT = 4 };

/* What blocked time is counted by if it is wanted what calls waited for: the hash of what they were made on, and of who ended the
 * wait, 0 for none; of `key`, the group, the number, the gate, the kind and a value of its own. */
struct wait_key {
	struct key key;
	u64 object;
	u64 waker;
	/* Where the call was made: see stack_key; 0 if stacks are not wanted. */
	u64 site;
	/* 0 for the waits of those that were not told apart. */
	u32 thread;
	u32 process;
};
/* Beyond, threads are not told apart. */
#define WAITS 16384

/* A descriptor in an epoll set. */
struct polled_key {
	u64 data;
	u32 process;
	u32 epoll;
};

/* A connection that was accepted. */
struct connection {
	/* Since when a request is open, and what its thread had done then; 0 for none. */
	u64 start;
	u64 thread;
	u64 ran;
	u64 waited;
	u64 blocked;
	/* When a send was held back last: see is_held(). */
	u64 held;
	/* The hash of its own address. */
	u64 peer;
};

/* What requests are counted by: the group, and the hash of the address that the clients connected to. */
struct served_key {
	u64 group;
	u64 peer;
};

/* Sums over requests: from a receive on a connection that was accepted to the next send on it. The last four are of those that the
 * same thread received and answered. */
struct served {
	u64 requests;
	u64 elapsed;
	u64 by_thread;
	/* Sends that were held back: see is_held(). */
	u64 held;
	u64 connections;
	u64 ran;
	u64 waited;
	u64 blocked;
};

/* Sums over requests of io_uring: the opcode, and how they completed. */
struct ring_key {
	u32 group;
	u16 opcode;
	u16 way;
};
struct ring_sum {
	u64 requests;
	u64 elapsed;
};
/* Before the call that submitted it waited or returned, later, or by a thread of the kernel. */
enum way { WAY_INLINE, WAY_LATER, WAY_WORKER };
/* In place of a number, of the durations of these requests: the first opcode. */
#define NUMBER_RING 0xfe00

/* One that has not completed, by its address. */
struct ring_request {
	struct ring_key key;
	u64 start;
	/* The thread that submitted it, when it had entered its call, and the time that it had waited in it. */
	u64 thread;
	u64 entered;
	u64 blocked;
};

/* A lock of the kernel: of an address space, of an inode, or another one; and a flush of other CPUs' TLBs in place of one. */
enum lock { LOCK_OTHER, LOCK_MMAP, LOCK_INODE, LOCK_TLB };
/* Functions of a stack that wanted a lock, the innermost. */
#define LOCK_FRAMES 16
/* What waiting for locks of the kernel is counted by: of `key`, the group, the number, the gate, the flags as the operation, and enum
 * lock as the kind; and the hash of the stack. */
struct lock_key {
	struct key key;
	u64 stack;
};
struct lock_wait {
	u64 waits;
	u64 ns;
	/* The lock; 0 if there were several. */
	u64 lock;
	u64 frames[LOCK_FRAMES];
};

/* What calls are counted by if stacks are wanted; `key` has neither error nor class. Calls of one site were made by the same
 * instruction, at the same depth of the stack: most of them have the same stack. See site_of(). */
struct stack_key {
	struct key key;
	u64 site;
};

/* Sites that are told apart; calls from others are counted together, without a site. */
#define SITES 61440
/* Calls of a site of which each stack is copied: 2^SAMPLED_BITS. Beyond, half as many for each doubling. */
#define SAMPLED_BITS 7
/* The same of waits, if only the stacks of these are wanted. */
#define SAMPLED_WAITS 2
/* If calls are not counted by site: on each CPU the first of each number, and then one per period. */
#define FIRST_CALLS 8
#define SAMPLE_PERIOD_NS 1000000
#define RAREST 24
enum { STACKS_OF_CALLS = 1, STACKS_OF_WAITS, STACKS_OF_CLASSES };

/* Bytes of the ring of events; stacks leave the last quarter to mappings. */
#define RING_BYTES (32 << 20)

enum event_kind { EVENT_MAPPED = 1, EVENT_FORKED, EVENT_STACK, EVENT_EXECUTED, EVENT_SCRIPT };

/* What each event begins with. */
struct event {
	u32 kind;
	u32 process;
	/* The address of the process's mm_struct: changes when it executes another program. */
	u64 space;
};

/* Bytes of a path: the names of a file and of the directories that it is in, outwards, each with its 0. */
#define MAPPED_BYTES 2048

/* A file as the kernel knows it. */
struct mapped_file {
	u64 inode;
	u64 size;
	u32 device;
	u32 generation;
};

/* A process has mapped a file as code. */
struct mapped {
	struct event event;
	struct mapped_file file;
	u64 start;
	u64 end;
	/* In bytes. */
	u64 offset;
	/* Bytes of `path`; 0 if it did not fit. */
	u64 length;
	char path[MAPPED_BYTES];
};

/* The beginning of the auxiliary vector: pairs of a type and a value, or half as long of a 32-bit program. */
#define AUXV_WORDS 32

/* A process has executed a program, which the kernel maps together with its interpreter. */
struct executed {
	struct event event;
	struct mapped_file file;
	u64 auxv[AUXV_WORDS];
	/* The file system of the process's root directory, and the number of its mount namespace. */
	u32 root_device;
	u32 mounts;
	u64 length;
	u64 root_length;
	char path[MAPPED_BYTES];
	char root[MAPPED_BYTES];
};

/* A process has forked. */
struct forked {
	struct event event;
	u32 parent;
	u32 unused;
};

/* Functions of scripts in a sample. */
#define SCRIPTS 12
#define SCRIPT_BYTES 256
/* Of the table of a function's lines. */
#define LINES_BYTES 2048

/* Where Python has what it executes: the first interpreter; its last thread; a thread's predecessor, number and current frame, which may
 * be behind one more pointer (0: it is not); a frame's caller, code and instruction; the first line of code, and where the characters of a
 * text begin. */
enum python_field {
	FIRST_INTERPRETER,
	LAST_THREAD,
	NEXT_THREAD,
	THREAD_NUMBER,
	THROUGH,
	CURRENT_FRAME,
	CALLER,
	CODE,
	INSTRUCTION,
	FIRST_LINE,
	CHARACTERS,
	PYTHON_FIELDS,
};

/* The address of _PyRuntime, and the offsets of fields in their structs. */
struct python {
	u64 runtime;
	u16 at[PYTHON_FIELDS + 1];
};

/* A function of a script, when it is met first. */
struct script {
	struct event event;
	u64 code;
	u32 first_line;
	/* The text of both is ASCII if that bit of their states is set. */
	u32 states;
	/* Bytes of `lines`. */
	u64 length;
	char file[SCRIPT_BYTES];
	char name[SCRIPT_BYTES];
	u8 lines[LINES_BYTES];
};

#define STACK_BYTES 32768
#define PAGE_BYTES 4096

/* A call was made, and the stack of it was copied. */
struct sample {
	struct event event;
	struct stack_key key;
	/* How many calls this one stands for; 0 if it was copied because it is one of the slowest. */
	u64 weight;
	u64 ip;
	u64 sp;
	/* The frame pointer and, on arm64, the link register. */
	u64 fp;
	u64 lr;
	/* Where the vDSO is. */
	u64 vdso;
	/* The number of a slow call; 0 for none. */
	u32 slow;
	/* Of the next two. */
	u32 scripts;
	/* The function that makes the call and its callers, and the instructions that they are at. */
	u64 code[SCRIPTS];
	u64 instruction[SCRIPTS];
};

struct sampled {
	struct sample sample;
	/* From `sp` on; only what was copied is sent. */
	char stack[STACK_BYTES];
};

#define TEXT_BYTES 512
/* Bytes of each name of a descriptor's file and the directories around it, with its 0. */
#define PART_BYTES 64
#define PARTS (TEXT_BYTES / PART_BYTES)

/* The address of a socket's peer, or its own if it has no peer: the text of its name. */
struct address {
	u16 family;
	/* In network order. */
	u16 port;
	/* 1 if it is its own, and 2 if besides it was accepted: then it has a peer, which is a client. */
	u16 own;
	/* Bytes of the path of a Unix socket; abstract ones begin with a 0. */
	u16 length;
	/* An IP address in network order, or a path. */
	u64 bytes[14];
};

/* What is known of a path or descriptor. */
struct name {
	/* Of a descriptor's file. */
	u64 inode;
	/* Of a relative path: the hash of the directory. */
	u64 directory;
	u32 device;
	/* 0 for a path, else the kind of the descriptor. */
	u16 kind;
	/* The bytes of a path with its 0, or how many names there are. */
	u16 length;
	/* The path as far as it fits, or the names of the file and of the directories that it is in, outwards. */
	char text[TEXT_BYTES];
};

/* A call that took long. */
struct slow {
	struct key key;
	u64 start;
	/* 0 if there is none. */
	u64 elapsed;
	u64 blocked;
	u64 woken;
	u32 process;
	/* The number of its stack, as in `sampled`; 0 if that was not recorded. */
	u32 stack;
};

#define SLOWEST 64

/* A traced task, as it is listed or when it ended. */
struct live {
	/* Of the call that it is in; only the group is set if it is in none. */
	struct key key;
	/* So far. */
	u64 elapsed;
	u64 blocked;
	u64 woken;
	u64 preempted;
	u64 stalled;
	struct used used;
	u32 pid;
	u32 process;
	/* enum inside. */
	u32 inside;
	/* See wait_key. */
	u32 value;
	char name[NAME_BYTES];
	/* What its call is made on, if that is known, the first argument of the call, and where it was made. */
	u64 object;
	u64 argument;
	/* Of a task that ended: the site of the call, and of a lock, the words that may have the thread that holds it. */
	u64 site;
	u64 lock;
	u64 ip;
	u64 sp;
	u64 fp;
	u64 lr;
	u64 space;
};

/* What one CPU needs for details. */
struct details {
	/* Calls that took no longer are none of the slowest. */
	u64 floor;
	struct slow slowest[SLOWEST];
	/* A name while it is made, and a task that ends. */
	struct name name;
	struct live live;
};

/* Threads on a CPU that are told apart; the last level is that many or more. */
#define LEVELS 64

/* Counters of all CPUs. */
struct globals {
	/* Events that could not be counted. */
	u64 lost;
	/* Tasks of the tree that have not ended, and those of them that are about to. */
	s64 live;
	s64 ending;
	u64 processes;
	u64 threads;
	/* Processes for whose group there was no number left. */
	u64 nameless;
	/* Switches that were missed, as far as that can be told, and the time of the calls that they were in. */
	u64 unseen;
	u64 unseen_ns;
	/* The numbers of groups that were given out. */
	u64 groups;
	/* 1 once tasks of the scope are to be traced: before, only marked ones are. */
	u64 begun;
	/* Tasks that are on a CPU, and above, in the upper half, those that wait for one; when that changed last. */
	u64 running;
	u64 changed;
	/* The most of both together. */
	u64 peak;
	/* Wall time with n + 1 tasks on a CPU, with none there but some waiting for one, and with all blocked. */
	u64 on_cpu[LEVELS];
	u64 waiting;
	u64 blocked;
	/* Calls whose object, or whose stack, there was no room for. */
	u64 objects_dropped;
	u64 stacks_dropped;
	/* Blocked time of calls whose wait there was no room for. */
	u64 waits_dropped_ns;
	/* Connections of clients. */
	u64 connections;
	/* Rows of `waits`. */
	u64 waits;
	/* The same of locks. */
	u64 locks_dropped_ns;
	/* Sites that were counted, slow calls whose stack was copied, and stacks and mappings that the ring had no room for. */
	u64 sites;
	u64 slow_stacks;
	u64 samples_lost;
	u64 mappings_lost;
	/* Samples beside the counting of calls, by where they found a CPU: in user mode, in calls or in the programs at them, and
	 * elsewhere in the kernel, as far as that has no entry in `places`. */
	u64 samples_user;
	u64 samples_calls;
	u64 samples_kernel;
	/* Sections that were not begun, for want of room, and ends of sections that were not open. */
	u64 sections_lost;
	u64 stray_ends;
};

/* Where samples beside the counting of calls found a CPU: a place in a process, or half of the address of the function with
 * which the processor entered the kernel. */
struct place {
	/* If there is `code`: of the instruction in it. */
	u64 address;
	/* The function of a script; 0 for none. */
	u64 code;
	/* 0 for the kernel. */
	u32 process;
	u32 unused;
};

/* What the programs are loaded for. The kernel drops the branches that a setting rules out. */
struct config {
	/* Whether calls are timed. */
	u8 times;
	/* Whether entries are seen: always with times, and where the registers of a task that ends cannot be read. */
	u8 enters;
	/* enum scope. */
	u8 scope;
	/* Whether sched_switch passes the state of the task that leaves (since 5.18). */
	u8 switch_has_state;
	/* Whether the kernel has bpf_rdonly_cast. */
	u8 has_cast;
	/* enum group_by. */
	u8 group_by;
	/* Whether `globals.running` and what follows from it are kept. */
	u8 concurrency;
	/* Whether the registers of a task that does not run can be read (since 5.15). */
	u8 has_registers;
	/* The numbers of execve and execveat, and of exit, exit_group and rt_sigreturn, by gate. */
	u16 exec[2][2];
	u16 exit[2][2];
	u16 sigreturn[2];
	u16 close[2];
	/* mmap, and mmap2 of 32-bit calls. */
	u16 mmap[2];
	u16 futex[2];
	u16 epoll_ctl[2];
	/* Whether CPUs are sampled, instead of calls counted. */
	u8 sampled;
	/* Whether tracepoints leave preemption enabled (since 7.2). */
	u8 preemptible;
	/* Whether it is recorded what calls wait for. */
	u16 waits;
	/* One less than the number of places for tasks, a power of two. */
	u32 task_mask;
	/* What is recorded besides, on request. */
	u8 paths;
	u8 descriptors;
	u8 stacks;
	u8 slowest;
	/* The ID of the cgroup to trace. */
	u64 cgroup;
	struct row calls[2 * NUMBERS];
	/* Which waits a call can end, and in the upper half, by which it waits itself: see ends_wait(). */
	u8 waits_of[2 * NUMBERS];
};

/* Which tasks are traced, besides children of those that are: a command from its execve, the processes that are marked,
 * those in a cgroup and the ones below it, or all. */
enum scope { SCOPE_COMMAND, SCOPE_PROCESSES, SCOPE_CGROUP, SCOPE_SYSTEM };

/* What, besides its name, distinguishes a process group. */
enum group_by { GROUP_NAME, GROUP_PROCESS, GROUP_CGROUP, GROUP_TREE, GROUP_THREAD };
/* Names that are started by each other, of which there can be no end: further ones are in no tree. */
#define DEPTH 24
#define DEEP 0xffffffff

#endif
