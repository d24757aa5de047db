/* Counting one call: by key, by duration, by object and by stack. */
#pragma once
#include "concurrency.h"
#include "objects.h"

/* A call that is to be counted. The words of its key are numbers, because bytes that are stored one by one and loaded
 * as a word make the processor wait. */
struct call {
	u64 first; /* group, number, error */
	u64 second; /* operation, gate, kind, value */
	u64 elapsed, on_cpu, blocked, woken, preempted, stalled;
	u64 bytes;
	u64 unfinished;
	/* Whether the elapsed time is that of the whole call. */
	u64 whole;
	/* The hash of what it was made on; 0 if that is not known or not wanted. */
	u64 object;
	/* The bytes of its path, with the 0, if that begins or ends a section: it is not counted. */
	u64 marker;
};

INLINE u64 first_word(u32 group, u32 number, u32 error)
{
	return group | (u64)(u16)number << 32 | (u64)error << 48;
}

INLINE u64 second_word(u32 operation, u32 gate, u32 kind, u32 value)
{
	return operation | (u64)gate << 32 | (u64)kind << 40 | (u64)value << 48;
}

INLINE void add_counted(struct counted *sum, struct counted *more)
{
	ADD(sum->calls, more->calls);
	ADD(sum->unfinished, more->unfinished);
	ADD(sum->on_cpu, more->on_cpu);
	ADD(sum->blocked, more->blocked);
	ADD(sum->woken, more->woken);
	ADD(sum->preempted, more->preempted);
	ADD(sum->stalled, more->stalled);
	ADD(sum->bytes, more->bytes);
}

/* Adds a window's entry to the shared map. */
INLINE void flush(struct entry *entry)
{
	struct counted *sum = map_lookup(&calls, &entry->key);
	if (!sum) {
		struct counted none = {};
		map_update(&calls, &entry->key, &none, UPDATE_NOEXIST);
		sum = map_lookup(&calls, &entry->key);
	}
	if (!sum) {
		ADD(globals.lost, 1);
		return;
	}
	add_counted(sum, &entry->counted);
}

/* The window's entry of a key; another one in its place is flushed. */
INLINE struct counted *entry_of(struct window *w, u64 first, u64 second)
{
	u64 hash = (first * 0x9e3779b97f4a7c15ull ^ second) * 0xd6e8feb86659fd93ull;
	struct entry *entry = &w->entries[hash >> (64 - ENTRY_BITS)];
	u64 *key = (u64 *)&entry->key;
	if (LIKELY(key[0] == first && key[1] == second)) return &entry->counted;
	/* Readers in user space compare the number before and after. */
	*(volatile u64 *)&w->flushes += 1;
	if (entry->counted.calls | entry->counted.unfinished) flush(entry);
	__builtin_memset(&entry->counted, 0, sizeof entry->counted);
	key[0] = first;
	key[1] = second;
	*(volatile u64 *)&w->flushes += 1;
	return &entry->counted;
}

INLINE void share_durations(u32 number, u32 gate, u32 bucket, u64 count)
{
	struct duration_key key = {.number = number, .gate = gate, .bucket = bucket};
	u64 none = 0, *sum = map_lookup(&durations, &key);
	if (!sum) {
		map_update(&durations, &key, &none, UPDATE_NOEXIST);
		sum = map_lookup(&durations, &key);
	}
	if (sum) ADD(*sum, count);
	else ADD(globals.lost, 1);
}

