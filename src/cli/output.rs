//! Standard output as commands write to it: an error says what it is that cannot be written, and a reader that went away,
//! as in `syscost list | head -1`, has seen enough: that changes neither what a command does nor how it ends.
//!
//! Not `std::io::Stdout`, which takes a closed standard output for one that swallows everything.

use crate::kernel::standard_output;
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::fd::AsFd;

/// Standard output; to be flushed at the end.
pub struct Output(BufWriter<Pipe>);

/// Who reads it.
struct Pipe {
    file: File,
    gone: bool,
}

impl Output {
    /// # Errors
    /// When it is closed or cannot be written.
    pub fn open() -> io::Result<Output> {
        let file = standard_output::check().and_then(|()| io::stdout().as_fd().try_clone_to_owned());
        let pipe = Pipe { file: file.map_err(named)?.into(), gone: false };
        Ok(Output(BufWriter::new(pipe)))
    }
}

/// The system's words, and what they are about.
fn named(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("standard output cannot be written ({error}): send it to a file or a program"))
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
        match if self.gone { Ok(bytes.len()) } else { self.file.write(bytes) } {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.gone = true;
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
