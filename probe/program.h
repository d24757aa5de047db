/* program.h: a command of the user's, run in a guest again and again from the same files. */
#ifndef SYSCOST_PROGRAM_H
#define SYSCOST_PROGRAM_H

/* Serves a channel that runs the command of /program until its input ends; returns an exit status. */
int serve_program(void);
#endif
