//! What an answer consists of, whatever its subject and its format: blocks of text and tables for people, and records for
//! programs. Views make documents, and `write` writes them.

mod cell;
mod spec;
mod table;
pub mod write;

pub use cell::{Align, Cell, Column, Style};
pub use spec::{Records, Spec, params};
pub use table::{Filter, Table};

/// A part of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// The subject and what it is.
    Heading { title: String, what: String },
    /// Labels and their texts.
    Facts(Vec<(&'static str, String)>),
    /// What a terminal gets as a message on standard error, and other formats would lack.
    Message(Vec<String>),
    /// What readers must know before the tables.
    Cautions(Vec<String>),
    /// A table that loses expendable columns on narrow screens.
    Table(Table),
    /// A table whose last columns continue below it on narrow screens.
    Pages(Table),
    /// Lines of code or of drawings, which do not wrap.
    Code {
        title: String,
        language: &'static str,
        lines: Vec<String>,
    },
    /// Names in each other, each with a number for every title.
    Tree {
        titles: Vec<&'static str>,
        branches: Vec<Branch>,
    },
    /// Lines below the tables: what they mean, what was left out.
    Notes(Vec<String>),
}

/// A name with its numbers, and what it is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Branch {
    pub name: String,
    /// Stands behind the name, which may be cut: ` x3`.
    pub times: String,
    pub numbers: Vec<String>,
    /// Whether what is below is seen at once.
    pub is_large: bool,
    pub below: Vec<Branch>,
}

impl Block {
    /// Lines that do not wrap, without a title.
    pub fn drawn(lines: Vec<String>) -> Block {
        Block::Code {
            title: String::new(),
            language: "text",
            lines,
        }
    }
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    pub blocks: Vec<Block>,
    /// What programs read.
    pub records: Records,
}

impl From<Table> for Document {
    fn from(table: Table) -> Document {
        Document {
            records: table.records().clone(),
            blocks: vec![Block::Table(table)],
        }
    }
}

impl From<Block> for Document {
    fn from(block: Block) -> Document {
        Document {
            blocks: vec![block],
            ..Document::default()
        }
    }
}
