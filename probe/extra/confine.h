/* confine.h: what the files of the launcher share. */
#ifndef SYSCOST_CONFINE_H
#define SYSCOST_CONFINE_H

/* Ends the process with the protocol's error line, by errno. What this kernel or machine lacks is not a failure of the operation,
   whatever the errno. */
_Noreturn void cannot(const char *call);

/* Ends the process with the text of the call unless it is as it should be. */
#define DO(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) < 0) cannot(#call);                                                                                 \
    } while (0)

/* Starts `body(data)` in a child that no tracer of the program follows. Returns its process ID. */
int start_untraced(int (*body)(void *), void *data);

/* In a helper: apart from the program's pipes, and ended with the program. */
void leave_pipes(void);

/* Behind a filter whose supervisor answers each open (notify.c). */
void notify(char **arguments);

/* LAYERS: enters so many nested Landlock domains, in which everything is allowed (landlock.c). */
void landlock(char **arguments);

/* A mount namespace of its own: root's if it may, else in a user namespace, where only some file systems can be mounted. */
void own_mount_namespace(void);

/* The command that starts the program by a runtime of containers (container.c). */
char **container(char **arguments, char **program);

/* Runs BPF programs at all system calls of the machine while the program works on a request (agent.c). */
void agent(char **arguments);

/* Calls `attach` when a request to the program passes, and `detach` before an answer does, in a helper (agent.c). */
void attach_during_requests(void (*attach)(void), void (*detach)(void));

/* KIND [NAME...]: runs a BPF program that does nothing at each of these functions, tracepoints or hooks of security modules, as
   `agent` does (hook.c). */
void bpf_hook(char **arguments);
#endif
