//! Standard output. Errors name it, and a closed pipe, as in `syscost list | head -1`, is not an error: the command continues
//! and keeps its exit status.
//!
//! Not `std::io::Stdout`, which silently discards everything if standard output is closed.

use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use report::Format;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::fd::AsFd;
use sys::standard_output;

pub struct Output(BufWriter<Pipe>);

struct Pipe {
    file: File,
    closed: bool,
}

impl Output {
    /// Further output is pointless then.
    pub fn is_closed(&self) -> bool {
        self.0.get_ref().closed
    }

    /// Fails before any work is done.
    pub fn open() -> io::Result<Output> {
        let file =
            standard_output::check().and_then(|()| io::stdout().as_fd().try_clone_to_owned());
        let pipe = Pipe {
            file: file.map_err(named)?.into(),
            closed: false,
        };
        Ok(Output(BufWriter::new(pipe)))
    }
}

fn named(error: io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("cannot write to standard output ({error}): redirect it to a file or a program"),
    )
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match if self.closed {
            Ok(bytes.len())
        } else {
            self.file.write(bytes)
        } {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(bytes.len())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Err(error),
            written => written.map_err(named),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub fn tables() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(["text", "markdown", "csv"])
        .try_map(|name| Format::from_str(&name, false))
}
