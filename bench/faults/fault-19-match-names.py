"""Tells which of 3000 wanted names exist in a directory of 300 files."""
import os
import sys
import tempfile

with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/tmp")) as d:
    for i in range(300):
        open(os.path.join(d, "file%d" % i), "w").close()

    names = set(os.listdir(d)) if sys.argv[1] == "fixed" else None

    def present(name):
        return name in (names or os.listdir(d))

    print(sum(present("file%d" % (i * 3 % 1000)) for i in range(3000)))
