/* Works in five phases, each with 48 MiB of data of its own that it gives back before it waits for the next. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
    size_t bytes = 48u << 20, count = bytes / sizeof(unsigned);
    unsigned *data = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED)
        return 1;
    unsigned sum = 0;
    for (int phase = 0; phase < 5; phase++) {
        for (size_t i = 0; i < count; i++)
            data[i] = (unsigned)i * 2654435761u + phase;
        for (int pass = 0; pass < 4; pass++)
            for (size_t i = 0; i < count; i++)
                sum = sum * 31u + data[i];
        madvise(data, bytes, MADV_DONTNEED);
        usleep(30000);
    }
    printf("%u\n", sum);
    return 0;
}
