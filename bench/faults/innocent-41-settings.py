"""Follows settings that another process replaces 250 times: each time they are read again."""
import os
import subprocess
import sys
import tempfile

WRITER = """
import os, sys
for line in sys.stdin:
    with open("settings.new", "w") as f:
        f.write("rate=" + line.strip() + chr(10) + "name=x" * 200)
    os.replace("settings.new", "settings")
    print("done", flush=True)
"""
with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/tmp")) as d:
    writer = subprocess.Popen([sys.executable, "-S", "-c", WRITER], cwd=d, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    total = 0
    for i in range(250):
        writer.stdin.write("%d\n" % (i * i % 97))
        writer.stdin.flush()
        writer.stdout.readline()
        with open(os.path.join(d, "settings")) as f:
            total += int(f.readline().split("=")[1])
    writer.stdin.close()
    writer.wait()
    print(total)
