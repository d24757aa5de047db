"""A client asks a loopback server 15 questions, sending header and body apart."""
import os
import socket
import sys

def take(sock, n):
    data = b""
    while len(data) < n:
        part = sock.recv(n - len(data))
        if not part:
            return b""
        data += part
    return data

listener = socket.create_server(("127.0.0.1", 0))
address = listener.getsockname()
child = os.fork()
if child == 0:
    conn, _ = listener.accept()
    while head := take(conn, 4):
        body = take(conn, int.from_bytes(head, "big"))
        conn.sendall(len(body).to_bytes(4, "big"))
    os._exit(0)
client = socket.create_connection(address)
total = 0
for i in range(15):
    body = b"question %d" % i * 3
    head = len(body).to_bytes(4, "big")
    for part in [head + body] if sys.argv[1] == "fixed" else [head, body]:
        client.send(part)
    total += int.from_bytes(take(client, 4), "big")
client.close()
os.waitpid(child, 0)
print(total)
