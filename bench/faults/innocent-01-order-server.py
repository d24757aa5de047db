"""A server on a loopback socket stores each order before it confirms it to a waiting client."""
import os
import socket
import tempfile

listener = socket.create_server(("127.0.0.1", 0))
address = listener.getsockname()
with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/tmp")) as d:
    server = os.fork()
    if server == 0:
        conn, _ = listener.accept()
        log = os.open(os.path.join(d, "orders"), os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
        number = 0
        while order := conn.recv(64):
            number += 1
            os.write(log, b"%d %s\n" % (number, order))
            os.fdatasync(log)
            conn.sendall(b"stored %d" % number)
        os._exit(0)
    client = socket.create_connection(address)
    answer = b""
    for i in range(150):
        client.sendall(b"order after " + answer)
        answer = client.recv(64)
    client.close()
    os.waitpid(server, 0)
    print(answer.decode())
