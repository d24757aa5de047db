"""Copies 500 different files of 20 to 120 KiB to another folder, each whole."""
import os
import shutil
import tempfile

with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/tmp")) as d:
    here, there = os.path.join(d, "here"), os.path.join(d, "there")
    os.mkdir(here)
    os.mkdir(there)
    block = bytes(range(256)) * 480
    for i in range(500):
        with open(os.path.join(here, "f%d" % i), "wb") as f:
            f.write(block[: 20480 + i * 200])
    for name in sorted(os.listdir(here)):
        shutil.copyfile(os.path.join(here, name), os.path.join(there, name))
    print(sum(entry.stat().st_size for entry in os.scandir(there)))
