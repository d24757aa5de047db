/* cross.c: an empty function in a library of its own, so that calling it goes through the procedure linkage table. */
void cross_empty(void) { __asm__ volatile("" ::: "memory"); }
