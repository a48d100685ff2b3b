//! What it takes to let programs that nobody here wrote read what foxwedge wrote: one process that
//! is asked everything, and a table of what came of it.

mod ask;
mod table;

pub(crate) use ask::{Question, ask};
pub(crate) use table::Table;
