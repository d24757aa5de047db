"""Looks up 15000 words in an SQLite dictionary nobody else has open."""
import os
import sqlite3
import sys
import tempfile

with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/tmp")) as d:
    db = sqlite3.connect(os.path.join(d, "words.db"))
    db.execute("create table word(name text primary key, n int) without rowid")
    db.executemany("insert into word values(?,?)", (("w%d" % i, i) for i in range(2000)))
    db.commit()
    if sys.argv[1] == "fixed":
        db.execute("begin")
    total = 0
    for i in range(15000):
        row = db.execute("select n from word where name=?", ("w%d" % (i * 7 % 2000),)).fetchone()
        total += row[0]
    print(total)
    db.close()