/* Exact below 2^STEP_BITS, then 2^STEP_BITS buckets per power of two. */
INLINE u32 bucket_of(struct window *w, u64 ns)
{
	u32 log = log2_of(ns), bucket = ns;
	if (log >= STEP_BITS) bucket = ((log - STEP_BITS) << STEP_BITS) + (u32)(ns >> (log - STEP_BITS));
	bucket = forget(w, bucket);
	return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

INLINE void count_duration(struct window *w, u32 number, u32 gate, u64 ns)
{
	u32 bucket = bucket_of(w, ns), at = number + gate * NUMBERS;
	if (number < NUMBERS && gate < 2) {
		/* Linux 6.1's verifier forgets the bound of what was spilled to the stack: it is applied anew. */
		__asm__ volatile("" : "+r"(at));
		u32 histogram = w->histogram_of[at & (2 * NUMBERS - 1)];
		if (UNLIKELY(!histogram) && w->histograms_used < HISTOGRAMS)
			histogram = w->histogram_of[at & (2 * NUMBERS - 1)] = ++w->histograms_used;
		if (LIKELY(histogram - 1 < HISTOGRAMS)) {
			u32 *count = &w->histograms[histogram - 1][bucket];
			if (UNLIKELY(++*count == 0)) share_durations(number, gate, bucket, 1ull << 32);
			return;
		}
	}
	share_durations(number, gate, bucket, 1);
}

INLINE void count(struct window *w, struct call *call)
{
	struct counted *sums = entry_of(w, call->first, call->second);
	sums->calls += 1;
	sums->unfinished += call->unfinished;
	sums->bytes += call->bytes;
	if (!config.times) return;
	sums->on_cpu += call->on_cpu;
	if (UNLIKELY(call->on_cpu != call->elapsed)) {
		sums->blocked += call->blocked;
		sums->woken += call->woken;
		sums->preempted += call->preempted;
		sums->stalled += call->stalled;
	}
	if (call->whole) count_duration(w, (u16)(call->first >> 32), (u8)(call->second >> 32), call->elapsed);
}

/* Adds a call to a sum that all CPUs share. */
INLINE void add_call(struct counted *sum, struct call *call)
{
	ADD(sum->calls, 1);
	ADD(sum->bytes, call->bytes);
	if (!config.times) return;
	ADD(sum->on_cpu, call->on_cpu);
	ADD(sum->blocked, call->blocked);
	ADD(sum->woken, call->woken);
	ADD(sum->preempted, call->preempted);
	ADD(sum->stalled, call->stalled);
}

/* The bits of the first word with group and number; those of the second with the gate, and whether the time is not known. */
#define CALL_BITS 0xffffffffffffull
#define UNTIMED (1ull << 56)
#define GATE_BITS (0xffull << 32 | UNTIMED)

/* Counts a call by what it was made on. */
INLINE void count_object(struct call *call)
{
	struct object_key key = {.object = call->object};
	struct counted *sum;
	((u64 *)&key.key)[0] = call->first;
	((u64 *)&key.key)[1] = call->second & GATE_BITS;
	sum = map_lookup(&objects, &key);
	if (!sum) {
		struct counted none = {};
		map_update(&objects, &key, &none, UPDATE_NOEXIST);
		sum = map_lookup(&objects, &key);
	}
	if (sum) add_call(sum, call);
	else ADD(globals.objects_dropped, 1);
}

/* Keeps a call if it is one of the slowest on this CPU: in the place of the shortest that is kept. */
INLINE void keep_slow(struct window *w, struct task_struct *current, struct call *call, u64 start, u32 stack)
{
	struct details *d = these_details();
	/* The shortest time, and in the lower bits its place. */
	u64 least = -1ull;
	if (!d || LIKELY(call->elapsed <= d->floor)) return;
#pragma clang loop unroll(disable)
	for (u32 at = 0; at < SLOWEST; at++) {
		u64 each = d->slowest[at].elapsed * SLOWEST + at;
		if (each < least) least = each;
	}
	least = forget(w, least);
	d->floor = least / SLOWEST;
	if (call->elapsed <= d->floor) return;
	struct slow *slow = &d->slowest[least & (SLOWEST - 1)];
	((u64 *)&slow->key)[0] = call->first;
	((u64 *)&slow->key)[1] = call->second;
	slow->start = start;
	slow->elapsed = call->elapsed;
	slow->blocked = call->blocked;
	slow->woken = call->woken;
	slow->process = current->tgid;
	slow->stack = stack;
}

/* The task was off the CPU until `now`, within a call: it was blocked, woken or preempted. It now does `run`. Its wake-up is
 * on the CPU that takes it in, with that queue's lock, so after it left and before it runs. A wake-up that is not seen
 * (a signal was pending when it left, or tracing began meanwhile) makes the time until it runs blocked time. */
INLINE void settle(struct task *task, u64 now, u32 run)
{
	u64 off = since(task->off_since, now);
	if (!task->off_since) return;
	if (task->off == OFF_BLOCKED) task->blocked += off;
	else if (task->off == OFF_WOKEN) task->woken += off;
	else task->preempted += off;
	task->off = OFF_WOKEN;
	task->off_since = run == RUN_ON_CPU ? 0 : now;
}

/* Divides the time of the call that the task was in until `now`. */
INLINE void divide(struct task *task, u64 now, struct call *call)
{
	call->elapsed = since(task->start, now);
	if (UNLIKELY(task->off_since)) {
		if (!ended) {
			/* Its return to the CPU was missed. */
			ADD(globals.unseen, 1);
			ADD(globals.unseen_ns, call->elapsed);
		}
		settle(task, now, RUN_ON_CPU);
	}
	call->whole = task->inside == INSIDE;
	call->blocked = task->blocked;
	call->woken = task->woken;
	call->preempted = task->preempted;
	call->stalled = task->stalled;
	call->on_cpu = since(call->blocked + call->woken + call->preempted, call->elapsed);
}
