"""Writes 2,000 records and syncs each."""
import os

log = os.open("records.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
for number in range(2000):
    os.write(log, b"record %d\n" % number)
    os.fsync(log)
