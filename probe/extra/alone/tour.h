/* tour.h: a whole run by a probe that stands alone, see tour.c. */
#ifndef SYSCOST_TOUR_H
#define SYSCOST_TOUR_H

/* `probe run ...`: writes a result to the standard output; returns the exit status. */
int tour(int argc, char **argv);
#endif
