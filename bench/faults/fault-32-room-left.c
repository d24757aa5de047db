/* Appends 250000 records to a log, which stops when the file system has less than 1 MiB left. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>

static int room_left(const char *dir)
{
    struct statvfs fs;
    return statvfs(dir, &fs) == 0 && (unsigned long long)fs.f_bavail * fs.f_frsize > 1 << 20;
}

int main(void)
{
    const char *tmp = getenv("TMPDIR");
    if (!tmp)
        tmp = "/tmp";
    FILE *log = tmpfile();
    if (!log)
        return 1;
    for (int i = 0; i < 250000; i++) {
#ifdef FIXED
        if (i % 4096 == 0)
#endif
        if (!room_left(tmp))
            return 2;
        fprintf(log, "record %d\n", i);
    }
    printf("%ld\n", ftell(log));
    fclose(log);
    return 0;
}
