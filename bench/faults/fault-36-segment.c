/* Appends 60000 records of 100 bytes to a database file. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
    char path[4096], record[100];
    const char *tmp = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/segment-XXXXXX", tmp ? tmp : "/tmp");
    int file = mkstemp(path);
    if (file < 0)
        return 1;
    unlink(path);
    memset(record, 'r', sizeof record);
    long size = 0, allocated = 0;
    for (int i = 0; i < 60000; i++) {
#ifdef FIXED
        const long step = 1 << 20;
#else
        const long step = sizeof record;
#endif
        if (size + (long)sizeof record > allocated) {
            if (ftruncate(file, allocated + step))
                return 2;
            allocated += step;
        }
        if (pwrite(file, record, sizeof record, size) != sizeof record)
            return 3;
        size += sizeof record;
    }
    printf("%ld\n", size);
    return 0;
}
