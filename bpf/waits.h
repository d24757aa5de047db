/* What calls wait for while they are blocked: what they were made on, and who ended the wait. */
#pragma once
#include "counting.h"
#include "stacks.h"

/* A shorter wait is one of a sample, with a chance in proportion to it, and then counts as this long. */
#define WAIT_NS 20000

/* Threads of the kernel, and tasks that end: PF_KTHREAD and PF_EXITING of linux/sched.h. */
#define KERNEL_THREAD 0x00200000
#define EXITING 4

/* A lock on a file, or a message: QUEUE of crates/trace/src/bpf/wakes.rs, as what ends the call's own waits. */
#define WAITS_IN_QUEUE (8 << 4)

INLINE u32 waits_of(u32 number, u32 gate)
{
	return number < NUMBERS ? config.waits_of[(number + (gate & 1) * NUMBERS) & (2 * NUMBERS - 1)] : 0;
}

/* Whether what the running task does can end the wait of a task: it is in a call that can, or ends. Else an interrupt woke that
 * task in the middle of what the running one does. */
INLINE int ends_wait(struct task *task, struct task_struct *current)
{
	u32 number = number_of(task_pt_regs(current)), gate = gate_of(current, &number);
	u32 ended_by = waits_of(task->number, task->gate) >> 4;
	if (current->flags & EXITING) return ended_by;
	return ended_by & waits_of(number, gate);
}

/* The running task wakes another one. */
INLINE void note_waker(struct task *task, struct task_struct *of, struct task_struct *current)
{
	struct task_struct *named = current;
	task->waker = WAKER_UNKNOWN;
	if (!config.has_registers || !current->pid || current->flags & KERNEL_THREAD || !ends_wait(task, current)) return;
	if (of->tgid == current->tgid) task->waker = WAKER_THREAD;
	else if (of->real_parent->tgid == current->tgid) task->waker = WAKER_PARENT;
	else task->waker = find(current) ? WAKER_TRACED : WAKER_OTHER;
	if (of->tgid != current->tgid) named = current->group_leader;
	probe_read_kernel_str(task->waker_name, sizeof task->waker_name, named->comm);
}

/* The hash of who woke a task last, whose name is noted; 0 if that is not known. */
INLINE u64 hash_of_waker(struct window *w, struct task *task)
{
	struct details *d = these_details();
	u64 hash;
	if (!d || !task->waker) return 0;
	hash = mix(mix(mix(KIND_WAKER, task->waker), task->waker_name[0]), task->waker_name[1]);
	hash = forget(w, hash | 1);
	if (map_lookup(&names, &hash)) return hash;
	d->name.inode = d->name.directory = 0;
	d->name.device = task->waker;
	d->name.kind = KIND_WAKER;
	d->name.length = NAME_BYTES;
	((u64 *)d->name.text)[0] = task->waker_name[0];
	((u64 *)d->name.text)[1] = task->waker_name[1];
	map_update(&names, &hash, &d->name, UPDATE_NOEXIST);
	return hash;
}

/* The hash of a socket's peer, whose address is noted. */
INLINE u64 note_peer(struct window *w, struct file *file)
{
	struct details *d = these_details();
	u64 hash = KIND_PEER;
	if (!d) return 0;
	struct address *to = (struct address *)d->name.text;
	note_address(to, file);
#pragma clang loop unroll(full)
	for (u32 at = 0; at < sizeof *to / sizeof(u64); at++) hash = mix(hash, ((u64 *)to)[at]);
	hash = forget(w, hash | 1);
	if (map_lookup(&names, &hash)) return hash;
	d->name.inode = d->name.directory = d->name.device = 0;
	d->name.kind = KIND_PEER;
	d->name.length = sizeof *to;
	map_update(&names, &hash, &d->name, UPDATE_NOEXIST);
	return hash;
}

/* Of poll and ppoll: linux/poll.h. */
struct polled {
	s32 descriptor;
	u16 wanted, found;
};
#define MOST_POLLED 8

