# Python loop: speaks the protocol of languages/README.md around a snippet.
#
# As in the standard library's timeit, set-up and body are in one function (fast local names) and the loop runs over
# itertools.repeat, which creates no integer per iteration; CPython removes only constant expressions. Unlike timeit, it
# leaves garbage collection on: programs pay for it too. os, sys and time are there for snippets without a set-up.
# Everything else has names reserved for the loop: a snippet may rebind any other. Python 3.7 or newer.
import itertools
import os
import resource
import sys
import time

_syscost_clock = time.perf_counter_ns
_syscost_repeat = itertools.repeat
_syscost_usage = resource.getrusage
_syscost_who = getattr(resource, "RUSAGE_THREAD", resource.RUSAGE_SELF)  # the thread's own, where that is known
_syscost_requests = open(3, closefd=False)
_syscost_write = os.write
_syscost_ready = "ready pid=%d\n" % os.getpid()
_syscost_sys = sys
{{prelude}}


def _syscost_hook(kind, error, trace):
    """A message begins at the snippet, not at the call of the loop."""
    _syscost_sys.__excepthook__(kind, error.with_traceback(trace.tb_next or trace), trace)


def _syscost_loop():
    _syscost_now = _syscost_clock
    {{setup}}
    _syscost_write(4, _syscost_ready.encode())
    for _syscost_line in _syscost_requests:
        _syscost_n, _syscost_k = _syscost_line.split()
        _syscost_reply = []
        _syscost_first = _syscost_last = _syscost_usage(_syscost_who)
        for _syscost_batch in range(int(_syscost_k)):
            _syscost_times = _syscost_repeat(None, int(_syscost_n))
            _syscost_start = _syscost_now()
            for _syscost_i in _syscost_times:
                {{body}}
                pass  # an empty body is a body
            _syscost_end = _syscost_now()
            _syscost_use = _syscost_usage(_syscost_who)
            _syscost_switches = _syscost_use.ru_nivcsw - _syscost_last.ru_nivcsw
            _syscost_reply.append("%d %d\n" % (_syscost_end - _syscost_start, _syscost_switches))
            _syscost_last = _syscost_use
        _syscost_reply.append("total %.0f %.0f %d %d\n" % (
            (_syscost_last.ru_utime - _syscost_first.ru_utime) * 1e9,
            (_syscost_last.ru_stime - _syscost_first.ru_stime) * 1e9,
            _syscost_last.ru_minflt - _syscost_first.ru_minflt,
            _syscost_last.ru_majflt - _syscost_first.ru_majflt))
        _syscost_write(4, "".join(_syscost_reply).encode())


_syscost_sys.excepthook = _syscost_hook
_syscost_loop()
