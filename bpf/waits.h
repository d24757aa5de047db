/* What calls wait for while they are blocked: what they were made on, and who ended the wait. */
#pragma once
#include "counting.h"

/* A shorter wait is one of a sample, with a chance in proportion to it, and then counts as this long. */
#define WAIT_NS 20000

/* Threads of the kernel, and tasks that end: PF_KTHREAD and PF_EXITING of linux/sched.h. */
#define KERNEL_THREAD 0x00200000
#define EXITING 4
/* Address families of linux/socket.h. */
#define UNIX 1
#define INET 2
#define INET6 10

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
	task->waker = 0;
	if (!config.has_registers || !current->pid || current->flags & KERNEL_THREAD || !ends_wait(task, current)) return;
	task->waker = current->tgid;
	if (of->tgid != current->tgid) named = current->group_leader;
	probe_read_kernel_str(task->waker_name, sizeof task->waker_name, named->comm);
}

/* The hash of who woke a task last, whose name is noted; 0 if that is not known. */
INLINE u64 hash_of_waker(struct window *w, struct task *task, struct task_struct *current)
{
	struct details *d = these_details();
	u64 own = task->waker == (u32)current->tgid, hash;
	if (!d || !task->waker) return 0;
	hash = mix(mix(mix(KIND_WAKER, own), task->waker_name[0]), task->waker_name[1]);
	hash = forget(w, hash | 1);
	if (map_lookup(&names, &hash)) return hash;
	d->name.inode = d->name.directory = 0;
	d->name.device = own;
	d->name.kind = KIND_WAKER;
	d->name.length = NAME_BYTES;
	((u64 *)d->name.text)[0] = task->waker_name[0];
	((u64 *)d->name.text)[1] = task->waker_name[1];
	map_update(&names, &hash, &d->name, UPDATE_NOEXIST);
	return hash;
}

/* The path that a Unix socket is bound to. */
INLINE int note_unix(struct address *to, struct unix_sock *of)
{
	struct unix_address *address = 0;
	s32 length = 0;
	probe_read_kernel(&address, sizeof address, &of->addr);
	if (!address) return 0;
	probe_read_kernel(&length, sizeof length, &address->len);
	to->length = length - sizeof to->family;
	probe_read_kernel(to->bytes, sizeof address->name[0].sun_path, &address->name[0].sun_path);
	return 1;
}

/* Of a Unix socket, the path that the peer is bound to, or it is itself, as the sockets that accept returns. */
INLINE void note_unix_peer(struct address *to, struct unix_sock *of)
{
	struct sock *peer = 0;
	if (!FIELD_EXISTS(of->peer)) return;
	probe_read_kernel(&peer, sizeof peer, &of->peer);
	to->own = !peer;
	if (!peer || !note_unix(to, (void *)peer)) note_unix(to, of);
}

INLINE void note_internet_peer(struct address *to, struct sock_common *of)
{
	u16 port = 0;
	probe_read_kernel(&to->port, sizeof to->port, &of->skc_dport);
	to->own = !to->port;
	if (to->own) {
		probe_read_kernel(&port, sizeof port, &of->skc_num);
		to->port = port << 8 | port >> 8;
	}
	if (to->family == INET)
		probe_read_kernel(to->bytes, 4, to->own ? &of->skc_rcv_saddr : &of->skc_daddr);
	else if (FIELD_EXISTS(of->skc_v6_daddr))
		probe_read_kernel(to->bytes, 16, to->own ? &of->skc_v6_rcv_saddr : &of->skc_v6_daddr);
}

/* The hash of a socket's peer, whose address is noted. */
INLINE u64 note_peer(struct window *w, struct file *file)
{
	struct details *d = these_details();
	struct socket *socket = 0;
	struct sock *of = 0;
	u64 hash = KIND_PEER;
	if (!d) return 0;
	struct address *to = (struct address *)d->name.text;
	__builtin_memset(to, 0, sizeof *to);
	probe_read_kernel(&socket, sizeof socket, &file->private_data);
	probe_read_kernel(&of, sizeof of, &socket->sk);
	probe_read_kernel(&to->family, sizeof to->family, &of->__sk_common.skc_family);
	if (to->family == UNIX) note_unix_peer(to, (void *)of);
	else if (to->family == INET || to->family == INET6) note_internet_peer(to, &of->__sk_common);
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

/* The hash of what a call was made on, if it is known. */
INLINE u64 hash_of_waited(struct window *w, struct task_struct *current, struct pt_regs *regs, const volatile struct row *row,
			  u32 gate, struct call *call)
{
	u32 kind = (u8)(call->second >> 40), what = row->what, descriptor;
	if (what == WHAT_SET && row->argument == 1) {
		descriptor = first_polled(regs, gate);
		kind = descriptor_kind(current, descriptor);
	} else if (what == WHAT_BYTES || what == WHAT_DESCRIPTOR) {
		descriptor = argument_of(regs, gate, row->argument);
	} else {
		return call->object;
	}
	struct file *file = file_of(current, forget(w, descriptor));
	if (!file) return 0;
	return forget(w, kind) == KIND_SOCKET ? note_peer(w, file) : note_file(w, name_of(file));
}

INLINE int is_on_disk(u32 kind)
{
	return kind == KIND_REGULAR || kind == KIND_DIRECTORY || kind == KIND_BLOCK;
}

/* Of a call's key: its group and number, and its gate and kind. */
#define CALL_BITS 0xffffffffffffull
#define KIND_BITS (0xffffull << 32)

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
	((u64 *)&key.key)[0] = call->first & CALL_BITS;
	((u64 *)&key.key)[1] = call->second & KIND_BITS;
	if (number < NUMBERS) key.object = hash_of_waited(w, current, regs, row, gate, call);
	/* Else a timer, a signal or a disk ended it. */
	if (!is_on_disk((u8)(call->second >> 40)) && (result > 0 || (result == 0 && row->what != WHAT_SET)))
		key.waker = hash_of_waker(w, task, current);
	sum = map_lookup(&waits, &key);
	if (!sum) {
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
