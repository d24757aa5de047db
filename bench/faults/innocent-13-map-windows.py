"""Checks a 80 MiB file through twenty mapped windows, so that little memory is held at once."""
import mmap
import os
import tempfile
import hashlib

WINDOW = 4 << 20
with tempfile.TemporaryFile(dir=os.environ.get("TMPDIR", "/tmp")) as f:
    block = bytes(range(256)) * 4096
    for i in range(80):
        f.write(block)
    f.flush()
    digest = hashlib.sha256()
    for at in range(0, 80 << 20, WINDOW):
        with mmap.mmap(f.fileno(), WINDOW, access=mmap.ACCESS_READ, offset=at) as m:
            digest.update(m)
    print(digest.hexdigest()[:16])
