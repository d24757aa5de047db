//! A text by HTTP, to many clients at once from one thread: each has its own deadline, so that those who say nothing, or read
//! slowly, keep nobody from an answer. It knows one path. Rejected: tiny_http, which has no deadline for a client that is silent,
//! and servers for an asynchronous runtime, which would be the largest dependency of this program.

use crate::error::usage_error;
use analysis::top::Counts;
use anyhow::{Context, Result};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use report::top::Series;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use sys::threads;

/// The longest request that is read, and how long its client may take for it, and then for the answer.
const LONGEST_REQUEST: usize = 8192;
const PATIENCE: Duration = Duration::from_secs(5);
/// More clients than this end the one that came first.
const MOST_CLIENTS: usize = 256;
const TICK: u16 = 250;

const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type Text = Arc<Mutex<Vec<u8>>>;

fn current(text: &Text) -> MutexGuard<'_, Vec<u8>> {
    text.lock().unwrap_or_else(PoisonError::into_inner)
}

pub struct Metrics {
    text: Text,
    series: Series,
}

impl Metrics {
    pub fn open(address: &str) -> Result<Metrics> {
        let mut metrics = Metrics {
            text: serve(address)?,
            series: Series::default(),
        };
        metrics.publish(&Counts::default(), "")?;
        Ok(metrics)
    }

    pub fn publish(&mut self, counts: &Counts, scope: &str) -> Result<()> {
        let mut text = Vec::new();
        self.series.write(counts, scope, &mut text)?;
        *current(&self.text) = text;
        Ok(())
    }
}

fn serve(address: &str) -> Result<Text> {
    let whole = if address.contains(':') {
        address.to_string()
    } else {
        format!("127.0.0.1:{address}")
    };
    let parsed = whole.parse().map_err(|error| {
        usage_error!("--listen {address}: {error}; it takes [ADDRESS:]PORT, e.g. 127.0.0.1:9099")
    })?;
    listen(parsed).with_context(|| format!("--listen {address}"))
}

/// Serves what is put into the result, from a thread that ends with the process.
fn listen(address: SocketAddr) -> io::Result<Text> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let served = Text::default();
    let text = served.clone();
    threads::start(move || {
        let mut clients = Vec::new();
        loop {
            turn(&listener, &mut clients, &text);
        }
    })?;
    Ok(served)
}

/// Waits until somebody can go on, and goes on with everybody who can.
fn turn(listener: &TcpListener, clients: &mut Vec<Client>, text: &Text) {
    let mut fds = vec![PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
    fds.extend(clients.iter().map(Client::wants));
    let _ = poll(&mut fds, PollTimeout::from(TICK));
    let ready: Vec<bool> = fds.iter().map(|fd| fd.any().unwrap_or(false)).collect();
    drop(fds);
    let mut of_clients = ready[1..].iter();
    clients.retain_mut(|client| {
        let is_ready = of_clients.next().is_some_and(|ready| *ready);
        (!is_ready || client.go_on(text)) && client.since.elapsed() < PATIENCE
    });
    if ready[0] {
        accept(listener, clients);
    }
}

fn accept(listener: &TcpListener, clients: &mut Vec<Client>) {
    loop {
        match listener.accept() {
            Ok((stream, _)) if stream.set_nonblocking(true).is_ok() => {
                if clients.len() >= MOST_CLIENTS {
                    clients.remove(0);
                }
                clients.push(Client {
                    stream,
                    request: Vec::new(),
                    answer: Vec::new(),
                    sent: 0,
                    since: Instant::now(),
                });
            }
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(_) => {
                // This process has no descriptors left: that of the first client is taken back.
                clients.drain(..clients.len().min(1));
                return std::thread::sleep(Duration::from_millis(TICK.into()));
            }
        }
    }
}

struct Client {
    stream: TcpStream,
    request: Vec<u8>,
    /// Empty until the request is complete.
    answer: Vec<u8>,
    sent: usize,
    since: Instant,
}

impl Client {
    fn wants(&self) -> PollFd<'_> {
        let wanted = if self.answer.is_empty() {
            PollFlags::POLLIN
        } else {
            PollFlags::POLLOUT
        };
        PollFd::new(self.stream.as_fd(), wanted)
    }

    /// False if it has its answer, or will not get one. A client that goes away is no failure of ours.
    fn go_on(&mut self, text: &Text) -> bool {
        let done = self.read(text).and_then(|()| self.write());
        done.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }

    fn read(&mut self, text: &Text) -> io::Result<()> {
        while self.answer.is_empty() {
            let mut buffer = [0; 1024];
            let read = self.stream.read(&mut buffer)?;
            self.request.extend_from_slice(&buffer[..read]);
            if self.request.windows(4).any(|four| four == b"\r\n\r\n") {
                self.answer = answer(&self.request, text);
                self.since = Instant::now();
            } else if read == 0 || self.request.len() > LONGEST_REQUEST {
                return Err(ErrorKind::InvalidData.into());
            }
        }
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        while self.sent < self.answer.len() {
            match self.stream.write(&self.answer[self.sent..])? {
                0 => break,
                sent => self.sent += sent,
            }
        }
        Ok(())
    }
}

