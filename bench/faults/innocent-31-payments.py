"""Books 150 payments, each safely on disk before its customer gets the receipt and sends the next."""
import os
import socket
import tempfile
import threading

near, far = socket.socketpair()

def customer():
    for i in range(150):
        far.sendall(b"pay %05d\n" % i)
        if far.recv(100) != b"receipt %05d\n" % i:
            raise SystemExit("no receipt")

thread = threading.Thread(target=customer)
thread.start()
with tempfile.NamedTemporaryFile(dir=os.environ.get("TMPDIR", "/tmp")) as book:
    for i in range(150):
        line = near.recv(100)
        os.write(book.fileno(), line)
        os.fdatasync(book.fileno())
        near.sendall(line.replace(b"pay", b"receipt"))
    thread.join()
    print(os.fstat(book.fileno()).st_size)
