"""Lists 3000 files with the names of their owners and groups."""
import grp
import os
import pwd
import sys
import tempfile

def remembered(function):
    known = {}
    return lambda number: known[number] if number in known else known.setdefault(number, function(number))

user, group = pwd.getpwuid, grp.getgrgid
if sys.argv[1] == "fixed":
    user, group = remembered(user), remembered(group)
with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/tmp")) as d:
    for i in range(3000):
        os.close(os.open(os.path.join(d, "f%d" % i), os.O_CREAT | os.O_WRONLY))
    wide = 0
    for entry in os.scandir(d):
        found = entry.stat()
        wide += len("%8s %8s %6d %s" % (user(found.st_uid).pw_name, group(found.st_gid).gr_name, found.st_size, entry.name))
    print(wide)
