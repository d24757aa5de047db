/* Sections: what a task, and those that it starts, do between two paths that it asks for. A section is a group that the task's group
 * started, so that its calls and what it uses are counted as those of any group. */
#pragma once
#include "concurrency.h"
#include "objects.h"

/* What paths begin with, in words: "/.syscost/begin/" and "/.syscost/end/". */
#define FIRST_WORD 0x736f637379732e2full
#define BEGIN_WORD 0x2f6e696765622f74ull
#define END_WORD 0x2f646e652f74ull
#define END_MASK 0xffffffffffffull
#define BEGIN_BYTES 16
#define END_BYTES 14
/* Digits of a number of iterations. */
#define DIGITS 12

/* Whether the `length` bytes of w->path, with the 0, begin or end a section. */
INLINE int is_marker(struct window *w, long length)
{
	u64 *words = (u64 *)w->path;
	if (config.group_by != GROUP_TREE || length <= END_BYTES + 1 || words[0] != FIRST_WORD) return 0;
	return (words[1] & END_MASK) == END_WORD || (words[1] == BEGIN_WORD && length > BEGIN_BYTES + 1);
}

/* An index into w->path, bounded by a mask: the verifiers of Linux 6.1 and 6.12 lose the bound of a comparison that clang inverts. */
INLINE u64 place_in_path(struct window *w, u64 at)
{
	return forget(w, at) & (PATH_BYTES - 1);
}

/* The hash of a section's name: of w->path from `from` until `end`, where slashes are put that fill the last piece. */
INLINE u64 hash_of_section(struct window *w, u32 from, u64 end)
{
	u64 hash = end - from;
	fill_piece(w->path + place_in_path(w, end));
#pragma clang loop unroll(disable)
	for (u32 at = 0; at < TEXT_BYTES; at += PIECE_BYTES) {
		if (from + at >= end) break;
#pragma clang loop unroll(full)
		for (u32 next = 0; next < PIECE_BYTES; next += sizeof hash)
			hash = mix(hash, *(u64 *)(w->path + from + at + next));
	}
	return forget(w, hash | 1);
}

/* Where "/ITERATIONS" begins that the `end` bytes of w->path end with; 0 if they do not. */
INLINE u64 find_iterations(struct window *w, u64 end, u64 *iterations)
{
	u64 scale = 1, sum = 0, at = 0;
#pragma clang loop unroll(disable)
	for (u32 digit = 0; digit <= DIGITS; digit++) {
		u64 place = place_in_path(w, end - 1 - digit);
		if (place <= END_BYTES) break;
		u64 value = forget(w, (u64)(w->path[place] - '0'));
		if (w->path[place] == '/') {
			at = scale > 1 ? place : 0;
			break;
		}
		if (value > 9) break;
		sum = forget(w, sum + value * scale);
		scale = forget(w, scale * 10);
	}
	*iterations = sum;
	return forget(w, at);
}

/* A task's group becomes another one. What it used until now was the former's. */
INLINE void move(struct task *task, struct task_struct *current, u32 group, u32 from)
{
	u64 now = ktime_get_ns();
	spend(task, now);
	use(task, current);
	note_base(task, current, now);
	__builtin_memset(task->spent, 0, sizeof task->spent);
	task->group = group;
	task->from = from;
}

/* The section of a group, which is made if there is none. */
INLINE struct section *make_section(struct window *w, struct task *task, u64 group, u64 name, u64 length)
{
	struct section *known = map_lookup(&sections, &group);
	struct details *d = these_details();
	struct section section = {.name = name};
	if (known || !d) return known;
	section.group = task->group;
	section.from = task->from;
	section.depth = task->depth;
	section.outer = task->section;
	w->path[place_in_path(w, length - 1)] = 0;
	__builtin_memset(&d->name, 0, sizeof d->name - TEXT_BYTES);
	d->name.length = length - BEGIN_BYTES;
	probe_read_kernel_str(d->name.text, TEXT_BYTES, w->path + BEGIN_BYTES);
	map_update(&names, &name, &d->name, UPDATE_NOEXIST);
	map_update(&sections, &group, &section, UPDATE_NOEXIST);
	return map_lookup(&sections, &group);
}

INLINE void begin_section(struct window *w, struct task *task, struct task_struct *current, u64 length)
{
	struct group_key key = {.id = task->group};
	struct section *section;
	u64 name = hash_of_section(w, BEGIN_BYTES, length - 1), group = 0;
	((u64 *)key.name)[1] = name;
	if (task->depth < DEPTH && length <= BEGIN_BYTES + TEXT_BYTES) group = number_of_group(&key);
	section = group ? make_section(w, task, group, name, length) : 0;
	if (!section) {
		ADD(globals.sections_lost, 1);
		return;
	}
	ADD(section->begun, 1);
	ADD(section->elapsed, -ktime_get_ns());
	move(task, current, group, task->group);
	task->section = group;
	task->depth += 1;
}

/* Ends the innermost section of that name; those within it were not ended. */
INLINE void end_section(struct window *w, struct task *task, struct task_struct *current, u64 length)
{
	u64 iterations, group = task->section, other = 0;
	u64 at = find_iterations(w, length - 1, &iterations);
	u64 name = hash_of_section(w, END_BYTES, length - 1);
	struct section *section = 0;
	u16 fresh = task->fresh;
	int renamed;
	if (at) other = hash_of_section(w, END_BYTES, at);
#pragma clang loop unroll(disable)
	for (u32 level = 0; level <= DEPTH; level++) {
		section = map_lookup(&sections, &group);
		if (!section || section->name == name || section->name == other) break;
		group = section->outer;
		section = 0;
	}
	if (!section) {
		ADD(globals.stray_ends, 1);
		return;
	}
	ADD(section->ended, 1);
	ADD(section->elapsed, ktime_get_ns());
	ADD(section->iterations, section->name == name ? 1 : iterations);
	renamed = task->group != (u32)group;
	move(task, current, section->group, section->from);
	task->section = section->outer;
	task->depth = section->depth;
	if (!renamed) return;
	/* If it executed another program meanwhile, the group that it was in before was left then. */
	task->fresh = 1;
	number_group(task, current);
	if (task->fresh) task->fresh = fresh;
}

INLINE void take_marker(struct window *w, struct task *task, struct task_struct *current, u64 length)
{
	length = forget(w, length);
	if (length <= END_BYTES || length > PATH_BYTES) return;
	if (((u64 *)w->path)[1] == BEGIN_WORD) begin_section(w, task, current, length);
	else end_section(w, task, current, length);
}

/* A process is started in a section. */
INLINE void count_process(u64 group)
{
	struct section *section = map_lookup(&sections, &group);
	if (section) ADD(section->processes, 1);
}
