//! Sessions as JSON lines, out and in.
//!
//! Every line ends with a link over all lines before it, so that a file that was cut off, or in
//! which something changed, is good up to that line and not a word further. A file holds sessions,
//! their records, their runs and the events of each; snapshots of live agents are not in it.
//!
//! ```text
//! {"foxwedge":1,"link":"…"}
//! {"session":{"id":"…","owner":"…",…},"link":"…"}
//! {"record":{"ordinal":1,"id":"…",…},"body":{…},"link":"…"}
//! {"run":{"id":"…","epoch":1,…},"link":"…"}
//! {"event":{…},"chain":"…","link":"…"}
//! {"run_end":{"state":"ended","at":…},"ended":{…},"summary":{…},"link":"…"}
//! {"end":{"sessions":1,"records":1,"runs":1,"events":1},"link":"…"}
//! ```

mod linked_lines;
mod line_format;
mod export;
mod import;

pub use export::export;
pub use import::import;

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ExportReport {
    /// Sessions.
    pub sessions: u64,
    /// Records.
    pub records: u64,
    /// Runs.
    pub runs: u64,
    /// Events.
    pub events: u64,
    /// Runs whose log is damaged, and where: only what stands before that was written.
    pub damage: Vec<String>,
}

/// What was read, without what was there already.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ImportReport {
    /// Sessions.
    pub sessions: u64,
    /// Records.
    pub records: u64,
    /// Runs.
    pub runs: u64,
    /// Events.
    pub events: u64,
    /// Ids under which something else is there: it stays, and what the file says is left out. The
    /// first hundred; the number of all of them is beside it.
    pub conflicts: Vec<String>,
    /// How many conflicts there were.
    pub conflicting: u64,
    /// Why the file was not read to its end.
    pub damage: Option<FileDamage>,
}

/// Where a file stops being good. Everything before is read, nothing from there on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDamage {
    /// The line, from 1 on.
    pub line: u64,
    /// The byte at which the line begins, from 0 on.
    pub offset: u64,
    /// What is wrong with it.
    pub what: String,
}