fn answer(request: &[u8], text: &Text) -> Vec<u8> {
    let is_for_metrics =
        request.starts_with(b"GET /metrics ") || request.starts_with(b"GET /metrics?");
    let plain = |text: &str| ("text/plain", text.as_bytes().to_vec());
    let (status, (kind, body)) = if is_for_metrics {
        ("200 OK", (METRICS, current(text).clone()))
    } else if request.starts_with(b"GET ") {
        ("404 Not Found", plain("try /metrics\n"))
    } else {
        ("405 Method Not Allowed", plain("try GET /metrics\n"))
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    [head.into_bytes(), body].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: usize = 4 << 20;

    fn started() -> (Text, SocketAddr) {
        let free = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let served = serve(&free.to_string()).unwrap();
        *served.lock().unwrap() = vec![b'x'; LENGTH];
        (served, free)
    }

    fn asked(address: SocketAddr, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).unwrap();
        // Generous: what would fail waits for ever, or for as long as all clients before it may take.
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\n\r\n").unwrap();
        stream
    }

    fn answer(mut stream: TcpStream) -> String {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_thousand_silent_clients_and_slow_readers_keep_nobody_from_an_answer() {
        let (_served, address) = started();
        // Each asks for more than the buffers of its connection hold, and reads none of it.
        let slow: Vec<TcpStream> = (0..20).map(|_| asked(address, "/metrics")).collect();
        let mut silent = Vec::new();
        for _ in 0..1000 {
            match TcpStream::connect(address) {
                Ok(stream) => silent.push(stream),
                // The test's own descriptors end here.
                Err(error) => {
                    assert!(
                        silent.len() > MOST_CLIENTS,
                        "{error} after {}",
                        silent.len()
                    );
                    silent.truncate(silent.len() - 10);
                    break;
                }
            }
        }
        let text = answer(asked(address, "/metrics"));
        assert!(
            text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("xxxx"),
            "{}",
            &text[..100]
        );
        assert!(text.len() > LENGTH);
        assert!(answer(asked(address, "/other")).starts_with("HTTP/1.1 404 "));
        drop((slow, silent));
    }

    #[test]
    fn nonsense_has_an_answer_or_an_end() {
        let (_served, address) = started();
        let said = |bytes: &[u8]| {
            let mut stream = TcpStream::connect(address).unwrap();
            let _ = stream.write_all(bytes);
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let mut text = Vec::new();
            let _ = stream.read_to_end(&mut text);
            String::from_utf8(text).unwrap()
        };
        assert!(said(b"\r\n\r\n").starts_with("HTTP/1.1 405 "));
        assert_eq!(said(b"GET /metrics"), "");
        assert_eq!(said(&[b'a'; 3 * LONGEST_REQUEST]), "");
    }
}
