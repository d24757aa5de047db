/* Writes out the full real name of 15000 entries of one deep directory. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void)
{
    char dir[PATH_MAX], path[PATH_MAX + 16], real[PATH_MAX];
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/deep-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(dir))
        return 1;
    size_t top = strlen(dir);
    for (int i = 0; i < 12; i++) {
        strcat(dir, "/level");
        mkdir(dir, 0700);
    }
    unsigned long sum = 0;
    for (int i = 0; i < 15000; i++) {
#ifdef FIXED
        if (i == 0)
#endif
        if (!realpath(dir, real))
            return 1;
        snprintf(path, sizeof path, "%s/item%d", real, i);
        sum = sum * 31 + strlen(path);
    }
    while (strlen(dir) >= top) {
        rmdir(dir);
        *strrchr(dir, '/') = 0;
    }
    printf("%lu\n", sum);
    return 0;
}
