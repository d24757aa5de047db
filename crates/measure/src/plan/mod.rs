//! Turns patterns, parameters and studies into cases. Gets the catalogue as an argument; reads only studies and snippet files.

mod parameters;
mod select;
mod study;
mod subject;

pub use parameters::Setting;
pub use select::{BASELINES, Choices, EnvironmentScope, add_cold_cases, select};
pub use study::{Study, StudyPlan, TOUR};
pub use subject::{Code, Subject, Surroundings, subjects};
