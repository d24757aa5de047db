//! The meaning of the numbers of runs, profiles and races. Pure: it reads no file and no clock, calls no kernel, and formats nothing.

pub mod atlas;
pub mod attribute;
pub mod compare;
pub mod derive;
pub mod fit;
pub mod summary;
mod ticks;
pub mod top;