/* The first descriptor that has something to say, of the first ones that were polled; -1 if none has. */
INLINE u32 first_polled(struct pt_regs *regs, u32 gate)
{
	struct polled each = {};
	u64 at = argument_of(regs, gate, 0), count = argument_of(regs, gate, 1);
#pragma clang loop unroll(disable)
	for (u32 place = 0; place < MOST_POLLED; place++) {
		if (place >= count || probe_read_user(&each, sizeof each, (void *)(at + place * sizeof each))) break;
		if (each.found) return each.descriptor;
	}
	return -1;
}

/* Of epoll_wait: linux/eventpoll.h. */
struct event_found {
	u32 events;
	u64 data;
}
#if defined(__TARGET_ARCH_x86)
__attribute__((packed))
#endif
;
#define EPOLL_DEL 2
#define EPOLL_IS_SET 2 /* the argument of epoll_wait that has their number */

INLINE int read_event(struct polled_key *key, struct task_struct *current, struct pt_regs *regs, u32 gate, u32 position)
{
	struct event_found event = {};
	if (probe_read_user(&event, sizeof event, (void *)argument_of(regs, gate, position))) return 0;
	key->data = event.data;
	key->process = current->tgid;
	key->epoll = argument_of(regs, gate, 0);
	return 1;
}

/* A descriptor was added to an epoll set, or what is reported for it changed. */
INLINE void note_polled(struct task_struct *current, struct pt_regs *regs, u32 gate)
{
	struct polled_key key = {};
	u64 descriptor = (u32)argument_of(regs, gate, 2);
	if ((u32)argument_of(regs, gate, 1) == EPOLL_DEL || !read_event(&key, current, regs, gate, 3)) return;
	map_update(&polled, &key, &descriptor, UPDATE_ANY);
}

/* The descriptor that an epoll_wait returned first; -1 if it is not known. */
INLINE u32 first_found(struct task_struct *current, struct pt_regs *regs, u32 gate)
{
	struct polled_key key = {};
	u64 *descriptor = read_event(&key, current, regs, gate, 1) ? map_lookup(&polled, &key) : 0;
	return descriptor ? *descriptor : -1;
}

INLINE int is_futex(u32 number, u32 gate)
{
	return number == config.futex[gate & 1];
}

/* FUTEX_PRIVATE_FLAG; FUTEX_WAIT, FUTEX_LOCK_PI, FUTEX_WAIT_BITSET and FUTEX_LOCK_PI2; and what locks of glibc, musl and Rust have in
 * them while somebody waits: 2, in those for readers and writers also 3, or FUTEX_WAITERS with the owner. */
#define FUTEX_IS_PRIVATE 128
#define FUTEX_OPERATION 127
enum { FUTEX_WAITS = 0, FUTEX_LOCKS = 6, FUTEX_WAITS_FOR_BITS = 9, FUTEX_LOCKS_2 = 13 };
#define FUTEX_HAS_WAITERS 0x80000000
/* FUTEX_TID_MASK, and PID_MAX_LIMIT: others have -1 there, as parked threads of Rust do. */
#define FUTEX_THREAD 0x3fffffff
#define LARGEST_THREAD (1 << 22)

INLINE int is_lock(struct pt_regs *regs, u32 gate)
{
	u32 operation = argument_of(regs, gate, 1) & FUTEX_OPERATION, value = argument_of(regs, gate, 2);
	if (operation == FUTEX_LOCKS || operation == FUTEX_LOCKS_2) return 1;
	if (operation != FUTEX_WAITS && operation != FUTEX_WAITS_FOR_BITS) return 0;
	if (value & FUTEX_HAS_WAITERS) return (value & FUTEX_THREAD) <= LARGEST_THREAD;
	return value == 2 || (value == 3 && operation == FUTEX_WAITS_FOR_BITS);
}

