//! What a process said it had done.

use std::collections::{BTreeMap, BTreeSet};

/// What was acknowledged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) sessions: BTreeSet<String>,
    pub(crate) runs: BTreeMap<String, Told>,
    /// Notes, with their sessions.
    pub(crate) notes: BTreeMap<String, String>,
    /// Versions of what agents keep, by session and name.
    pub(crate) snapshots: BTreeMap<(String, String), u64>,
    /// What could not be done.
    pub(crate) failures: Vec<String>,
    /// How many lines there were, without failures.
    pub(crate) lines: usize,
    pub(crate) done: bool,
}

/// What was acknowledged of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) epoch: u64,
    pub(crate) last: u64,
    pub(crate) end: Option<ToldEnd>,
}

/// How a run was said to have ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ToldEnd {
    /// By whoever ran it: the last place, and the hash over everything up to there.
    Ended { last: u64, chain: String },
    /// By whoever came after.
    Swept,
}

impl Ledger {
    /// Takes a line. What the test program itself says is passed over.
    pub(crate) fn hear(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |word: &str| word.parse::<u64>().expect("a number");
        match words.as_slice() {
            ["session", session] => drop(self.sessions.insert((*session).to_owned())),
            ["started", run, epoch] => self.run(run).epoch = number(epoch),
            ["appended", run, last] => self.run(run).last = number(last),
            ["ended", run, last, chain] => {
                let (last, chain) = (number(last), (*chain).to_owned());
                self.run(run).end = Some(ToldEnd::Ended { last, chain });
            }
            ["swept", run] => drop(self.run(run).end.get_or_insert(ToldEnd::Swept)),
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

    fn run(&mut self, run: &str) -> &mut Told {
        self.runs.entry(run.to_owned()).or_default()
    }
}
