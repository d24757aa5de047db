//! Functions and locks of Python.

use crate::common::*;
use crate::why_threads::{left, why_line};

/// The versions whose frames are known, as far as they are here.
fn pythons() -> impl Iterator<Item = String> {
    found(&["3.11", "3.12", "3.13", "3.14"])
}

fn found(versions: &'static [&str]) -> impl Iterator<Item = String> {
    let names = versions.iter().map(|version| format!("python{version}"));
    names.into_iter().filter(|python| {
        let run = Command::new(python).args(["-c", ""]).output();
        let is_here = run.is_ok_and(|run| run.status.success());
        if !is_here {
            skip(&format!("no {python}"));
        }
        is_here
    })
}

const RLOCKS: &str = "
import threading, time
def take(first, second):
    with first:
        time.sleep(0.2)
        with second: pass
locks = [threading.RLock(), threading.RLock()]
for one in (locks, locks[::-1]):
    threading.Thread(target=take, args=one, daemon=True).start()
print('started', flush=True)
time.sleep(60)
";

#[test]
fn a_deadlock_of_locks_of_python_is_named() {
    if !has_bpf() {
        return;
    }
    // Those of 3.14 sleep in a semaphore of the thread, from which no way leads to the lock.
    for python in found(&["3.11", "3.12", "3.13"]) {
        let place = Place::new();
        place.write("rlocks.py", RLOCKS);
        let line = why_line(&format!("--for 2 -- {python} rlocks.py"));
        let found = left(&place, place.command(line), false);
        let first = &found["hung"][0];
        assert_eq!(list(&first["cycle"]).len(), 3, "{python}: {found:#}");
        expect_in(first["on"].as_str().unwrap(), " threading.RLock");
    }
}

const SQUARES: &str = "
def squares(n):
    for x in range(n): x * x
squares(15_000_000)
";

#[test]
fn the_cpu_time_of_python_is_in_functions_of_python() {
    if !has_bpf() {
        return;
    }
    for python in pythons() {
        let place = Place::new();
        place.write("squares.py", SQUARES);
        let line = format!("why -o p.json --report - -- {python} squares.py");
        let ran = place.run(line);
        expect_status(&ran, 0);
        let profile = place.parsed("p.json");
        let first = &profile["usage"]["outside"]["functions"][0];
        assert_eq!(first["name"], "squares (squares.py:3)");
        assert_eq!(first["object"], "squares.py");
    }
}

const SPIN: &str = "
def parse():
    for x in range(100_000): x * x
while True: parse()
";

/// It makes no system call while it is traced.
#[test]
fn a_running_python_that_only_computes_has_functions_of_python() {
    if !has_bpf() {
        return;
    }
    for python in pythons() {
        let place = Place::new();
        place.write("spin.py", SPIN);
        let mut command = Command::new(&python);
        command.arg("spin.py").current_dir(place.path());
        let spin = Job::of(command.process_group(0).spawn().unwrap());
        sleep(Duration::from_secs(1));
        let ran = place.run(format!(
            "why --for 3 -o p.json --report - -p {}",
            spin.pid()
        ));
        expect_status(&ran, 0);
        let profile = place.parsed("p.json");
        let first = &profile["usage"]["outside"]["functions"][0];
        assert_eq!(
            first["name"],
            "parse (spin.py:3)",
            "{python}: {}",
            stdout(&ran)
        );
    }
}

const LOCKS: &str = "
import socket, select, threading
lock = threading.Lock()
def hold():
    with lock: joined.join()
def take():
    with lock: pass
def ask():
    epoll.poll()
server = socket.create_server(('127.0.0.1', 0))
client = socket.create_connection(server.getsockname())
epoll = select.epoll()
epoll.register(client)
epoll.modify(client, select.EPOLLIN)
joined = threading.Thread(target=ask, daemon=True)
joined.start()
threading.Thread(target=hold, daemon=True).start()
threading.Thread(target=take, daemon=True).start()
print('started', flush=True)
joined.join()
";

/// With and without eBPF: none of these calls ends.
#[test]
fn calls_of_python_that_hang_have_their_line_and_object() {
    for python in pythons() {
        for has_rights in [true, false] {
            let place = Place::new().opened();
            place.write("locks.py", LOCKS);
            let line = why_line(&format!("--for 2 -- {python} locks.py"));
            let command = match has_rights {
                true => place.command(line),
                false => place.command_without_rights(line),
            };
            let found = left(&place, command, false);
            let hung = |function: &str| {
                let all = list(&found["hung"]).iter();
                let mut all = all.filter(|hung| hung["function"] == function);
                let on = all
                    .next()
                    .unwrap_or_else(|| panic!("no {function}: {found:#}"));
                on["on"].as_str().unwrap_or_default().to_string()
            };
            let is_old = ["python3.11", "python3.12"].contains(&python.as_str());
            let on = hung("take (locks.py:7)");
            let class = if is_old {
                "Lock"
            } else {
                "Lock, RLock or join"
            };
            assert!(on.ends_with(&format!(" threading.{class}")), "{on}");
            expect_in(hung("ask (locks.py:9)"), "127.0.0.1:");
        }
    }
}

const PEERS: &str = "
import socket, threading, time
def serve(server, pause):
    client, _ = server.accept()
    while client.recv(1):
        time.sleep(pause)
        client.sendall(b'a')
def connect(pause):
    server = socket.create_server(('127.0.0.1', 0))
    threading.Thread(target=serve, args=(server, pause), daemon=True).start()
    return socket.create_connection(server.getsockname())
def ask_fast(client):
    client.sendall(b'q')
    client.recv(1)
def ask_slow(client):
    client.sendall(b'q')
    client.recv(1)
fast, slow = connect(.002), connect(.03)
print(slow.getpeername()[1])
for _ in range(50):
    ask_fast(fast)
    ask_slow(slow)
";

/// The interpreter's own functions are the same for both.
#[test]
fn waits_of_python_are_in_the_function_that_made_them() {
    if !has_bpf() {
        return;
    }
    for python in pythons() {
        let place = Place::new();
        place.write("peers.py", PEERS);
        let done = place.run(why_line(&format!("-- {python} peers.py")));
        expect_status(&done, 0);
        let slow = format!("127.0.0.1:{}", stdout(&done).trim());
        let found = place.parsed("why.json");
        let waits = list(&found["threads"]["parts"]).iter();
        // A thread waits for the interpreter's own lock too, in any function.
        let waits = waits
            .map(|part| &part["wait"])
            .filter(|wait| wait["name"] == "recvfrom");
        let mut asked: Vec<(&str, bool)> = waits
            .filter_map(|wait| Some((wait["function"].as_str()?, wait["on"] == *slow)))
            .filter(|(function, _)| function.starts_with("ask_"))
            .collect();
        asked.sort_unstable();
        asked.dedup();
        let expected = [
            ("ask_fast (peers.py:14)", false),
            ("ask_slow (peers.py:17)", true),
        ];
        assert_eq!(asked, expected, "{found:#}");
    }
}
