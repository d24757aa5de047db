//! From what the user names (patterns, parameters, studies) to cases. Pure: the catalogue is handed in.

mod code_file;
mod parameters;
mod pattern;
mod select;
mod study;
mod subject;

pub use code_file::Untrusted;
pub use parameters::Setting;
pub use pattern::{Pattern, like, matching, named};
pub use select::{BASELINES, Choices, MOST_CASES, select};
pub use study::{Study, StudyError, StudyPlan, TOUR};
pub use subject::{Code, Subject, Surroundings, subjects};
