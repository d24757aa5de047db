"""Encrypts 150 messages of 64 KiB, each with a key as long as itself that is used once."""
import os

message = bytes(range(256)) * 256
number = int.from_bytes(message, "big")
check = 0
for i in range(150):
    key = os.urandom(len(message))
    secret = (number ^ int.from_bytes(key, "big")).to_bytes(len(message), "big")
    back = (int.from_bytes(secret, "big") ^ int.from_bytes(key, "big")).to_bytes(len(message), "big")
    check += back == message
print(check)
