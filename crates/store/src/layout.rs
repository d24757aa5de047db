//! One line per member of the top level and of containers directly in it. So every record is one line: version control shows
//! which records differ, and thousands of samples do not take a line each.

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;
use std::io::{Result, Write};

pub fn write(file: &impl Serialize, out: &mut dyn Write) -> Result<()> {
    file.serialize(&mut Serializer::with_formatter(
        &mut *out,
        Layout::default(),
    ))?;
    out.write_all(b"\n")
}

/// Members of containers up to this depth get their own lines.
const DEPTH: usize = 2;

#[derive(Default)]
struct Layout {
    depth: usize,
    /// The current container, or the one just closed, has members.
    filled: bool,
}

impl Layout {
    fn open<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> Result<()> {
        self.depth += 1;
        self.filled = false;
        out.write_all(bracket)
    }

    fn member<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> Result<()> {
        if !first {
            out.write_all(b",")?;
        }
        if self.depth <= DEPTH {
            out.write_all(b"\n")?;
            // Deeper containers stay on the line of their member.
            out.write_all(&b"    "[..2 * self.depth])?;
        }
        Ok(())
    }

    fn close<W: ?Sized + Write>(&mut self, out: &mut W, bracket: &[u8]) -> Result<()> {
        self.depth -= 1;
        if self.filled && self.depth < DEPTH {
            out.write_all(b"\n")?;
            out.write_all(&b"    "[..2 * self.depth])?;
        }
        self.filled = true;
        out.write_all(bracket)
    }
}

impl Formatter for Layout {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> Result<()> {
        self.open(out, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> Result<()> {
        self.close(out, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> Result<()> {
        self.member(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> Result<()> {
        self.filled = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> Result<()> {
        self.open(out, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> Result<()> {
        self.close(out, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> Result<()> {
        self.member(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> Result<()> {
        out.write_all(if self.depth <= DEPTH { b": " } else { b":" })
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> Result<()> {
        self.filled = true;
        Ok(())
    }
}
