import os, subprocess

def mark(which, name):
    os.path.exists(f"/.syscost/{which}/{name}")

for round in range(3):
    mark("begin", "outer")
    os.getppid()
    for inner in range(2):
        mark("begin", "inner")
        os.stat("/")
        mark("begin", "outer")
        os.stat("/")
        mark("end", "outer")
        subprocess.run(["/bin/echo"], stdout=subprocess.DEVNULL)
        mark("end", "inner/5")
    mark("end", "outer")
