"""Three processes take jobs from one shared list, with a file lock around each taking."""
import fcntl
import hashlib
import os
import tempfile

with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/tmp")) as d:
    path = os.path.join(d, "next")
    with open(path, "w") as f:
        f.write("0")

    def work():
        fd = os.open(path, os.O_RDWR)
        while True:
            fcntl.flock(fd, fcntl.LOCK_EX)
            job = int(os.pread(fd, 16, 0))
            os.pwrite(fd, b"%d" % (job + 1), 0)
            fcntl.flock(fd, fcntl.LOCK_UN)
            if job >= 150:
                return
            hashlib.pbkdf2_hmac("sha256", b"job", b"%d" % job, 6000)

    pids = []
    for _ in range(3):
        pid = os.fork()
        if pid == 0:
            work()
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        os.waitpid(pid, 0)
    print("done" if int(open(path).read()) == 153 else "wrong")