/* The hash of a futex, whose address is noted. */
INLINE u64 note_futex(struct window *w, struct task_struct *current, struct pt_regs *regs, u32 gate)
{
	struct details *d = these_details();
	u64 at = argument_of(regs, gate, 0);
	u32 process = argument_of(regs, gate, 1) & FUTEX_IS_PRIVATE ? current->tgid : 0;
	process = forget(w, process);
	u64 hash = forget(w, mix(mix(KIND_FUTEX, at), process) | 1);
	if (!d || map_lookup(&names, &hash)) return hash;
	d->name.inode = at;
	d->name.directory = d->name.length = 0;
	d->name.device = process;
	d->name.kind = KIND_FUTEX;
	map_update(&names, &hash, &d->name, UPDATE_NOEXIST);
	return hash;
}

/* The hash of what a call was made on, if it is known. */
INLINE u64 hash_of_waited(struct window *w, struct task_struct *current, struct pt_regs *regs, const volatile struct row *row,
			  u32 number, u32 gate, struct call *call)
{
	u32 kind = (u8)(call->second >> 40), what = row->what, descriptor;
	if (is_futex(number, gate)) return note_futex(w, current, regs, gate);
	if (what == WHAT_SET) {
		descriptor = -1;
		if (row->argument == 1) descriptor = first_polled(regs, gate);
		if (row->argument == EPOLL_IS_SET) descriptor = first_found(current, regs, gate);
		descriptor = forget(w, descriptor);
		kind = descriptor_kind(current, descriptor);
		kind = forget(w, kind);
		call->second |= (u64)(u8)kind << 40;
	} else if (what == WHAT_BYTES || what == WHAT_SENT || what == WHAT_DESCRIPTOR) {
		descriptor = argument_of(regs, gate, row->argument);
	} else {
		return call->object;
	}
	struct file *file = file_of(current, forget(w, descriptor));
	if (!file) return 0;
	return forget(w, kind) == KIND_SOCKET ? note_peer(w, file) : note_file(w, name_of(file), 0);
}

INLINE int is_on_disk(u32 kind)
{
	return kind == KIND_REGULAR || kind == KIND_DIRECTORY || kind == KIND_BLOCK;
}

#define ETIMEDOUT 110

/* See wait_key. */
INLINE u32 wait_value(struct window *w, struct task *task, struct pt_regs *regs, u32 number, u32 gate, s64 result)
{
	u32 value = task->asked ? WAIT_ASKED : 0;
	const volatile struct row *row = &config.calls[(number + (gate & 1) * NUMBERS) & (2 * NUMBERS - 1)];
	value = forget(w, value);
	if (is_futex(number, gate) && is_lock(regs, gate)) value |= WAIT_LOCK;
	value = forget(w, value);
	if (result == -ETIMEDOUT || (result == 0 && number < NUMBERS && row->what == WHAT_SET)) value |= WAIT_TIMEOUT;
	return forget(w, value);
}

/* Of a call's key: its gate and kind. */
#define KIND_BITS (0xffffull << 32)

/* Whether threads are told apart, and waits by where the call was made. */
INLINE void note_thread(struct wait_key *key, struct task_struct *current)
{
	if (globals.waits >= WAITS / 4 * 3) return;
	key->thread = current->pid;
	key->process = current->tgid;
}

#define EINTR 4
/* As in crates/trace/src/bpf/threads.rs: glibc's `__owner` is there, behind the word. */
#define OWNER_OFFSET 8

/* A signal ended the wait: if the task ends too, that is the call in which it was. `start` differs once it makes another one. */
INLINE void note_interrupted(struct task *task, struct pt_regs *regs, u32 gate, struct wait_key *key)
{
	u64 at = argument_of(regs, gate, 0);
	u32 words[2] = {};
	task->interrupted = task->start;
	task->interrupted_value = key->key.value;
	task->interrupted_object = key->object;
	task->interrupted_site = key->site;
	if (key->key.value & WAIT_LOCK) {
		probe_read_user(words, sizeof *words, (void *)at);
		probe_read_user(words + 1, sizeof *words, (void *)(at + OWNER_OFFSET));
	}
	task->interrupted_lock = words[0] | (u64)words[1] << 32;
}

