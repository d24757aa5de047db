"""Watches a status file on a share (where no notification works) until another process changes it."""
import os
import tempfile
import time

with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/tmp")) as d:
    path = os.path.join(d, "status")
    with open(path, "w") as f:
        f.write("running")
    other = os.fork()
    if other == 0:
        time.sleep(0.5)
        with open(path, "w") as f:
            f.write("finished")
        os._exit(0)
    size = os.stat(path).st_size
    while os.stat(path).st_size != 8:
        time.sleep(0.01)
    os.waitpid(other, 0)
    print("changed")
