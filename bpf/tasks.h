/* The state of traced tasks: found, made, and counted by group. */
#pragma once
#include "maps.h"

/* Places that are searched for a task. */
#define PROBES 16
#define FREED 1

INLINE u32 place_of(void *task)
{
	/* Half of the address: arithmetic on pointers is not for programs, but their lower words are numbers. */
	return (u32)(unsigned long)task / 64 * 0x9e3779b1u >> 8;
}

/* The state of a task; null if it is not traced. */
INLINE struct task *find(void *of)
{
	u32 place = place_of(of), at = place & config.task_mask;
	struct task *task = map_lookup(&tasks, &at);
	if (!task || LIKELY(task->owner == (u64)of)) return task;
	if (task->owner == 0) return 0;
#pragma clang loop unroll(disable)
	for (u32 step = 1; step < PROBES; step++) {
		at = (place + step) & config.task_mask;
		task = map_lookup(&tasks, &at);
		if (!task || task->owner == (u64)of) return task;
		if (task->owner == 0) return 0;
	}
	return 0;
}

/* A place for a task that is not traced, empty but for its owner; null, and an event lost, if there is none. */
INLINE struct task *make(void *of)
{
	u32 place = place_of(of);
#pragma clang loop unroll(disable)
	for (u32 step = 0; step < PROBES; step++) {
		u32 at = (place + step) & config.task_mask;
		struct task *task = map_lookup(&tasks, &at);
		if (!task) break;
		u64 owner = task->owner;
		if (owner <= FREED) owner = __sync_val_compare_and_swap(&task->owner, owner, (u64)of);
		/* Somebody else just did the same. */
		if (owner == (u64)of) return 0;
		if (owner > FREED) continue;
		__builtin_memset((char *)task + sizeof task->owner, 0, sizeof *task - sizeof task->owner);
		return task;
	}
	ADD(globals.lost, 1);
	return 0;
}

/* Notes the kernel's accounting of a task that ran before it is traced. */
INLINE void note_base(struct task *task, struct task_struct *of, u64 now)
{
	task->base[0] = of->utime;
	task->base[1] = of->stime;
	task->base[2] = of->min_flt;
	task->base[3] = of->maj_flt;
	task->base[4] = of->nvcsw;
	task->base[5] = of->nivcsw;
	task->run_since = now;
}

INLINE void add_usage(struct used *sum, struct task *task, struct task_struct *of)
{
	ADD(sum->accounting[0], of->utime - task->base[0]);
	ADD(sum->accounting[1], of->stime - task->base[1]);
	ADD(sum->accounting[2], of->min_flt - task->base[2]);
	ADD(sum->accounting[3], of->maj_flt - task->base[3]);
	ADD(sum->accounting[4], of->nvcsw - task->base[4]);
	ADD(sum->accounting[5], of->nivcsw - task->base[5]);
	ADD(sum->ran, task->spent[RUN_ON_CPU]);
	ADD(sum->waited, task->spent[RUN_WAITING]);
	ADD(sum->blocked, task->spent[RUN_BLOCKED]);
}

/* Adds what a task used to its group. */
INLINE void use(struct task *task, struct task_struct *of)
{
	u64 group = task->group;
	struct used none = {}, *sum = map_lookup(&usage, &group);
	if (!sum) {
		map_update(&usage, &group, &none, UPDATE_NOEXIST);
		sum = map_lookup(&usage, &group);
	}
	if (sum) add_usage(sum, task, of);
	else ADD(globals.lost, 1);
}

/* A process has had the name of its group, and leaves it. */
INLINE void leave_group(struct task *task)
{
	u64 group = task->group, none = 0, *sum = map_lookup(&started, &group);
	if (!sum) {
		map_update(&started, &group, &none, UPDATE_NOEXIST);
		sum = map_lookup(&started, &group);
	}
	if (sum) ADD(*sum, 1);
}

/* Whether a process keeps its group, in whose tree it has the name `key` again. If not, the group is what starts the next. */
INLINE int stays_in_tree(struct task *task, struct group_key *key)
{
	key->id = task->from;
	u64 *number = map_lookup(&groups, key);
	if (number && (u32)*number == task->group) return 1;
	if (task->group && !task->fresh) leave_group(task);
	task->from = task->depth < DEPTH ? task->group : DEEP;
	if (task->group && task->depth < DEPTH) task->depth += 1;
	task->fresh = 0;
	key->id = task->from;
	return 0;
}

/* The number of a group, which is given out if it is new; 0 if there is no room. */
INLINE u32 number_of_group(struct group_key *key)
{
	u64 *number = map_lookup(&groups, key);
	if (!number) {
		u64 next = __sync_fetch_and_add(&globals.groups, 1) + 1;
		map_update(&groups, key, &next, UPDATE_NOEXIST);
		number = map_lookup(&groups, key);
	}
	return number ? *number : 0;
}

/* Gives a task the number of its process's group. */
INLINE void number_group(struct task *task, struct task_struct *of)
{
	struct group_key key = {};
	struct task_struct *named = config.group_by == GROUP_THREAD ? of : plain(of)->group_leader;
	probe_read_kernel_str(key.name, sizeof key.name, plain(named)->comm);
	if (config.group_by == GROUP_TREE && stays_in_tree(task, &key)) return;
	/* Beyond, by name alone. */
	if (config.group_by == GROUP_PROCESS && globals.groups < PROCESSES) key.id = of->tgid;
	if (config.group_by == GROUP_CGROUP) key.id = plain(of)->cgroups->dfl_cgrp->kn->id;
	task->group = number_of_group(&key);
	if (!task->group) ADD(globals.nameless, 1);
	/* Its calls are missing in the section around it. */
	if (task->section && (!task->group || task->from == DEEP)) ADD(globals.lost, 1);
}

/* The state in task_struct: 0 for running or ready to run. */
INLINE u64 state_of(struct task_struct *task)
{
	if (FIELD_EXISTS(task->__state)) return task->__state;
	return ((struct task_struct___before_5_14 *)task)->state;
}

/* Levels of cgroups that are searched. */
#define CGROUP_DEPTH 32

INLINE int in_cgroup(struct task_struct *task)
{
	struct cgroup_subsys_state *state = &task->cgroups->dfl_cgrp->self;
#pragma clang loop unroll(disable)
	for (u32 level = 0; level < CGROUP_DEPTH && state; level++) {
		if (state->cgroup->kn->id == config.cgroup) return 1;
		state = state->parent;
	}
	return 0;
}

/* Whether a task that is not traced belongs to the scope. */
INLINE int is_wanted(struct task_struct *task)
{
	u64 *mark = task_storage_get(&marks, task->group_leader, 0, 0);
	if (config.scope < SCOPE_CGROUP || !globals.begun) return mark && *mark == STATE_LIVE;
	if (mark && *mark == STATE_EXCLUDED) return 0;
	return config.scope == SCOPE_SYSTEM || in_cgroup(task);
}
