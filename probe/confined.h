/* confined.h: channels of a guest behind the launcher of environments (extra/confine.c). */
#ifndef SYSCOST_CONFINED_H
#define SYSCOST_CONFINED_H

/* Becomes the launcher, which enters `way` (its words are separated by colons) and becomes this program again: it serves the
   protocol on its standard input and output, or becomes `program` if there is one. */
_Noreturn void become_confined(const char *way, char *program);

/* The argument with which the launcher starts this program. */
#define CHANNEL "--channel"
#endif
