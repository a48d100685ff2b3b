//! A file for each subcommand.

pub(crate) mod check;
pub(crate) mod fix;
pub(crate) mod undo;
pub(crate) mod rule;
pub(crate) mod rules;
pub(crate) mod explain;
pub(crate) mod completions;