/* Counts the blocked time of a call that returned `result` by what it waited for. */
INLINE void count_wait(struct window *w, struct task *task, struct task_struct *current, struct pt_regs *regs, u32 number,
		       u32 gate, s64 result, struct call *call)
{
	const volatile struct row *row = &config.calls[(number + (gate & 1) * NUMBERS) & (2 * NUMBERS - 1)];
	struct wait_key key = {};
	struct counted none = {}, *sum;
	u64 blocked = call->blocked, stalled = call->stalled, calls = 1;
	if (blocked < WAIT_NS) {
		if (get_random() % WAIT_NS >= blocked) return;
		calls = WAIT_NS / blocked;
		stalled = stalled * WAIT_NS / blocked;
		blocked = WAIT_NS;
	}
	calls = forget(w, calls);
	blocked = forget(w, blocked);
	if (number < NUMBERS) key.object = forget(w, hash_of_waited(w, current, regs, row, number, gate, call));
	((u64 *)&key.key)[0] = call->first & CALL_BITS;
	((u64 *)&key.key)[1] = call->second & KIND_BITS;
	((u64 *)&key.key)[1] |= (u64)wait_value(w, task, regs, number, gate, result) << 48;
	/* Else a timer, a signal or a disk ended it. */
	if ((result > 0 || (result == 0 && row->what != WHAT_SET)) &&
	    (!is_on_disk((u8)(call->second >> 40)) || waits_of(number, gate) & WAITS_IN_QUEUE))
		key.waker = forget(w, hash_of_waker(w, task));
	note_thread(&key, current);
	if (config.stacks >= STACKS_OF_WAITS && wants_stacks() && !call->unfinished)
		key.site = forget(w, sample_wait(w, current, regs, call));
	if (result == -EINTR || (result <= -ERRNO_RESTART && result >= -ERRNO_MAX)) note_interrupted(task, regs, gate, &key);
	sum = map_lookup(&waits, &key);
	if (!sum) {
		ADD(globals.waits, 1);
		map_update(&waits, &key, &none, UPDATE_NOEXIST);
		sum = map_lookup(&waits, &key);
	}
	if (!sum) {
		ADD(globals.waits_dropped_ns, blocked);
		return;
	}
	ADD(sum->calls, calls);
	ADD(sum->blocked, blocked);
	ADD(sum->stalled, stalled);
}

INLINE struct served *served_of(u64 group, u64 peer)
{
	struct served_key key = {.group = group, .peer = peer};
	struct served none = {}, *sum;
	sum = map_lookup(&served, &key);
	if (sum) return sum;
	map_update(&served, &key, &none, UPDATE_NOEXIST);
	return map_lookup(&served, &key);
}

/* A connection that was accepted, which is counted when it is seen first. Sockets are made in place of others. */
INLINE struct connection *connection_of(struct window *w, struct task *task, struct file *file)
{
	struct connection none = {}, *found;
	struct served *sum;
	struct inode *inode = 0;
	u64 number = 0;
	probe_read_kernel(&inode, sizeof inode, &file->f_inode);
	probe_read_kernel(&number, sizeof number, &inode->i_ino);
	number = mix((u64)file, number);
	found = map_lookup(&connections, &number);
	if (found) return found;
	none.peer = forget(w, note_peer(w, file));
	if (map_update(&connections, &number, &none, UPDATE_NOEXIST)) return 0;
	ADD(globals.connections, 1);
	sum = served_of(task->group, none.peer);
	if (sum) ADD(sum->connections, 1);
	return map_lookup(&connections, &number);
}

/* The thread received something from a client: a request begins, unless one is open. */
INLINE void begin_request(struct task *task, struct task_struct *current, struct connection *with, u64 now)
{
	task->asked = 1;
	if (with->start) return;
	with->thread = current->pid;
	with->ran = task->spent[RUN_ON_CPU] + since(task->run_since, now);
	with->waited = task->spent[RUN_WAITING];
	with->blocked = task->spent[RUN_BLOCKED];
	with->start = now;
}

