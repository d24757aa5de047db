/* Follows a chain of 40000 pages of 4 KiB through a 16 MiB file: each page names the next one. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static unsigned page[1024];

int main(void)
{
    char name[4096];
    const char *tmp = getenv("TMPDIR");
    snprintf(name, sizeof name, "%s/pages-XXXXXX", tmp ? tmp : "/tmp");
    int fd = mkstemp(name);
    unlink(name);
    for (unsigned n = 0; n < 4096; n++) {
        for (int i = 0; i < 1024; i++)
            page[i] = n * 1664525u + (unsigned)i * 22695477u;
        if (write(fd, page, sizeof page) != sizeof page)
            return 1;
    }
    unsigned next = 1, sum = 0;
    for (int i = 0; i < 40000; i++) {
        if (pread(fd, page, sizeof page, (off_t)next * 4096) != sizeof page)
            return 1;
        for (int k = 0; k < 4096; k++)
            sum = sum * 33u + page[k % 1024];
        next = (sum >> 7) % 4096;
    }
    printf("%u\n", sum);
    close(fd);
    return 0;
}
