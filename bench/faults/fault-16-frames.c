/* Blends 1200 small video frames, each in a buffer of its own. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    mallopt(M_MMAP_THRESHOLD, 64 * 1024);
    size_t size = 512 * 1024;
    unsigned char *frame = malloc(size);
    unsigned long sum = 0;
    for (int i = 0; i < 1200; i++) {
#ifndef FIXED
        frame = malloc(size);
#endif
        memset(frame, i, size);
        sum += frame[i % size] + frame[size - 1];
#ifndef FIXED
        free(frame);
#endif
    }
    printf("%lu\n", sum);
    return 0;
}
