/* Requests of io_uring, by what they do and how they complete: since Linux 6.4, which passes the request to the tracepoints. */
#pragma once
#include "counting.h"
#include "locks.h"

/* In the events' records, the ring precedes the request. */
INLINE u64 request_of(u64 *ctx, u32 position)
{
	u64 value;
	if (!config.preemptible) return ctx[position];
	value = ctx[2];
	/* As in result_of(). */
	__asm__ volatile("" : "+r"(value));
	return value;
}

INLINE void submit(u64 *ctx, struct task_struct *current)
{
	u64 address = request_of(ctx, 0);
	struct io_kiocb *request = (void *)address;
	struct ring_request new = {.start = ktime_get_ns(), .thread = current->pid};
	struct task *task = find(current);
	u8 opcode = 0;
	/* A thread of the kernel may submit for the process. */
	if (!task) task = find(current->group_leader);
	if (!task || task->state != STATE_LIVE || ended) return;
	probe_read_kernel(&opcode, sizeof opcode, &request->opcode);
	new.key.group = task->group;
	new.key.opcode = opcode;
	new.key.way = WAY_LATER;
	new.entered = task->inside ? task->start : 0;
	new.blocked = task->blocked;
	map_update(&ring_requests, &address, &new, UPDATE_ANY);
}

INLINE void leave_to_worker(u64 *ctx)
{
	u64 address = request_of(ctx, 0);
	struct ring_request *request = map_lookup(&ring_requests, &address);
	if (request) request->key.way = WAY_WORKER;
}

/* Whether the thread that submitted it is in that call still, and has not waited since. */
INLINE int is_inline(struct ring_request *request, struct task_struct *current)
{
	struct task *task = find(current);
	if (!task || request->key.way != WAY_LATER || request->thread != (u64)current->pid) return 0;
	return task->inside && task->start == request->entered && task->blocked == request->blocked;
}

/* It may complete again; that is not counted. */
INLINE void complete(u64 *ctx, struct task_struct *current)
{
	u64 address = request_of(ctx, 1);
	struct ring_request *request = map_lookup(&ring_requests, &address);
	struct ring_sum none = {}, *sum;
	struct window *w = this_window();
	if (!request || !w || ended) return;
	struct ring_key key = request->key;
	u64 ns = since(request->start, ktime_get_ns());
	if (is_inline(request, current)) key.way = WAY_INLINE;
	map_delete(&ring_requests, &address);
	sum = map_lookup(&rings, &key);
	if (!sum) {
		map_update(&rings, &key, &none, UPDATE_NOEXIST);
		sum = map_lookup(&rings, &key);
	}
	if (!sum) {
		ADD(globals.lost, 1);
		return;
	}
	ADD(sum->requests, 1);
	ADD(sum->elapsed, ns);
	share_durations(NUMBER_RING + key.opcode, 0, bucket_of(w, ns), 1);
}
