//! One list of columns makes the table for people and the records for programs.

use super::cell::{Align, Cell, Column};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

type Of<'a, R, T> = Box<dyn Fn(&R) -> T + 'a>;

/// One column of rows of type `R`: what is one cell for people (`1.2 .. 1.4`) may be several fields for programs.
pub struct Spec<'a, R> {
    shown: Option<(Column, Of<'a, R, Cell>)>,
    fields: Vec<(&'static str, Of<'a, R, Value>)>,
}

impl<'a, R> Spec<'a, R> {
    pub fn left(title: &str, cell: impl Fn(&R) -> Cell + 'a) -> Spec<'a, R> {
        Spec::aligned(Align::Left, title, cell)
    }

    pub fn right(title: &str, cell: impl Fn(&R) -> Cell + 'a) -> Spec<'a, R> {
        Spec::aligned(Align::Right, title, cell)
    }

    fn aligned(align: Align, title: &str, cell: impl Fn(&R) -> Cell + 'a) -> Spec<'a, R> {
        let column = Column {
            title: title.to_string(),
            align,
            ..Column::default()
        };
        Spec {
            shown: Some((column, Box::new(cell))),
            fields: Vec::new(),
        }
    }

    /// A column and a field with the same text.
    pub fn same<T: Into<Option<String>>>(
        name: &'static str,
        value: impl Fn(&R) -> T + Copy + 'a,
    ) -> Spec<'a, R> {
        Spec::left(name, move |row| {
            value(row).into().unwrap_or_default().into()
        })
        .text(name, value)
    }

    pub fn numbers(
        title: &str,
        name: &'static str,
        text: impl Fn(f64) -> String + 'a,
        value: impl Fn(&R) -> Option<f64> + Copy + 'a,
    ) -> Spec<'a, R> {
        Spec::right(title, move |row| Cell::known(value(row), &text)).number(name, value)
    }

    pub fn hidden() -> Spec<'a, R> {
        Spec {
            shown: None,
            fields: Vec::new(),
        }
    }

    pub fn shown_if(self, shows: bool) -> Spec<'a, R> {
        Spec {
            shown: self.shown.filter(|_| shows),
            ..self
        }
    }

    pub fn expendable(self, order: u8) -> Spec<'a, R> {
        self.column(|column| column.expendable = order)
    }

    pub fn wrapping(self) -> Spec<'a, R> {
        self.column(|column| column.wraps = true)
    }

    fn column(mut self, change: impl FnOnce(&mut Column)) -> Spec<'a, R> {
        if let Some((column, _)) = &mut self.shown {
            change(column);
        }
        self
    }

    /// The unit is in `name`; empty if unknown or not finite.
    pub fn number<T: Into<Option<f64>>>(
        self,
        name: &'static str,
        value: impl Fn(&R) -> T + 'a,
    ) -> Spec<'a, R> {
        self.field(name, move |row| {
            let number = value(row).into().filter(|number| number.is_finite());
            number.map(Value::Number)
        })
    }

    pub fn ends(
        self,
        [low, high]: [&'static str; 2],
        ends: impl Fn(&R) -> Option<(f64, f64)> + Copy + 'a,
    ) -> Spec<'a, R> {
        self.number(low, move |row| Some(ends(row)?.0))
            .number(high, move |row| Some(ends(row)?.1))
    }

    pub fn count<T: Into<Option<u64>>>(
        self,
        name: &'static str,
        value: impl Fn(&R) -> T + 'a,
    ) -> Spec<'a, R> {
        self.field(name, move |row| value(row).into().map(Value::Count))
    }

    pub fn text<T: Into<Option<String>>>(
        self,
        name: &'static str,
        value: impl Fn(&R) -> T + 'a,
    ) -> Spec<'a, R> {
        self.field(name, move |row| value(row).into().map(Value::Text))
    }

    fn field(
        mut self,
        name: &'static str,
        value: impl Fn(&R) -> Option<Value> + 'a,
    ) -> Spec<'a, R> {
        let value = move |row: &R| value(row).unwrap_or(Value::Unknown);
        self.fields.push((name, Box::new(value)));
        self
    }
}

pub fn columns<R>(specs: &[Spec<'_, R>]) -> Vec<Column> {
    specs
        .iter()
        .filter_map(|spec| Some(spec.shown.as_ref()?.0.clone()))
        .collect()
}

pub fn cells<R>(specs: &[Spec<'_, R>], row: &R) -> Vec<Cell> {
    specs
        .iter()
        .filter_map(|spec| Some(spec.shown.as_ref()?.1(row)))
        .collect()
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records {
    pub(crate) names: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<Value>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    Unknown,
    Text(String),
    Number(f64),
    Count(u64),
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        if number.is_finite() {
            Value::Number(number)
        } else {
            Value::Unknown
        }
    }
}

impl From<u64> for Value {
    fn from(count: u64) -> Value {
        Value::Count(count)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_string())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Value {
        Value::Text(text.clone())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(known: Option<T>) -> Value {
        known.map_or(Value::Unknown, Into::into)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Unknown => Ok(()),
            Value::Text(text) => f.write_str(text),
            Value::Number(number) => write!(f, "{number}"),
            Value::Count(count) => write!(f, "{count}"),
        }
    }
}

impl Records {
    pub fn of<R>(specs: &[Spec<'_, R>], rows: &[R]) -> Records {
        let fields: Vec<_> = specs.iter().flat_map(|spec| &spec.fields).collect();
        let values = |row: &R| fields.iter().map(|(_, value)| value(row)).collect();
        Records {
            names: fields.iter().map(|(name, _)| *name).collect(),
            rows: rows.iter().map(values).collect(),
        }
    }

    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    pub fn rows(&self) -> &[Vec<Value>] {
        &self.rows
    }
}

/// `file.stat depth=4 entries=0`
pub fn with_params(name: &str, own: &BTreeMap<String, u64>) -> String {
    format!("{name} {}", params(own)).trim_end().to_string()
}

/// `depth=4 entries=0`
pub fn params<'p, V: fmt::Display + 'p>(
    params: impl IntoIterator<Item = (&'p String, &'p V)>,
) -> String {
    params
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect::<Vec<_>>()
        .join(" ")
}
