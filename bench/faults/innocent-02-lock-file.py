"""Two processes take turns at a shared counter file, guarded by a lock file."""
import os
import tempfile
import time
import zlib

def step(d):
    lock = os.path.join(d, "lock")
    while True:
        try:
            fd = os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            break
        except FileExistsError:
            time.sleep(0.002)
    with open(os.path.join(d, "counter"), "r+") as f:
        n = int(f.read())
        n += zlib.crc32(bytes(1 << 20)) & 0
        f.seek(0)
        f.write("%d" % (n + 1))
    os.close(fd)
    os.unlink(lock)

with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/tmp")) as d:
    with open(os.path.join(d, "counter"), "w") as f:
        f.write("0")
    other = os.fork()
    for _ in range(80):
        step(d)
        zlib.crc32(bytes(6 << 20))
    if other == 0:
        os._exit(0)
    os.waitpid(other, 0)
    print(open(os.path.join(d, "counter")).read())
