/* The maps and variables that the programs share with the loader, and what all of them use. */
#pragma once
#include "kernel.h"
#include "layout.h"

/* Written by the loader before the programs are loaded, then constant. */
const volatile struct config config SEC(".rodata");
struct globals globals SEC(".bss");
/* When tracing ended; 0 until then. On a page of its own: what programs write to would have to be fetched from the CPU that did. */
volatile u64 ended SEC(".data.ended");

/* The loader sets the sizes of `tasks` and `windows`. */
struct {
	MAP_NUMBER(type, MAP_ARRAY);
	MAP_NUMBER(max_entries, 1);
	MAP_NUMBER(map_flags, MAP_MAPPABLE);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct task);
} tasks SEC(".maps");

/* By CPU. An array, because its lookup is inlined by all kernels, and user space may read it meanwhile. */
struct {
	MAP_NUMBER(type, MAP_ARRAY);
	MAP_NUMBER(max_entries, 1);
	MAP_NUMBER(map_flags, MAP_MAPPABLE);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct window);
} windows SEC(".maps");

struct {
	MAP_NUMBER(type, MAP_HASH);
	MAP_NUMBER(max_entries, 32768);
	MAP_TYPE(key, struct key);
	MAP_TYPE(value, struct counted);
} calls SEC(".maps");

struct {
	MAP_NUMBER(type, MAP_HASH);
	MAP_NUMBER(max_entries, 32768);
	MAP_TYPE(key, struct duration_key);
	MAP_TYPE(value, u64);
} durations SEC(".maps");

struct {
	MAP_NUMBER(type, MAP_HASH);
	MAP_NUMBER(max_entries, 8192);
	MAP_TYPE(key, struct group_key);
	MAP_TYPE(value, u64);
} groups SEC(".maps");

struct {
	MAP_NUMBER(type, MAP_HASH);
	MAP_NUMBER(max_entries, 8192);
	MAP_TYPE(key, u64);
	MAP_TYPE(value, struct used);
} usage SEC(".maps");

/* With GROUP_TREE: how many processes have had the name of a group, but for those that have it now. */
struct {
	MAP_NUMBER(type, MAP_HASH);
	MAP_NUMBER(max_entries, 8192);
	MAP_TYPE(key, u64);
	MAP_TYPE(value, u64);
} started SEC(".maps");

/* With GROUP_TREE: by the number of the group. */
struct {
	MAP_NUMBER(type, MAP_HASH);
	MAP_NUMBER(max_entries, SECTIONS);
	MAP_TYPE(key, u64);
	MAP_TYPE(value, struct section);
} sections SEC(".maps");

/* For those up to `names`, the loader sets sizes: no more than an entry if they are not needed. */
struct {
	MAP_NUMBER(type, MAP_HASH);
	MAP_NUMBER(max_entries, 65536);
	MAP_TYPE(key, struct object_key);
	MAP_TYPE(value, struct counted);
} objects SEC(".maps");

struct {
	MAP_NUMBER(type, MAP_HASH);
	MAP_NUMBER(max_entries, WAITS);
	MAP_TYPE(key, struct wait_key);
	MAP_TYPE(value, struct counted);
} waits SEC(".maps");

/* The descriptors of epoll sets. */
struct {
	MAP_NUMBER(type, MAP_HASH);
	MAP_NUMBER(max_entries, 65536);
	MAP_TYPE(key, struct polled_key);
	MAP_TYPE(value, u64);
} polled SEC(".maps");

/* What a program continues with: the verifier checks each by itself. */
struct {
	MAP_NUMBER(type, MAP_PROGRAMS);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, u32);
} next SEC(".maps");

/* Tasks that ended, by number. */
struct {
	MAP_NUMBER(type, MAP_HASH);
	MAP_NUMBER(max_entries, 4096);
	MAP_TYPE(key, u64);
	MAP_TYPE(value, struct live);
} ended_tasks SEC(".maps");

/* Connections that clients sent something on. */
struct {
	MAP_NUMBER(type, MAP_LRU_HASH);
	MAP_NUMBER(max_entries, 16384);
	MAP_TYPE(key, u64);
	MAP_TYPE(value, struct connection);
} connections SEC(".maps");

struct {
	MAP_NUMBER(type, MAP_HASH);
	MAP_NUMBER(max_entries, 1024);
	MAP_TYPE(key, struct served_key);
	MAP_TYPE(value, struct served);
} served SEC(".maps");

