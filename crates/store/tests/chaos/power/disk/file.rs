//! One file: what is certainly on disk, and the changes since.

use std::collections::BTreeSet;

use super::{State, Survival};
use crate::{power::trace::Refused, random::Random};

const SECTOR: usize = 512;
const PAGE: u64 = 4_096;

#[derive(Default)]
pub(super) struct File {
    /// What is certainly on disk.
    pub(super) durable: Vec<u8>,
    pub(super) changes: Vec<Change>,
}

/// A change that was not synced.
#[derive(Clone)]
pub(super) struct Change {
    pub(super) call: usize,
    pub(super) what: ChangeKind,
    pub(super) state: State,
}

#[derive(Clone)]
pub(super) enum ChangeKind {
    Write { offset: u64, data: Box<[u8]> },
    Cut { length: u64 },
}

impl File {
    pub(super) fn finish(&mut self, call: usize, result: Result<u64, Refused>) {
        let Some(index) = self.changes.iter().position(|change| change.call == call) else {
            return;
        };
        match (result, &mut self.changes[index].what) {
            // A refused change was not made.
            (Err(Refused), _) => drop(self.changes.remove(index)),
            (Ok(count), ChangeKind::Write { data, .. }) => {
                assert_eq!(count, data.len() as u64, "half of it was written");
                self.changes[index].state = State::Done;
            }
            (Ok(_), ChangeKind::Cut { .. }) => self.changes[index].state = State::Done,
        }
    }

    /// A sync wrote pages to disk: those that were changed since the last one.
    pub(super) fn settle(&mut self, covered: &BTreeSet<usize>) {
        let is_covered = |change: &Change| covered.contains(&change.call);
        let dirty: BTreeSet<u64> = self
            .changes
            .iter()
            .filter(|change| is_covered(change) && change.state == State::Done)
            .flat_map(|change| change.what.pages())
            .collect();
        let mut rest = Vec::new();
        for change in std::mem::take(&mut self.changes) {
            if !is_covered(&change) {
                rest.push(change);
                continue;
            }
            for part in change.what.by_page() {
                if dirty.contains(&part.page()) || matches!(part, ChangeKind::Cut { .. }) {
                    part.apply(&mut self.durable);
                } else {
                    rest.push(Change { what: part, ..change.clone() });
                }
            }
        }
        self.changes = rest;
    }

    pub(super) fn forget(&mut self, covered: &BTreeSet<usize>) {
        for change in self.changes.iter_mut().filter(|change| covered.contains(&change.call)) {
            change.state = State::Forgotten;
        }
    }

    /// What may be left of the file.
    pub(super) fn remaining(&self, random: &mut Random) -> Vec<u8> {
        let survival = Survival::draw(random);
        let mut survivors: Vec<&Change> =
            self.changes.iter().filter(|_| survival.keeps(random)).collect();
        if survival == Survival::AnyInAnyOrder {
            random.shuffle(&mut survivors);
        }
        let mut remaining = self.durable.clone();
        for change in survivors {
            if survival != Survival::All && random.chance(30) {
                change.what.some_sectors(random).iter().for_each(|part| part.apply(&mut remaining));
            } else {
                change.what.apply(&mut remaining);
            }
        }
        if remaining.len() > self.durable.len() && random.chance(20) {
            remaining.truncate(self.durable.len());
        } else if random.chance(20) {
            let longest = self.changes.iter().map(|change| change.what.end()).max().unwrap_or(0);
            remaining.resize(remaining.len().max(longest), 0);
        }
        remaining
    }
}

impl ChangeKind {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            ChangeKind::Cut { length } => content.resize(*length as usize, 0),
            ChangeKind::Write { offset, data } => {
                let (start, end) = (*offset as usize, self.end());
                content.resize(content.len().max(end), 0);
                content[start..end].copy_from_slice(data);
            }
        }
    }

    fn end(&self) -> usize {
        match self {
            ChangeKind::Cut { length } => *length as usize,
            ChangeKind::Write { offset, data } => *offset as usize + data.len(),
        }
    }

    fn page(&self) -> u64 {
        match self {
            ChangeKind::Cut { length: offset } | ChangeKind::Write { offset, .. } => offset / PAGE,
        }
    }

    fn pages(&self) -> impl Iterator<Item = u64> + use<> {
        let last = match self {
            ChangeKind::Cut { .. } => self.page(),
            ChangeKind::Write { .. } => (self.end().max(1) as u64 - 1) / PAGE,
        };
        self.page()..=last
    }

    /// The same, split at page boundaries.
    fn by_page(&self) -> Vec<ChangeKind> {
        self.chunks(PAGE as usize)
    }

    /// Some of its sectors.
    fn some_sectors(&self, random: &mut Random) -> Vec<ChangeKind> {
        let mut sectors = self.chunks(SECTOR);
        sectors.retain(|_| random.chance(50));
        sectors
    }

    fn chunks(&self, size: usize) -> Vec<ChangeKind> {
        let ChangeKind::Write { offset: start, data } = self else { return vec![self.clone()] };
        let (mut offset, mut rest) = (*start as usize, &data[..]);
        let mut chunks = Vec::new();
        while !rest.is_empty() {
            let (chunk, after) = rest.split_at((size - offset % size).min(rest.len()));
            chunks.push(ChangeKind::Write { offset: offset as u64, data: chunk.into() });
            (offset, rest) = (offset + chunk.len(), after);
        }
        chunks
    }
}
