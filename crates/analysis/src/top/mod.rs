//! The state of the live table, without a terminal: two sets of counts to rates, and keys to what is shown.

mod rates;
mod row;
mod view;

pub use rates::{Counts, Rates, between};
pub use row::{By, Focus, Row, RowKey, Who};
pub use view::{Key, Sort, View};
