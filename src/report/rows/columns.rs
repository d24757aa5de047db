//! The columns of rows, as a table: name, type, whether it may be null, and what it is.

use super::SCHEMA;
use crate::rows::{DERIVED, NANOSECONDS, Row};

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Flag,
    /// An integer of 64 bits with a sign.
    Whole,
    /// A double, never infinite or NaN.
    Number,
    /// Doubles, none of them null.
    Numbers,
}

/// A value of that type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    Null,
    Text(&'a str),
    Flag(bool),
    Whole(i64),
    Number(f64),
    Numbers(&'a [f64]),
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
    /// Whether it may be null.
    pub nullable: bool,
    /// What it is, in a sentence without its end.
    pub about: &'static str,
    from: From,
}

#[derive(Clone, Debug)]
enum From {
    Field(for<'a> fn(&'a Row) -> Value<'a>),
    /// The text of the label with this key.
    Label(String),
}

impl Column {
    /// Its value in `row`. A number that is not finite is null.
    pub fn value<'a>(&self, row: &'a Row) -> Value<'a> {
        let value = match &self.from {
            From::Field(of) => of(row),
            From::Label(key) => row.labels.get(key).map_or(Value::Null, |text| Value::Text(text)),
        };
        match value {
            Value::Number(number) if !number.is_finite() => Value::Null,
            value => value,
        }
    }
}

/// The columns of rows that have labels with these keys: first those of the run and its machine, then the labels, then those
/// of the case.
pub fn columns<'k>(labels: impl IntoIterator<Item = &'k String>) -> Vec<Column> {
    let label = |key: &String| Column {
        name: format!("label_{key}"),
        kind: Kind::Text,
        nullable: true,
        about: LABEL,
        from: From::Label(key.clone()),
    };
    let fields = |fields: &[Field]| fields.iter().map(Field::column).collect::<Vec<Column>>();
    let labels = labels.into_iter().map(label);
    fields(RUN).into_iter().chain(labels).chain(fields(CASE)).chain(fields(END)).collect()
}

/// What a column of a label is.
pub const LABEL: &str = "text of the run's label with this key";

type Of = for<'a> fn(&'a Row) -> Value<'a>;

/// A column that all rows have: name, type, whether it may be null, what it is, and where it is from.
struct Field(&'static str, Kind, bool, &'static str, Of);

impl Field {
    fn column(&self) -> Column {
        let Field(name, kind, nullable, about, of) = self;
        Column { name: name.to_string(), kind: *kind, nullable: *nullable, about, from: From::Field(*of) }
    }
}

const RUN: &[Field] = &[
    Field("schema", Kind::Text, false, "`syscost.row/1`", |_| Value::Text(SCHEMA)),
    Field("run_id", Kind::Text, false, "the run: host, start and seed", |row| Value::Text(&row.run_id)),
    Field("started_unix_s", Kind::Whole, true, "when it began, seconds since 1970-01-01 UTC", |row| {
        row.started_unix_s.map_or(Value::Null, Value::Whole)
    }),
    Field("complete", Kind::Flag, false, "whether the run came to its end", |row| Value::Flag(row.complete)),
    Field("host", Kind::Text, true, "host name", |row| text(&row.machine.host)),
    Field("cpu", Kind::Text, true, "CPU model name; null in an emulated machine", |row| text(&row.machine.cpu)),
    Field("kernel", Kind::Text, true, "release of the kernel that answered", |row| text(&row.machine.kernel)),
    Field("hypervisor", Kind::Text, true, "hypervisor, `none` on bare metal, or what emulates the machine", |row| {
        text(&row.machine.hypervisor)
    }),
    Field("container", Kind::Text, true, "container or sandbox, if one was recognised", |row| {
        text(&row.machine.container)
    }),
    Field("libc", Kind::Text, true, "C library of the native probe; null in other environments", |row| {
        text(&row.machine.libc)
    }),
    Field("mitigations", Kind::Text, true, "`vulnerability: mitigation`, joined by `; `", |row| {
        text(&row.machine.mitigations)
    }),
    Field("tool", Kind::Text, false, "name and version of what measured", |row| Value::Text(&row.tool)),
];

