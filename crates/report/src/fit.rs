//! Costs over a parameter: the table, the fitted lines and crossovers in words, and the plot for terminals.

mod figure;
mod notes;
mod plot;
mod table;

pub use figure::over_parameter;
pub use plot::{plot, plot_lines};
pub use table::parameter_table;
