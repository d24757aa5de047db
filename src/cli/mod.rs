//! One file a command.

pub mod doctor;
