import os

def mark(which, name):
    os.path.exists(f"/.syscost/{which}/{name}")

mark("end", "never begun")
mark("begin", "outer")
for round in range(3):
    mark("begin", "inner")
    os.stat("/")
mark("end", "outer")
os.getppid()
mark("begin", "last")
os.stat("/etc")
