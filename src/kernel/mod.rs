//! The kernel seam: reads the host's facts and tries what is permitted.

pub mod checks;
pub mod host;
pub mod taxes;
