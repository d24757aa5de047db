"""Renders 3000 small pages and takes the checksum of each."""
import io
import os
import sys
import tempfile
import zlib

def render(out, number):
    out.write(b"<h1>Page %d</h1>\n" % number)
    out.write(b"<p>%s</p>\n" % (b"text " * (number % 40)))

tmp = os.environ.get("TMPDIR", "/tmp")
total = 0
for number in range(3000):
    with io.BytesIO() if sys.argv[1] == "fixed" else tempfile.NamedTemporaryFile(dir=tmp) as page:
        render(page, number)
        page.seek(0)
        total ^= zlib.crc32(page.read())
print(total)
