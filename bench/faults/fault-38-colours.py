"""Prints 150000 messages, in colour if a person reads them."""
import sys

class Printer:
    def __init__(self, out, known):
        self.out = out
        self.known = known
        self.terminal = out.isatty()

    def coloured(self):
        return self.terminal if self.known else self.out.isatty()

    def message(self, level, text):
        if self.coloured():
            text = "\033[3%dm%s\033[0m" % (level, text)
        self.out.write(text + "\n")

printer = Printer(sys.stdout, sys.argv[1] == "fixed")
for i in range(150000):
    printer.message(i % 8, "message %d" % i)
