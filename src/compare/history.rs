//! One machine over time: the points at which an operation's cost changed for good, and what changed in the machine there.
