"""further.py NAME faulty|fixed: as further.c."""
import os
import subprocess
import sys
import tempfile
import zlib

name, fixed = sys.argv[1], sys.argv[2] == "fixed"


def put(path, text):
    with open(path + ".new", "w") as out:
        out.write(text)
    os.rename(path + ".new", path)


with tempfile.TemporaryDirectory() as d:
    if name == "progress":  # the state of a job is put in place after each of 4000 steps, and nobody reads it
        for step in range(4000):
            if not fixed or step % 100 == 0:
                put(d + "/progress", "%d of 4000" % step)
    elif name == "chapters":  # 40 files that take a while to make, each put in place once
        for n in range(40):
            put(d + "/%d" % n, str(zlib.crc32(b"chapter" * 2000000, n)))
    elif name == "letters":  # what a program printed is read letter by letter
        with subprocess.Popen(["seq", "30000"], stdout=subprocess.PIPE, bufsize=0) as seq:
            lines = 0
            while text := seq.stdout.read(65536 if fixed else 1):
                lines += text.count(b"\n")
        print(lines)
    elif name == "talk":  # a question to another program needs the answer to the one before
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as cat:
            x = b"1\n"
            for _ in range(3000):
                cat.stdin.write(x)
                x = b"%d\n" % (int(cat.stdout.readline()) * 7 % 9973)
            cat.stdin.close()
        print(x)
