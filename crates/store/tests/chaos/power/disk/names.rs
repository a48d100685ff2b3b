//! The names in a folder: which are certainly on disk, and the changes since.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use super::State;

#[derive(Default)]
pub(super) struct Names {
    pub(super) durable: BTreeMap<PathBuf, usize>,
    pub(super) current: BTreeMap<PathBuf, usize>,
    pub(super) changes: Vec<(usize, State, Naming)>,
}

#[derive(Clone)]
pub(super) enum Naming {
    Given(PathBuf, usize),
    Taken(PathBuf),
}

impl Names {
    pub(super) fn finish(&mut self, call: usize) {
        let found = self.changes.iter_mut().find(|(number, ..)| *number == call);
        found.into_iter().for_each(|(_, state, _)| *state = State::Done);
    }

    /// A name that could not be removed is still there.
    pub(super) fn undo(&mut self, call: usize) {
        self.changes.retain(|(number, ..)| *number != call);
        self.current = self.durable.clone();
        self.changes.iter().for_each(|(_, _, naming)| naming.apply(&mut self.current));
    }

    pub(super) fn settle(&mut self, covered: &BTreeSet<usize>) {
        self.changes.retain(|(call, _, naming)| {
            if covered.contains(call) {
                naming.apply(&mut self.durable);
            }
            !covered.contains(call)
        });
    }
}

impl Naming {
    pub(super) fn apply(&self, names: &mut BTreeMap<PathBuf, usize>) {
        match self {
            Naming::Given(path, file) => drop(names.insert(path.clone(), *file)),
            Naming::Taken(path) => drop(names.remove(path)),
        }
    }
}
