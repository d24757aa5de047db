/* The functions of Python that lead to a call, from the interpreter's own frames. User space finds out where these are. */
#pragma once
#include "objects.h"

#define MOST_THREADS 32

/* Offsets that Python 3.11 to 3.14 have in common: of objects, their types; of code, its first line, file, qualified name and table of
 * lines; of texts, their states; of bytes, their number and where they begin. */
enum { OBJECT_TYPE = 8, CODE_FILE = 112, CODE_NAME = 128, CODE_LINES = 136, TEXT_STATE = 32, BYTES_SIZE = 16, BYTES_BEGIN = 32 };

/* Fills in what each event begins with. */
INLINE void begin_event(struct event *event, u32 kind, struct task_struct *current)
{
	event->kind = kind;
	event->process = current->tgid;
	event->space = (u64)current->mm;
}

INLINE u64 word_at(u64 address)
{
	u64 word = 0;
	probe_read_user(&word, sizeof word, (void *)address);
	return word;
}

/* The innermost frame of the current thread. In a PID namespace numbers differ: there, the main thread's is that of the only thread that
 * Python knows. Other threads may be native. */
INLINE u64 frame_of(struct task_struct *current, struct python *python)
{
	u64 first = word_at(word_at(python->runtime + python->at[FIRST_INTERPRETER]) + python->at[LAST_THREAD]), thread = first;
#pragma clang loop unroll(disable)
	for (u32 each = 0; each < MOST_THREADS; each++) {
		u64 next = word_at(thread + python->at[NEXT_THREAD]);
		if (!thread) return 0;
		if (word_at(thread + python->at[THREAD_NUMBER]) == (u64)current->pid || (thread == first && !next && current->pid == current->tgid)) break;
		thread = next;
	}
	if (python->at[THROUGH]) thread = word_at(thread + python->at[THROUGH]);
	return thread ? word_at(thread + python->at[CURRENT_FRAME]) : 0;
}

/* The function of a frame. Bits of the reference that are no part of the address are tags, from Python 3.14 on. */
INLINE u64 code_of(struct python *python, u64 frame)
{
	return frame ? word_at(frame + python->at[CODE]) & ~7ull : 0;
}

/* Sends what is known of a function. A frame may have something else in the place of its code. */
INLINE void send_script(struct task_struct *current, struct python *python, u64 code)
{
	u64 file = word_at(code + CODE_FILE), name = word_at(code + CODE_NAME), lines = word_at(code + CODE_LINES);
	u64 type = word_at(file + OBJECT_TYPE), length = word_at(lines + BYTES_SIZE);
	struct script *s;
	if (!type || type != word_at(name + OBJECT_TYPE)) return;
	s = ring_reserve(&events, sizeof *s, 0);
	if (!s) return;
	begin_event(&s->event, EVENT_SCRIPT, current);
	s->code = code;
	s->first_line = word_at(code + python->at[FIRST_LINE]);
	s->states = word_at(file + TEXT_STATE) & word_at(name + TEXT_STATE);
	if (length > LINES_BYTES) length = LINES_BYTES;
	s->length = length;
	probe_read_user_str(s->file, SCRIPT_BYTES, (void *)(file + python->at[CHARACTERS]));
	probe_read_user_str(s->name, SCRIPT_BYTES, (void *)(name + python->at[CHARACTERS]));
	probe_read_user(s->lines, length, (void *)(lines + BYTES_BEGIN));
	ring_submit(s, RING_NO_WAKEUP);
}

/* Sends a function, unless that was done. */
INLINE void know_script(struct task_struct *current, struct python *python, u64 code)
{
	u64 known = mix(code, current->tgid), one = 1;
	if (!map_update(&scripts, &known, &one, UPDATE_NOEXIST)) send_script(current, python, code);
}

/* Of a process that executes scripts, a sample's place is in the innermost function. */
INLINE void note_script(struct task_struct *current, struct place *place)
{
	u32 process = current->tgid;
	struct python *python = map_lookup(&pythons, &process);
	u64 frame = python ? frame_of(current, python) : 0, code = python ? code_of(python, frame) : 0;
	if (!code) return;
	place->code = code;
	place->address = word_at(frame + python->at[INSTRUCTION]);
	know_script(current, python, code);
}

/* Returns how many functions there are. They belong to the site: the interpreter's own functions are the same for all. */
INLINE u32 note_scripts(struct window *w, struct task_struct *current, struct sample *to, u64 *site)
{
	u32 process = current->tgid, depth = 0;
	struct python *python = map_lookup(&pythons, &process);
	if (!python) return 0;
	u64 frame = frame_of(current, python);
#pragma clang loop unroll(disable)
	for (depth = 0; depth < SCRIPTS && frame; depth++) {
		u64 code = code_of(python, frame);
		to->code[depth] = code;
		to->instruction[depth] = word_at(frame + python->at[INSTRUCTION]);
		*site = mix(*site, to->instruction[depth]);
		know_script(current, python, code);
		frame = forget(w, word_at(frame + python->at[CALLER]));
	}
	return depth;
}
