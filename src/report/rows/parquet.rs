//! Rows as a Parquet file with Snappy. Behind the cargo feature `parquet`, since it triples the time of a build.
//!
//! The writer of the `parquet` crate wants an output that can go to another thread, so it writes into a buffer that is emptied
//! after each row group. Rejected: its `arrow` part, three times as many crates for a table with one list.

use super::{Column, Kind, SCHEMA, Value};
use crate::rows::Row;
use anyhow::{Context, Result};
use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::io::{self, Write};
use std::mem::take;
use std::sync::{Arc, Mutex, PoisonError};

/// Rows of a group: some 10 MB in memory, and enough to compress well.
const GROUP: usize = 16_384;

/// A file that is being written.
pub struct ParquetRows<'a> {
    columns: &'a [Column],
    writer: SerializedFileWriter<Buffer>,
    buffer: Buffer,
    waiting: Vec<Row>,
    out: &'a mut dyn Write,
}

impl<'a> ParquetRows<'a> {
    /// Begins a file of rows with these columns.
    ///
    /// # Errors
    /// If they make no schema.
    pub fn new(columns: &'a [Column], out: &'a mut dyn Write) -> Result<ParquetRows<'a>> {
        let schema = parse_message_type(&message(columns)).context("the columns make no Parquet schema")?;
        let version = KeyValue::new("schema".to_string(), SCHEMA.to_string());
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("syscost {}", env!("CARGO_PKG_VERSION")))
            .set_key_value_metadata(Some(vec![version]))
            .build();
        let buffer = Buffer::default();
        let writer = SerializedFileWriter::new(buffer.clone(), Arc::new(schema), Arc::new(properties))?;
        Ok(ParquetRows { columns, writer, buffer, waiting: Vec::new(), out })
    }

    /// Adds rows.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn add(&mut self, rows: Vec<Row>) -> Result<()> {
        self.waiting.extend(rows);
        if self.waiting.len() >= GROUP { self.write_group() } else { Ok(()) }
    }

    /// Writes the rest and the end of the file.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn finish(mut self) -> Result<()> {
        if !self.waiting.is_empty() {
            self.write_group()?;
        }
        self.writer.close()?;
        Ok(self.out.write_all(&self.buffer.take())?)
    }

    fn write_group(&mut self) -> Result<()> {
        let rows = take(&mut self.waiting);
        let mut group = self.writer.next_row_group()?;
        for column in self.columns {
            let mut writer = group.next_column()?.context("a Parquet file has fewer columns than it should")?;
            write_column(writer.untyped(), column, &rows)?;
            writer.close()?;
        }
        group.close()?;
        Ok(self.out.write_all(&self.buffer.take())?)
    }
}

/// The schema in Parquet's own language; names of columns are plain words.
fn message(columns: &[Column]) -> String {
    let field = |column: &Column| {
        let (name, may) = (&column.name, if column.nullable { "OPTIONAL" } else { "REQUIRED" });
        match column.kind {
            Kind::Text => format!("{may} BINARY {name} (STRING);"),
            Kind::Flag => format!("{may} BOOLEAN {name};"),
            Kind::Whole => format!("{may} INT64 {name};"),
            Kind::Number => format!("{may} DOUBLE {name};"),
            Kind::Numbers => {
                format!("{may} GROUP {name} (LIST) {{ REPEATED GROUP list {{ REQUIRED DOUBLE element; }} }}")
            }
        }
    };
    format!("message row {{ {} }}", columns.iter().map(field).collect::<Vec<_>>().join(" "))
}

/// The values of a column that are not null. How deep each is defined shows where nulls are; a list has the depth of its
/// elements, which repeat.
#[derive(Default)]
struct Levels {
    texts: Vec<ByteArray>,
    flags: Vec<bool>,
    wholes: Vec<i64>,
    numbers: Vec<f64>,
    defined: Vec<i16>,
    repeated: Vec<i16>,
}

