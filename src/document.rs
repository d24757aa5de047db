//! What an answer consists of, whatever its subject and its format: blocks of text and tables for people, and records for
//! programs. Views make documents, and `write` writes them.

mod cell;
mod spec;
mod table;

pub use cell::{Align, Cell, Column, Style};
pub use spec::{Records, Spec, params};
pub use table::{Filter, Table};

/// A part of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// What a terminal gets as a message on standard error, and other formats would lack.
    Message(Vec<String>),
    /// What readers must know before the tables.
    Cautions(Vec<String>),
    /// Tables, one below the other.
    Tables(Vec<Table>),
    /// Lines below the tables: what they mean, what was left out.
    Notes(Vec<String>),
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    pub blocks: Vec<Block>,
    /// What programs read.
    pub records: Records,
}
