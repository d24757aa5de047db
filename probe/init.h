/* init.h: the probe as the first process of a guest: /init of an initramfs, or started with --init. */
#ifndef SYSCOST_INIT_H
#define SYSCOST_INIT_H

/* Whether this process was started as a guest's first: PID 1 under the name /init (a container's first process is PID 1 too,
   but keeps its own name), or with --init. */
int is_guest(int argc, char **argv);

/* Serves the guest's console until its input ends or it is told to power off. Each channel is a child that calls `serve`,
   which speaks the probe's protocol on its standard input and output, or `launch`, which becomes another program that does; both
   return an exit status. Never returns; PID 1 powers the machine off. */
_Noreturn void be_init(int (*serve)(void), int (*launch)(char **arguments));
#endif
