"""Holds a large table and starts 200 programs, each in a session of its own."""
import subprocess

table = {f"name {n}": [n] for n in range(1_000_000)}
for job in range(200):
    subprocess.run(["true"], start_new_session=True)
