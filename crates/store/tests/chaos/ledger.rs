//! What a process reported as acknowledged.

use std::collections::{BTreeMap, BTreeSet};

/// Acknowledged writes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) sessions: BTreeSet<String>,
    pub(crate) runs: BTreeMap<String, AcknowledgedRun>,
    /// Notes, with their sessions.
    pub(crate) notes: BTreeMap<String, String>,
    /// Versions of agent snapshots, by session and name.
    pub(crate) snapshots: BTreeMap<(String, String), u64>,
    /// Operations that failed.
    pub(crate) failures: Vec<String>,
    /// Number of lines, without failures.
    pub(crate) lines: usize,
    pub(crate) done: bool,
}

/// What was acknowledged of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AcknowledgedRun {
    pub(crate) epoch: u64,
    pub(crate) last: u64,
    pub(crate) end: Option<AcknowledgedEnd>,
}

/// The reported end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AcknowledgedEnd {
    /// By its own process: the last sequence number, and the hash over everything up to it.
    Ended { last: u64, chain: String },
    /// By a later sweep.
    Swept,
}

impl Ledger {
    /// Records a line. Skips the output of the test program itself.
    pub(crate) fn record(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |word: &str| word.parse::<u64>().expect("a number");
        match words.as_slice() {
            ["session", session] => drop(self.sessions.insert((*session).to_owned())),
            ["started", run, epoch] => self.run(run).epoch = number(epoch),
            ["appended", run, last] => self.run(run).last = number(last),
            ["ended", run, last, chain] => {
                let (last, chain) = (number(last), (*chain).to_owned());
                self.run(run).end = Some(AcknowledgedEnd::Ended { last, chain });
            }
            ["swept", run] => drop(self.run(run).end.get_or_insert(AcknowledgedEnd::Swept)),
            ["noted", session, note] => {
                self.notes.insert((*note).to_owned(), (*session).to_owned());
            }
            ["kept", session, name, version] => {
                let key = ((*session).to_owned(), (*name).to_owned());
                self.snapshots.insert(key, number(version));
            }
            ["failed", ..] => return self.failures.push(line.to_owned()),
            ["done"] => return self.done = true,
            _ => return,
        }
        self.lines += 1;
    }

    fn run(&mut self, run: &str) -> &mut AcknowledgedRun {
        self.runs.entry(run.to_owned()).or_default()
    }
}
