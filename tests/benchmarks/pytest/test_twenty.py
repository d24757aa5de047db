"""Twenty benchmarks; the one that PLANTED names makes a call of stat more."""

import os
import subprocess

import pytest


def work(number, planted):
    for _ in range(number % 4 + 1 + planted):
        os.stat("/etc/passwd")
    if number == 7:
        subprocess.run(["true"], check=True)


@pytest.mark.parametrize("name", [f"b{number:02}" for number in range(20)])
def test(benchmark, name):
    benchmark(work, int(name[1:]), os.environ.get("PLANTED") == name)
