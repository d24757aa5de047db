// loop.cpp: times the code of a snippet, C++. The protocol is that of languages/README.md, on descriptors 3 and 4.
//
// The set-up and the body are in main(), the prelude is at file scope. The headers below are for one-liners.
// keep(value) makes the compiler believe that the value is used. Every iteration ends in a barrier that emits no
// instruction but may read and write all memory, so nothing that touches memory is hoisted out of the loop or merged.
// As with any such harness, arithmetic on local variables alone may be: hide their values with a volatile.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <thread>
#include <time.h>
#include <type_traits>
#include <unistd.h>
#include <unordered_map>
#include <vector>

// What fits into a register may stay there; the rest must be in memory.
template <class T> inline void keep(T &&value) {
    using Plain = std::remove_reference_t<T>;
    if constexpr (std::is_trivially_copyable_v<Plain> && sizeof(Plain) <= sizeof(void *))
        __asm__ volatile("" : : "r,m"(value) : "memory");
    else
        __asm__ volatile("" : : "m"(value) : "memory");
}

namespace syscost {

#ifdef RUSAGE_THREAD
constexpr int thread = RUSAGE_THREAD;
#else
constexpr int thread = RUSAGE_SELF;
#endif

struct batch {
    long long ns;
    long switches;
};

struct request {
    std::size_t n = 0, k = 0; // iterations, batches
    rusage before;
};

inline void barrier() { __asm__ volatile("" : : : "memory"); }

[[noreturn]] static void fail(const char *why) {
    std::fprintf(stderr, "loop: %s\n", why);
    std::exit(1);
}

static long switches() {
    rusage usage;
    getrusage(thread, &usage);
    return usage.ru_nivcsw;
}

// For the whole process, so the body's threads count too. Linux updates the accounting of a process when it is queried,
// that of a thread only at ticks and switches.
static rusage usage() {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage;
}

static void put(const std::string &text) {
    for (std::size_t done = 0; done < text.size();) {
        ssize_t written = write(4, text.data() + done, text.size() - done);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) fail("the reply could not be written");
        done += static_cast<std::size_t>(written);
    }
}

// False at the end of input.
static bool read(request &r) {
    static FILE *requests = fdopen(3, "r");
    char line[64];
    if (!requests) fail("descriptor 3 is not open");
    if (!std::fgets(line, sizeof line, requests)) return false;
    if (std::sscanf(line, "%zu %zu", &r.n, &r.k) != 2 || !r.n || !r.k) fail("a request is not of the form 'N K'");
    r.before = usage();
    return true;
}

static std::string ns_between(timeval from, timeval to) {
    return std::to_string((to.tv_sec - from.tv_sec) * 1'000'000'000LL + (to.tv_usec - from.tv_usec) * 1000LL);
}

static void reply(const std::vector<batch> &batches, const rusage &before) {
    rusage after = usage();
    std::string text;
    for (const batch &b : batches) text += std::to_string(b.ns) + ' ' + std::to_string(b.switches) + '\n';
    text += "total " + ns_between(before.ru_utime, after.ru_utime) + ' ' + ns_between(before.ru_stime, after.ru_stime) +
            ' ' + std::to_string(after.ru_minflt - before.ru_minflt) + ' ' +
            std::to_string(after.ru_majflt - before.ru_majflt) + '\n';
    put(text);
}

} // namespace syscost

#line 1 "prelude"
{{prelude}}
#line 1 "loop.cpp"

int main() {
#line 1 "setup"
    {{setup}}
#line 1 "loop.cpp"
    ;
    syscost::put("ready pid=" + std::to_string(getpid()) + '\n');
    for (syscost::request syscost_request; syscost::read(syscost_request);) {
        std::vector<syscost::batch> syscost_batches(syscost_request.k);
        for (syscost::batch &syscost_batch : syscost_batches) {
            std::size_t syscost_i, syscost_n = syscost_request.n;
            long syscost_switched = syscost::switches();
            auto syscost_start = std::chrono::steady_clock::now();
            // The barrier is here, not after the body, where a `continue` would skip it.
#if defined(__GNUC__) && !defined(__clang__) /* gcc 14 unrolls the empty loop, and no other */
#pragma GCC unroll 1
#endif
            for (syscost_i = 0; syscost_i < syscost_n; syscost::barrier(), syscost_i++) {
#line 1 "body"
                {{body}}
#line 1 "loop.cpp"
            }
            auto syscost_time = std::chrono::steady_clock::now() - syscost_start;
            syscost_batch = {std::chrono::nanoseconds(syscost_time).count(), syscost::switches() - syscost_switched};
            if (syscost_i < syscost_n) syscost::fail("the body left the loop around it");
        }
        syscost::reply(syscost_batches, syscost_request.before);
    }
    return 0;
}
