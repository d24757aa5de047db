"""Makes each benchmark of pytest-benchmark a section of syscost, without a change of the benchmarks:
PYTHONPATH=directory-of-this-file pytest -p syscost_sections"""

import os
from pytest_benchmark.fixture import BenchmarkFixture

of_library = BenchmarkFixture.pedantic


def fixed_number(self, function, *args, **kwargs):
    return self.pedantic(function, args, kwargs, rounds=int(os.environ.get("SYSCOST_ITERATIONS", 100)))


def pedantic(self, target, *rest, warmup_rounds=1, iterations=1, **options):
    begin, end = (f"/.syscost/{mark}/{self.fullname}" for mark in ("begin", "end"))
    warming = [] if self.disabled else [None] * warmup_rounds * iterations

    def iteration(*args, **kwargs):
        if warming:  # what happens only the first time is not counted
            return warming.pop() or target(*args, **kwargs)
        os.path.exists(begin)
        try:
            return target(*args, **kwargs)
        finally:
            os.path.exists(end)

    return of_library(self, iteration, *rest, warmup_rounds=warmup_rounds, iterations=iterations, **options)


BenchmarkFixture.__call__, BenchmarkFixture.pedantic = fixed_number, pedantic
