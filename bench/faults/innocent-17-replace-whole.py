"""Publishes 120 new versions of a file by renaming, while another process reads whole versions only."""
import hashlib
import os
import tempfile
import time

with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/tmp")) as d:
    path = os.path.join(d, "state")

    def publish(version):
        body = hashlib.pbkdf2_hmac("sha256", b"state", b"%d" % version, 2500).hex() * 200
        with open(path + ".new", "w") as f:
            f.write("%d\n%s\n" % (version, body))
        os.rename(path + ".new", path)

    publish(0)
    reader = os.fork()
    if reader == 0:
        version = 0
        while version < 119:
            head, body, _ = open(path).read().split("\n")
            if len(body) != 64 * 200:
                os._exit(1)
            version = int(head)
            time.sleep(0.005)
        os._exit(0)
    for version in range(1, 120):
        publish(version)
    print(os.waitpid(reader, 0)[1])
