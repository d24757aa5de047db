"""Looks for 500 different results in a store by key, and computes and stores those that are missing."""
import hashlib
import os
import tempfile

def result(store, item):
    key = hashlib.sha1(b"%d" % item).hexdigest()
    path = os.path.join(store, key[:1], key[1:])
    try:
        with open(path, "rb") as f:
            return f.read()
    except FileNotFoundError:
        value = hashlib.pbkdf2_hmac("sha256", b"%d" % item, b"salt", 1500)
        with open(path, "wb") as f:
            f.write(value)
        return value

with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/tmp")) as store:
    for i in range(16):
        os.mkdir(os.path.join(store, "%x" % i))
    total = 0
    for item in range(500):
        total += result(store, item * item % 409)[0]
    print(total)
