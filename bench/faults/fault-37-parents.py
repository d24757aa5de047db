"""Sorts 6000 small results into 40 folders."""
import os
import sys
import tempfile

with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/tmp")) as d:
    made = set()
    for i in range(6000):
        folder = os.path.join(d, "results", "by-day", "day%d" % (i % 40))
        if sys.argv[1] == "faulty" or folder not in made:
            os.makedirs(folder, exist_ok=True)
            made.add(folder)
        with open(os.path.join(folder, "all.txt"), "a") as f:
            f.write("%d\n" % i)
    print(len(os.listdir(os.path.join(d, "results", "by-day"))))