struct {
	MAP_NUMBER(type, MAP_HASH);
	MAP_NUMBER(max_entries, 1024);
	MAP_TYPE(key, struct ring_key);
	MAP_TYPE(value, struct ring_sum);
} rings SEC(".maps");

struct {
	MAP_NUMBER(type, MAP_LRU_HASH);
	MAP_NUMBER(max_entries, 16384);
	MAP_TYPE(key, u64);
	MAP_TYPE(value, struct ring_request);
} ring_requests SEC(".maps");

struct {
	MAP_NUMBER(type, MAP_HASH);
	MAP_NUMBER(max_entries, 2048);
	MAP_TYPE(key, struct lock_key);
	MAP_TYPE(value, struct lock_wait);
} locks SEC(".maps");

struct {
	MAP_NUMBER(type, MAP_HASH);
	MAP_NUMBER(max_entries, 65536);
	MAP_TYPE(key, struct stack_key);
	MAP_TYPE(value, struct counted);
} stack_counts SEC(".maps");

/* A stack while it is copied, by CPU. */
struct {
	MAP_NUMBER(type, MAP_ARRAY);
	MAP_NUMBER(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct sampled);
} samples SEC(".maps");

/* Processes that execute scripts, by number. */
struct {
	MAP_NUMBER(type, MAP_HASH);
	MAP_NUMBER(max_entries, 1024);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct python);
} pythons SEC(".maps");

/* The functions of scripts that were sent, by hash. */
struct {
	MAP_NUMBER(type, MAP_LRU_HASH);
	MAP_NUMBER(max_entries, 4096);
	MAP_TYPE(key, u64);
	MAP_TYPE(value, u64);
} scripts SEC(".maps");

/* Mappings, forks and stacks, in the order in which they happened. */
struct {
	MAP_NUMBER(type, MAP_RING);
	MAP_NUMBER(max_entries, RING_BYTES);
} events SEC(".maps");

/* By hash. */
struct {
	MAP_NUMBER(type, MAP_HASH);
	MAP_NUMBER(max_entries, 65536);
	MAP_TYPE(key, u64);
	MAP_TYPE(value, struct name);
} names SEC(".maps");

/* By CPU. */
struct {
	MAP_NUMBER(type, MAP_ARRAY);
	MAP_NUMBER(max_entries, 1);
	MAP_NUMBER(map_flags, MAP_MAPPABLE);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct details);
} details SEC(".maps");

/* Samples beside the counting of calls. */
struct {
	MAP_NUMBER(type, MAP_HASH);
	MAP_NUMBER(max_entries, 4096);
	MAP_TYPE(key, struct place);
	MAP_TYPE(value, u64);
} places SEC(".maps");

/* What user space says about a process, in the storage of its first thread: STATE_HELD, STATE_LIVE for one all of whose
 * threads are to be traced, or STATE_EXCLUDED. */
struct {
	MAP_NUMBER(type, MAP_TASK_STORAGE);
	MAP_NUMBER(map_flags, 1);
	MAP_TYPE(key, s32);
	MAP_TYPE(value, u64);
} marks SEC(".maps");

#define ADD(counter, amount) ((void)__sync_fetch_and_add(&(counter), amount))

INLINE struct window *this_window(void)
{
	u32 cpu = get_smp_processor_id();
	return map_lookup(&windows, &cpu);
}

/* `value`, of which the verifier then knows nothing: it would otherwise check what follows once for each value that it
 * may have, such as after a loop or a chain of comparisons. */
INLINE u64 forget(struct window *w, u64 value)
{
	*(volatile u64 *)&w->scratch = value;
	return *(volatile u64 *)&w->scratch;
}

/* floor(log2(value)); 0 of 0. */
INLINE u32 log2_of(u64 value)
{
	u32 log = 0;
	if (value >> 32) value >>= 32, log += 32;
	if (value >> 16) value >>= 16, log += 16;
	if (value >> 8) value >>= 8, log += 8;
	if (value >> 4) value >>= 4, log += 4;
	if (value >> 2) value >>= 2, log += 2;
	return log + (value >> 1);
}

/* The same task, whose pointers are followed without asking which types they may be trusted to lead to: for each of these, the
 * verifier searches all types of the kernel, which took a third of its time. */
INLINE struct task_struct *plain(struct task_struct *task)
{
	return config.has_cast ? bpf_rdonly_cast(task, KERNEL_TYPE_ID(struct task_struct)) : task;
}
