//! One file: what is on disk for sure, and what was written since.

use std::collections::BTreeSet;

use super::{Luck, State};
use crate::{power::trace::Refused, random::Random};

const SECTOR: usize = 512;
const PAGE: u64 = 4_096;

#[derive(Default)]
pub(super) struct File {
    /// What is on disk for sure.
    pub(super) durable: Vec<u8>,
    pub(super) changes: Vec<Change>,
}

/// Something that was written and not synced.
#[derive(Clone)]
pub(super) struct Change {
    pub(super) call: usize,
    pub(super) what: What,
    pub(super) state: State,
}

#[derive(Clone)]
pub(super) enum What {
    Write { offset: u64, data: Box<[u8]> },
    Cut { length: u64 },
}

impl File {
    pub(super) fn finish(&mut self, call: usize, result: Result<u64, Refused>) {
        let Some(place) = self.changes.iter().position(|change| change.call == call) else {
            return;
        };
        match (result, &mut self.changes[place].what) {
            // What was refused was not done.
            (Err(Refused), _) => drop(self.changes.remove(place)),
            (Ok(count), What::Write { data, .. }) => {
                assert_eq!(count, data.len() as u64, "half of it was written");
                self.changes[place].state = State::Done;
            }
            (Ok(_), What::Cut { .. }) => self.changes[place].state = State::Done,
        }
    }

    /// A sync brought pages to disk: those that were touched since the last one.
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
                if dirty.contains(&part.page()) || matches!(part, What::Cut { .. }) {
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
    pub(super) fn left(&self, random: &mut Random) -> Vec<u8> {
        let luck = Luck::draw(random);
        let mut kept: Vec<&Change> = self.changes.iter().filter(|_| luck.keeps(random)).collect();
        if luck == Luck::AnyInAnyOrder {
            random.shuffle(&mut kept);
        }
        let mut left = self.durable.clone();
        for change in kept {
            if luck != Luck::All && random.chance(30) {
                change.what.torn(random).iter().for_each(|part| part.apply(&mut left));
            } else {
                change.what.apply(&mut left);
            }
        }
        if left.len() > self.durable.len() && random.chance(20) {
            left.truncate(self.durable.len());
        } else if random.chance(20) {
            let longest = self.changes.iter().map(|change| change.what.end()).max().unwrap_or(0);
            left.resize(left.len().max(longest), 0);
        }
        left
    }
}

impl What {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            What::Cut { length } => content.resize(*length as usize, 0),
            What::Write { offset, data } => {
                let (start, end) = (*offset as usize, self.end());
                content.resize(content.len().max(end), 0);
                content[start..end].copy_from_slice(data);
            }
        }
    }

    fn end(&self) -> usize {
        match self {
            What::Cut { length } => *length as usize,
            What::Write { offset, data } => *offset as usize + data.len(),
        }
    }

    fn page(&self) -> u64 {
        match self {
            What::Cut { length: place } | What::Write { offset: place, .. } => place / PAGE,
        }
    }

    fn pages(&self) -> impl Iterator<Item = u64> + use<> {
        let last = match self {
            What::Cut { .. } => self.page(),
            What::Write { .. } => (self.end().max(1) as u64 - 1) / PAGE,
        };
        self.page()..=last
    }

    /// The same, cut at the borders of pages.
    fn by_page(&self) -> Vec<What> {
        self.pieces(PAGE as usize)
    }

    /// Some of its sectors.
    fn torn(&self, random: &mut Random) -> Vec<What> {
        let mut sectors = self.pieces(SECTOR);
        sectors.retain(|_| random.chance(50));
        sectors
    }

    fn pieces(&self, size: usize) -> Vec<What> {
        let What::Write { offset, data } = self else { return vec![self.clone()] };
        let (mut place, mut rest) = (*offset as usize, &data[..]);
        let mut pieces = Vec::new();
        while !rest.is_empty() {
            let (piece, behind) = rest.split_at((size - place % size).min(rest.len()));
            pieces.push(What::Write { offset: place as u64, data: piece.into() });
            (place, rest) = (place + piece.len(), behind);
        }
        pieces
    }
}
