"""Unpacks an archive of 900 different files, giving each its own mode and date."""
import io
import os
import random
import tarfile
import tempfile

source = io.BytesIO()
rng = random.Random(5)
with tarfile.open(fileobj=source, mode="w:gz") as tar:
    for i in range(900):
        data = rng.randbytes(300 + i * 3)
        info = tarfile.TarInfo("dir%d/file%d" % (i % 30, i))
        info.size, info.mode, info.mtime = len(data), 0o600 + i % 8, 1600000000 + i
        tar.addfile(info, io.BytesIO(data))
source.seek(0)
with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/tmp")) as d:
    with tarfile.open(fileobj=source) as tar:
        tar.extractall(d)
    print(sum(len(names) for _, _, names in os.walk(d)))
