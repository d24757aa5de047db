"""A terminal whose window is dragged: after each of 15000 changes the program looks how large it is now, and draws a frame."""
import fcntl
import os
import pty
import struct
import termios

keeper, screen = pty.openpty()
cells = 0
for i in range(15000):
    fcntl.ioctl(keeper, termios.TIOCSWINSZ, struct.pack("HHHH", 20 + i % 40, 60 + i % 90, 0, 0))
    rows, columns, _, _ = struct.unpack("HHHH", fcntl.ioctl(screen, termios.TIOCGWINSZ, b"\0" * 8))
    cells += len("\n".join("-" * columns for _ in range(rows)))
os.close(keeper)
os.close(screen)
print(cells)
