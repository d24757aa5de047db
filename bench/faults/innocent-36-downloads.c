/* Reserves room for each of 120 downloads of 256 KiB, and writes it as the pieces arrive. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
    static char piece[64 << 10];
    char path[4096];
    const char *tmp = getenv("TMPDIR");
    unsigned x = 1;
    for (int i = 0; i < 120; i++) {
        snprintf(path, sizeof path, "%s/download-XXXXXX", tmp ? tmp : "/tmp");
        int file = mkstemp(path);
        if (file < 0)
            return 1;
        unlink(path);
        posix_fallocate(file, 0, 4 * sizeof piece);
        for (int p = 0; p < 4; p++) {
            for (size_t at = 0; at < sizeof piece; at++)
                piece[at] = x = x * 1664525u + 1013904223u;
            if (pwrite(file, piece, sizeof piece, (off_t)((p * 3 + 1) % 4) * sizeof piece) != sizeof piece)
                return 2;
        }
        close(file);
    }
    printf("%u\n", x);
    return 0;
}
