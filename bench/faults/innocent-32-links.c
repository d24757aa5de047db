/* Makes 4000 symbolic links to different names and reads each once, for an index. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
    char dir[4096], path[4200], name[64], target[64];
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/links-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(dir))
        return 1;
    for (int i = 0; i < 4000; i++) {
        snprintf(path, sizeof path, "%s/link%d", dir, i);
        snprintf(name, sizeof name, "../pool/%d/%d", i % 13, i * 7);
        if (symlink(name, path))
            return 2;
    }
    long sum = 0;
    for (int i = 0; i < 4000; i++) {
        snprintf(path, sizeof path, "%s/link%d", dir, i);
        ssize_t length = readlink(path, target, sizeof target);
        if (length < 0)
            return 3;
        for (ssize_t at = 0; at < length; at++)
            sum = sum * 31 + target[at];
        unlink(path);
    }
    rmdir(dir);
    printf("%ld\n", sum);
    return 0;
}