INLINE void add_request(struct served *sum, struct connection *with, struct task *task, struct task_struct *current, u64 now)
{
	ADD(sum->requests, 1);
	ADD(sum->elapsed, since(with->start, now));
	if (with->thread != (u64)current->pid) return;
	ADD(sum->by_thread, 1);
	ADD(sum->ran, task->spent[RUN_ON_CPU] + since(task->run_since, now) - with->ran);
	ADD(sum->waited, task->spent[RUN_WAITING] - with->waited);
	ADD(sum->blocked, task->spent[RUN_BLOCKED] - with->blocked);
}

/* And sent something to it, which ends the request that is open: returns whether there is one. */
INLINE int end_request(struct window *w, struct task *task, struct task_struct *current, struct connection *with, u64 now)
{
	struct served *sum;
	task->asked = 0;
	if (!with->start) return 0;
	sum = served_of(task->group, with->peer);
	if (sum) add_request(sum, with, task, current, now);
	share_durations(NUMBER_REQUEST, 0, bucket_of(w, since(with->start, now)), 1);
	with->start = 0;
	return 1;
}

#define TCP 6
/* Less than any segment (RFC 9293), and fewer in flight than a new connection may have (RFC 6928). */
#define SMALLEST_SEGMENT 536
#define FEW_IN_FLIGHT 10
/* Delayed acknowledgements come after a 25th of a second, by a timer that is late by less than two ticks. */
#define DELAYED_NS 39500000
#define LATE_NS 49000000

/* Whether a small send is held back behind data that was not acknowledged (Nagle's algorithm): no window limits so little. */
INLINE int is_held(struct sock *of)
{
	struct tcp_sock *tcp = (void *)of;
	u16 protocol = 0;
	u32 written = 0, next = 0, in_flight = 0;
	probe_read_kernel(&protocol, sizeof protocol, &of->sk_protocol);
	if (protocol != TCP) return 0;
	probe_read_kernel(&written, sizeof written, &tcp->write_seq);
	probe_read_kernel(&next, sizeof next, &tcp->snd_nxt);
	probe_read_kernel(&in_flight, sizeof in_flight, &tcp->packets_out);
	return written != next && written - next < SMALLEST_SEGMENT && in_flight && in_flight < FEW_IN_FLIGHT;
}

/* The client went on: if that is when a delayed acknowledgement comes, it had waited for what was held back until then. */
INLINE void count_held(struct task *task, struct connection *with, u64 now)
{
	struct served *sum;
	u64 ns = since(with->held, now);
	with->held = 0;
	if (ns < DELAYED_NS || ns > LATE_NS) return;
	sum = served_of(task->group, with->peer);
	if (sum) ADD(sum->held, 1);
}

/* A call returned: what it waited for, and whether a request begins or ends with it. */
INLINE void note_served(struct window *w, struct task *task, struct task_struct *current, struct pt_regs *regs, s64 result)
{
	u32 number = task->number, gate = task->gate, kind = task->kind;
	const volatile struct row *row = &config.calls[(number + (gate & 1) * NUMBERS) & (2 * NUMBERS - 1)];
	u32 what = number < NUMBERS ? row->what : WHAT_NOTHING;
	struct call call = {.blocked = task->blocked, .stalled = task->stalled, .object = task->object};
	call.first = first_word(task->group, short_number(number), 0);
	call.second = second_word(0, gate, kind, 0);
	if (w->sampled) sample_class(w, current, regs, &call);
	if (number == config.epoll_ctl[gate & 1]) note_polled(current, regs, gate);
	if (call.blocked) count_wait(w, task, current, regs, number, gate, result, &call);
	if (result <= 0 || kind != KIND_SOCKET || (what != WHAT_BYTES && what != WHAT_SENT)) return;
	struct file *file = file_of(current, forget(w, argument_of(regs, gate, row->argument)));
	if (!file) return;
	struct sock *socket = sock_of(file);
	if (!is_accepted(socket)) return;
	struct connection *with = connection_of(w, task, file);
	u64 now = ktime_get_ns();
	if (!with) return;
	if (what != WHAT_SENT) {
		begin_request(task, current, with, now);
		if (with->held) count_held(task, with, now);
	} else if (!end_request(w, task, current, with, now) && result < SMALLEST_SEGMENT && is_held(socket)) {
		with->held = now;
	}
}
