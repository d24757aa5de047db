//! All counts as OpenMetrics for a collector: in a file that is replaced at each interval, and by HTTP.

use crate::cli::error::usage;
use crate::kernel::{temporary, threads};
use crate::report::top::write_metrics;
use crate::top::Counts;
use anyhow::{Context, Result, anyhow};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Where counts are published.
pub struct Metrics {
    file: Option<PathBuf>,
    served: Option<Arc<Mutex<Vec<u8>>>>,
}

/// The longest request that is read, and how long its reader may take for it.
const LONGEST_REQUEST: usize = 8192;
const PATIENCE: Duration = Duration::from_secs(2);

impl Metrics {
    /// Listens, and writes the first file; `None` if neither is wanted.
    ///
    /// # Errors
    /// What cannot be written or listened on.
    pub fn open(file: Option<PathBuf>, address: Option<&str>) -> Result<Option<Metrics>> {
        if file.is_none() && address.is_none() {
            return Ok(None);
        }
        let served = address.map(listen).transpose()?;
        let mut metrics = Metrics { file, served };
        usage(metrics.publish(&Counts::default(), ""))?;
        Ok(Some(metrics))
    }

    /// Replaces what was published.
    ///
    /// # Errors
    /// If the file cannot be replaced.
    pub fn publish(&mut self, counts: &Counts, scope: &str) -> Result<()> {
        let mut text = Vec::new();
        write_metrics(counts, scope, &mut text)?;
        if let Some(path) = &self.file {
            // Readers see the old file or the new one. Collectors run as other users, so that all may read it.
            temporary::put(path, 0o644, &text).with_context(|| format!("--textfile {}", path.display()))?;
        }
        if let Some(served) = &self.served {
            *served.lock().unwrap_or_else(PoisonError::into_inner) = text;
        }
        Ok(())
    }
}

/// Serves what is put into the result, from a thread that ends with the process.
fn listen(address: &str) -> Result<Arc<Mutex<Vec<u8>>>> {
    let whole = if address.contains(':') { address.to_string() } else { format!("127.0.0.1:{address}") };
    let wrong = |error: &dyn std::fmt::Display| {
        anyhow!("--listen {address}: {error}; it takes [ADDRESS:]PORT, e.g. 127.0.0.1:9099")
    };
    let parsed: SocketAddr = usage(whole.parse().map_err(|error| wrong(&error)))?;
    let listener = TcpListener::bind(parsed).map_err(|error| anyhow!("--listen {address}: {error}"))?;
    let served = Arc::new(Mutex::new(Vec::new()));
    let text = Arc::clone(&served);
    threads::start(move || {
        for stream in listener.incoming().flatten() {
            let text = text.lock().unwrap_or_else(PoisonError::into_inner).clone();
            // A client that goes away is no failure of ours.
            let _ = answer(&stream, &text);
        }
    })
    .with_context(|| format!("--listen {address}"))?;
    Ok(served)
}

fn answer(mut stream: &TcpStream, text: &[u8]) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let (mut request, mut buffer) = (Vec::new(), [0; 1024]);
    let deadline = Instant::now() + PATIENCE;
    while !request.windows(4).any(|four| four == b"\r\n\r\n") {
        let read = stream.read(&mut buffer)?;
        request.extend_from_slice(&buffer[..read]);
        if read == 0 || request.len() > LONGEST_REQUEST || Instant::now() > deadline {
            return Ok(());
        }
    }
    let (status, body): (_, &[u8]) = match request.split(|byte| *byte == b'\r').next() {
        Some(line) if line.starts_with(b"GET /metrics ") || line.starts_with(b"GET /metrics?") => ("200 OK", text),
        Some(line) if line.starts_with(b"GET ") => ("404 Not Found", b"try /metrics\n"),
        _ => ("405 Method Not Allowed", b"try GET /metrics\n"),
    };
    let kind = if body == text { "application/openmetrics-text; version=1.0.0; charset=utf-8" } else { "text/plain" };
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    stream.write_all(body)
}
