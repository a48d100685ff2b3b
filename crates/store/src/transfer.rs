//! Exports sessions as JSON lines and imports them.
//!
//! Every line ends with a hash link over all lines before it. A file that was cut off or changed is
//! valid up to that line and not beyond. A file contains sessions, their records, their runs and
//! the events of each run. It does not contain snapshots of live agents.
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

/// What an export wrote.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ExportReport {
    /// Number of sessions.
    pub sessions: u64,
    /// Number of records.
    pub records: u64,
    /// Number of runs.
    pub runs: u64,
    /// Number of events.
    pub events: u64,
    /// Runs with a damaged log, and where the damage is. Only events before it were written.
    pub damage: Vec<String>,
}

/// What an import added, without what existed already.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ImportReport {
    /// Number of sessions.
    pub sessions: u64,
    /// Number of records.
    pub records: u64,
    /// Number of runs.
    pub runs: u64,
    /// Number of events.
    pub events: u64,
    /// Ids that exist with other content. The stored content stays, and that of the file is
    /// skipped. At most 100 ids; `conflicting` counts all of them.
    pub conflicts: Vec<String>,
    /// Number of conflicts.
    pub conflicting: u64,
    /// Why the file was not read to its end.
    pub damage: Option<FileDamage>,
}

/// Where a file is damaged. Everything before this line is imported, nothing from there on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDamage {
    /// Line number, from 1 on.
    pub line: u64,
    /// Byte offset of the line, from 0 on.
    pub offset: u64,
    /// What is wrong with the line.
    pub what: String,
}
