"""Adds up the file sizes of up to 3000 different system directories, each listed once."""
import os

total = dirs = 0
for top in ("/usr/include", "/usr/share", "/usr/lib"):
    for d, _, names in os.walk(top):
        if dirs == 3000:
            break
        dirs += 1
        for name in names:
            total += os.lstat(os.path.join(d, name)).st_size
print("ok" if total > dirs > 0 else "none")
