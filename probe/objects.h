/* objects.h: the names of kernel objects that outlive processes, fixed in advance so that the janitor knows
   everything that a run may leave behind. Shared by support.c, which creates such objects, and the janitor, which
   removes them. */
#ifndef SYSCOST_OBJECTS_H
#define SYSCOST_OBJECTS_H

/* In the environment of every worker and its descendants: the run's number, eight hexadecimal digits. */
#define RUN_VARIABLE "SYSCOST_RUN"

enum {
    OBJECT_KEYS = 1 << 11, /* a run's number leaves these bits clear; with them it is the key of a System V object */
    QUEUE_NAMES = 64,      /* each name is in use only between mq_open() and mq_unlink() */
};

/* The name of a POSIX message queue: the run's number, and a number from 0 to QUEUE_NAMES - 1. */
#define QUEUE_NAME "/syscost-%08x-%d"
#endif
