/* objects.h: the names of kernel objects that outlive processes, so that the janitor knows all that a run may leave
   before there is any. Shared by support.c, which makes such objects, and by the janitor, which removes them. */
#ifndef SYSCOST_OBJECTS_H
#define SYSCOST_OBJECTS_H

/* In the environment of every worker and of what it starts: the run's number, eight hexadecimal digits. */
#define RUN_VARIABLE "SYSCOST_RUN"

enum {
    OBJECT_KEYS = 1 << 11, /* a run's number has these bits clear: with them it is the key of a System V object */
    QUEUE_NAMES = 64,      /* each name is in use for the moment between mq_open() and mq_unlink() only */
};

/* The name of a POSIX message queue, of the run's number and one from 0 to QUEUE_NAMES - 1. */
#define QUEUE_NAME "/syscost-%08x-%d"
#endif
