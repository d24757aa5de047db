import os, threading

def mark(which, name):
    os.path.exists(f"/.syscost/{which}/{name}")

def work(name):
    mark("begin", name)
    for _ in range(10):
        os.stat("/")
    mark("end", name)
    os.getppid()

def run(threads):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

mark("begin", "all")
run([threading.Thread(target=work, args=("same",)) for _ in range(4)])
mark("end", "all")
run([threading.Thread(target=work, args=(f"own {at}",)) for at in range(4)])
# Whether a thread's last calls are made depends on when the program ends.
while len(os.listdir("/proc/self/task")) > 1:
    pass
