//! The parts of an answer, independent of subject and format: blocks of text and tables for people, and records for programs.

mod cell;
mod records;
mod table;
pub mod write;

pub use cell::{Align, Cell, Column, Style, thousands};
pub use records::{Records, params, with_params};
pub use table::{Columns, Filter, Table};

#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    Heading {
        title: String,
        what: String,
    },
    Facts(Vec<(&'static str, String)>),
    /// Text that terminals get as a message on standard error, and other formats in the document.
    Message(Vec<String>),
    /// Warnings that must be read before the tables.
    Cautions(Vec<String>),
    /// Loses expendable columns on narrow screens.
    Table(Table),
    /// Its last columns continue below it on narrow screens.
    Pages(Table),
    /// Code or drawings, which do not wrap.
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
    /// The meaning of the tables, and what was left out.
    Notes(Vec<String>),
}

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
    /// Lines that must keep their layout, such as plots.
    pub fn drawn(lines: Vec<String>) -> Block {
        Block::Code {
            title: String::new(),
            language: "text",
            lines,
        }
    }
}

#[derive(Clone, Default)]
pub struct Document {
    pub blocks: Vec<Block>,
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
