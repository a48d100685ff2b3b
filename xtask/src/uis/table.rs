//! What was read, as a table, and above it everything that was misread.

use std::collections::BTreeMap;

use super::{
    reader::{Job, Reader},
    shelf::Shelf,
};
use crate::Outcome;

/// How many misreadings are printed: one fault often shows in hundreds of them.
const SHOWN: usize = 20;

/// Counts readings.
#[derive(Default)]
pub(super) struct Table {
    rows: BTreeMap<Reader, Row>,
    troubles: Vec<String>,
}

#[derive(Default)]
struct Row {
    client: String,
    /// Read as they should be, and all.
    streams: [usize; 2],
    /// Found, and all.
    faults: [usize; 2],
}

impl Table {
    /// One reading.
    pub(super) fn add(&mut self, shelf: &Shelf, job: &Job<'_>, verdict: Result<(), String>) {
        let row = self.rows.entry(job.reader).or_default();
        row.client = shelf.client(job.reader.package);
        let [ok, all] = if job.fault.is_some() { &mut row.faults } else { &mut row.streams };
        *all += 1;
        match verdict {
            Ok(()) => *ok += 1,
            Err(trouble) => self.troubles.push(format!("{}\n  {trouble}", job.told())),
        }
    }

    /// Prints all of it.
    pub(super) fn print(self) -> Outcome {
        for trouble in self.troubles.iter().take(SHOWN) {
            println!("{trouble}");
        }
        if self.troubles.len() > SHOWN {
            println!("… and {} more", self.troubles.len() - SHOWN);
        }
        print!("{}", self.told());
        match self.troubles.len() {
            0 => Ok(()),
            wrong => Err(format!("{wrong} readings are not what they should be")),
        }
    }

    fn told(&self) -> String {
        let mut lines = vec![line("format", "client", ["streams", "ok", "faults", "found"])];
        for (reader, Row { client, streams: [ok, streams], faults: [found, faults] }) in &self.rows
        {
            let format = format!("{} {}", reader.format.name(), reader.version);
            let numbers = [streams, ok, faults, found].map(usize::to_string);
            lines.push(line(&format, client, numbers.each_ref().map(String::as_str)));
        }
        lines.concat()
    }
}

fn line(format: &str, client: &str, [streams, ok, faults, found]: [&str; 4]) -> String {
    format!("{format:<10}  {client:<32}  {streams:>7}  {ok:>5}  {faults:>6}  {found:>5}\n")
}
