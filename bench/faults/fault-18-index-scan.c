/* Reads one 16-byte key out of every 64-byte record of a file. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
    char name[4096], key[16];
    const char *tmp = getenv("TMPDIR");
    snprintf(name, sizeof name, "%s/index-XXXXXX", tmp ? tmp : "/tmp");
    int fd = mkstemp(name);
    unlink(name);
    static char page[4096];
    for (int i = 0; i < 64 * 64; i++)
        page[i] = (char)(i * 7);
    for (int i = 0; i < 4000; i++)
        if (write(fd, page, sizeof page) != sizeof page)
            return 1;
    unsigned long sum = 0;
    for (long rec = 0; rec < 4000L * 64; rec++) {
#ifdef FIXED
        if (pread(fd, key, sizeof key, rec * 64 + 8) != sizeof key)
#else
        lseek(fd, rec * 64 + 8, SEEK_SET);
        if (read(fd, key, sizeof key) != sizeof key)
#endif
            return 1;
        sum = sum * 31 + (unsigned char)key[rec % 16];
    }
    printf("%lu\n", sum);
    close(fd);
    return 0;
}
