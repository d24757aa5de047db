/* question.h: what a guest is asked: the secret of the run, and the plan of what to count. */
#ifndef SYSCOST_QUESTION_H
#define SYSCOST_QUESTION_H

/* The file /question, which is removed, or NULL without one. */
char *question_in_file(void);

/* Waits until the emulator's configuration device has a question. A machine whose state is kept waits there, and goes on where the state
   is loaded. NULL without such a device, or if it may not be read. */
char *question_in_device(void);

#endif
