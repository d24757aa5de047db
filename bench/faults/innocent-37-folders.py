"""Unpacks a tree of 1600 different folders with a note in each."""
import os
import tempfile

with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/tmp")) as d:
    notes = 0
    for a in range(8):
        for b in range(10):
            for c in range(20):
                folder = os.path.join(d, "a%d" % a, "b%d" % b, "c%d" % c)
                os.makedirs(folder)
                with open(os.path.join(folder, "note"), "w") as f:
                    notes += f.write("note %d of %d of %d\n" % (c, b, a))
    print(notes)
