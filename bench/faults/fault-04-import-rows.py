"""Imports 60 readings into a fresh SQLite table."""
import os
import sqlite3
import sys
import tempfile

with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/tmp")) as d:
    db = sqlite3.connect(os.path.join(d, "readings.db"), isolation_level=None)
    db.execute("create table reading(id integer primary key, sensor text, value real)")
    together = sys.argv[1] == "fixed"
    if together:
        db.execute("begin")
    for i in range(60):
        db.execute("insert into reading values(?,?,?)", (i, "s%d" % (i % 7), i * 0.5))
    if together:
        db.execute("commit")
    print(db.execute("select count(*), sum(value) from reading").fetchone())
    db.close()
