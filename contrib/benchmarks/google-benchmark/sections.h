// Makes each benchmark of Google Benchmark a section of syscost. Include it, and write `for (auto _ : section(state))` for
// `for (auto _ : state)`. The section has the name of the function; another one is the second argument.
#pragma once
#include <benchmark/benchmark.h>
#include <unistd.h>
#include <string>
class section {
    benchmark::State &state;
    const std::string name;
    const int64_t last = state.max_iterations, first = last > 1; // the first of several is not counted
    int64_t now = 0;
    void mark(const std::string &path) { (void)!access(("/.syscost/" + path).c_str(), F_OK); }
    void mark_end() { mark("end/" + name + "/" + std::to_string(now - first)); }
  public:
    struct iterator {
        section &in;
        decltype(state.begin()) at;
        auto operator*() const { return *at; }
        void operator++() { ++at, ++in.now; }
        bool operator!=(const iterator &end) {
            if (in.now == in.first) in.mark("begin/" + in.name);
            if (in.now == in.last) in.mark_end();
            return at != end.at;
        }
    };
    explicit section(benchmark::State &s, std::string n = __builtin_FUNCTION()) : state(s), name(std::move(n)) {}
    ~section() { if (first <= now && now < last) mark_end(); } // after a break
    iterator begin() { return {*this, state.begin()}; }
    iterator end() { return {*this, state.end()}; }
};