const CASE: &[Field] = &[
    Field("role", Kind::Text, false, "`asked`, `baseline`, or `derived` from two other rows by the study", |row| {
        Value::Text(row.role)
    }),
    Field(
        "operation",
        Kind::Text,
        false,
        "id of the operation, source text of a snippet, or name of a derived row",
        |row| Value::Text(&row.operation),
    ),
    Field("name", Kind::Text, false, "the name that a study gives the case; empty for none", |row| {
        Value::Text(&row.name)
    }),
    Field("params", Kind::Text, false, "all parameters by name, e.g. `depth=4 size=4096`; empty for none", |row| {
        Value::Text(&row.params)
    }),
    Field("environment", Kind::Text, false, "how the probe is built and started, e.g. `native`", |row| {
        Value::Text(&row.environment)
    }),
    Field("language", Kind::Text, false, "language of a snippet; empty for an operation", |row| {
        Value::Text(&row.language)
    }),
    Field("entries", Kind::Text, true, "kernel entries per iteration, e.g. `openat x1 close x1`, `none`", |row| {
        text(&row.entries)
    }),
    Field("entries_total", Kind::Number, true, "their sum", |row| number(row.entries_total)),
    Field("unit", Kind::Text, false, "unit of the next four: `ns`, `instructions` or `ratio`", |row| {
        Value::Text(row.unit)
    }),
    Field("value", Kind::Number, true, "the median; of a derived row its value", |row| number(row.figures.value)),
    Field("low", Kind::Number, true, "lower end of its 95% interval; of instructions the smallest repeat", |row| {
        number(row.figures.low)
    }),
    Field("high", Kind::Number, true, "upper end; of instructions the largest repeat", |row| number(row.figures.high)),
    Field("net", Kind::Number, true, "the median less that of the empty loop; may be below 0", |row| {
        number(row.figures.net)
    }),
    Field("median_ns", Kind::Number, true, "`value` where it is the time of a case, else null", |row| {
        time(row, row.figures.value)
    }),
    Field("low_ns", Kind::Number, true, "`low`, likewise", |row| time(row, row.figures.low)),
    Field("high_ns", Kind::Number, true, "`high`, likewise", |row| time(row, row.figures.high)),
    Field("best_ns", Kind::Number, true, "the smallest sample", |row| time(row, row.figures.best)),
    Field("net_ns", Kind::Number, true, "`net`, likewise", |row| time(row, row.figures.net)),
];

const END: &[Field] = &[
    Field(
        "block_ns",
        Kind::Numbers,
        true,
        "median of each time block that the result is from, at the run's usual speed",
        |row| row.block_ns.as_deref().map_or(Value::Null, Value::Numbers),
    ),
    Field("status", Kind::Text, false, "`ok`, `published`, or the `kind` of the error as in result files", |row| {
        Value::Text(row.status)
    }),
    Field("reason", Kind::Text, true, "why there is no result", |row| text(&row.reason)),
    Field(
        "warnings",
        Kind::Text,
        false,
        "kinds of the warnings of the row and its run, separated by spaces; empty for none",
        |row| Value::Text(&row.warnings),
    ),
];

fn text(text: &Option<String>) -> Value<'_> {
    text.as_deref().map_or(Value::Null, Value::Text)
}

fn number(number: Option<f64>) -> Value<'static> {
    number.map_or(Value::Null, Value::Number)
}

/// `number` if the row is a case's time: neither instructions nor the difference of two times.
fn time(row: &Row, value: Option<f64>) -> Value<'static> {
    number(value.filter(|_| row.unit == NANOSECONDS && row.role != DERIVED))
}
