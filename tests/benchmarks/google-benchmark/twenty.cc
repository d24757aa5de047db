// Twenty benchmarks; the one that PLANTED names makes a call of stat more.
#include "sections.h"
#include <sys/stat.h>
#include <cstdlib>

static void work(int number, bool planted) {
    struct stat status;
    for (int i = 0; i < number % 4 + 1 + planted; i++)
        if (stat("/etc/passwd", &status) != 0) abort();
    if (number == 7 && system("true") != 0) abort();
}

#define TWENTY(name, number)                                                                                                   \
    static void name(benchmark::State &state) {                                                                                \
        const char *of = getenv("PLANTED");                                                                                    \
        bool planted = of && std::string(of) == #name;                                                                         \
        for (auto _ : section(state)) work(number, planted);                                                                   \
    }                                                                                                                          \
    BENCHMARK(name)->Iterations(21);

TWENTY(b00, 0) TWENTY(b01, 1) TWENTY(b02, 2) TWENTY(b03, 3) TWENTY(b04, 4) TWENTY(b05, 5) TWENTY(b06, 6) TWENTY(b07, 7)
TWENTY(b08, 8) TWENTY(b09, 9) TWENTY(b10, 10) TWENTY(b11, 11) TWENTY(b12, 12) TWENTY(b13, 13) TWENTY(b14, 14)
TWENTY(b15, 15) TWENTY(b16, 16) TWENTY(b17, 17) TWENTY(b18, 18) TWENTY(b19, 19)

BENCHMARK_MAIN();
