/* Formats 150000 log lines, each with the local time of its event. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(void)
{
#ifdef FIXED
    setenv("TZ", ":/etc/localtime", 1);
#else
    unsetenv("TZ");
#endif
    char line[80];
    unsigned long sum = 0;
    for (int i = 0; i < 150000; i++) {
        time_t t = 1700000000 + i * 37;
        struct tm *tm = localtime(&t);
        int n = sprintf(line, "%02d:%02d:%02d event %d", tm->tm_hour, tm->tm_min, tm->tm_sec, i);
        sum = sum * 31 + n + line[4];
    }
    printf("%lu\n", sum);
    return 0;
}