impl Levels {
    fn of(column: &Column, rows: &[Row]) -> Levels {
        let mut levels = Levels::default();
        rows.iter().for_each(|row| levels.add(column.value(row), column));
        levels
    }

    fn add(&mut self, value: Value, column: &Column) {
        let present = i16::from(column.nullable);
        if let Value::Numbers(numbers) = value {
            return self.add_list(numbers, present);
        }
        self.defined.push(if value == Value::Null { 0 } else { present });
        self.repeated.push(0);
        match value {
            Value::Text(text) => self.texts.push(ByteArray::from(text)),
            Value::Flag(flag) => self.flags.push(flag),
            Value::Whole(number) => self.wholes.push(number),
            Value::Number(number) => self.numbers.push(number),
            Value::Null | Value::Numbers(_) => {}
        }
    }

    fn add_list(&mut self, numbers: &[f64], present: i16) {
        if numbers.is_empty() {
            self.defined.push(present);
            self.repeated.push(0);
        }
        self.defined.extend(numbers.iter().map(|_| present + 1));
        self.repeated.extend((0..numbers.len()).map(|index| i16::from(index > 0)));
        self.numbers.extend(numbers);
    }
}

fn write_column(writer: &mut ColumnWriter, column: &Column, rows: &[Row]) -> Result<()> {
    let levels = Levels::of(column, rows);
    let is_list = column.kind == Kind::Numbers;
    let defined = (column.nullable || is_list).then_some(&levels.defined[..]);
    let repeated = is_list.then_some(&levels.repeated[..]);
    match writer {
        ColumnWriter::ByteArrayColumnWriter(writer) => writer.write_batch(&levels.texts, defined, repeated)?,
        ColumnWriter::BoolColumnWriter(writer) => writer.write_batch(&levels.flags, defined, repeated)?,
        ColumnWriter::Int64ColumnWriter(writer) => writer.write_batch(&levels.wholes, defined, repeated)?,
        ColumnWriter::DoubleColumnWriter(writer) => writer.write_batch(&levels.numbers, defined, repeated)?,
        _ => anyhow::bail!("the column {} has a type that no row has", column.name),
    };
    Ok(())
}

/// What was written and not yet taken.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    fn take(&self) -> Vec<u8> {
        take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixtures::{instructions, record, run};
    use crate::report::rows::columns;
    use crate::rows::rows;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    #[test]
    fn a_reader_finds_the_rows() {
        let mut whole = run(vec![record("file.stat", 300), instructions("file.stat", "linux-6.1", &[1000])]);
        whole.labels.insert("pool".into(), "a\"\n\0'".into());
        let columns = columns(&["pool".to_string(), "zone".to_string()]);
        let mut file = Vec::new();
        let mut writer = ParquetRows::new(&columns, &mut file).unwrap();
        writer.add(rows(whole)).unwrap();
        writer.finish().unwrap();
        let mut stored = tempfile::tempfile().unwrap();
        stored.write_all(&file).unwrap();
        let reader = SerializedFileReader::new(stored).unwrap();
        let found: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        let value = |row: usize, name: &str| {
            found[row].get_column_iter().find(|(own, _)| *own == name).map(|(_, field)| field.clone()).unwrap()
        };
        assert_eq!(found.len(), 2);
        assert_eq!((value(0, "label_pool"), value(0, "label_zone")), (Field::Str("a\"\n\0'".into()), Field::Null));
        assert_eq!((value(0, "median_ns"), value(0, "complete")), (Field::Double(300.0), Field::Bool(true)));
        assert_eq!((value(1, "median_ns"), value(1, "value")), (Field::Null, Field::Double(1000.0)));
        let Field::ListInternal(blocks) = value(0, "block_ns") else { panic!("{:?}", value(0, "block_ns")) };
        assert_eq!((blocks.len(), value(1, "block_ns")), (12, Field::Null));
    }
}
