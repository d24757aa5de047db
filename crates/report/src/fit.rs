//! Costs over a parameter: the table, the fitted lines and crossovers in words, and the plot for terminals.

mod notes;
mod plot;
mod table;

pub use plot::{over_parameter, plot};
pub use table::{crossover_notes, fitted, parameter_table};
