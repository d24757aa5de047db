/* Blends 1200 small video frames, each in a buffer of its own. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    mallopt(M_MMAP_THRESHOLD, 64 * 1024);
    size_t size = 512 * 1024;
    unsigned long sum = 0;
    for (int i = 0; i < 1200; i++) {
        unsigned char *frame = malloc(size);
        memset(frame, i, size);
        sum += frame[i % size] + frame[size - 1];
        free(frame);
    }
    printf("%lu\n", sum);
    return 0;
}
