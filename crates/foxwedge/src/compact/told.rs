//! All there is to say about a compaction, as data: reports read it and nothing else.

use std::ops::Range;

use foxwedge_core::{
    Draft, EditLog, Kind, Profile,
    compact::{Counter, Hold, unit_at, units, wish},
    pair,
};
use foxwedge_dialect::{
    Reading,
    compact::{Became, Compacted, weigh},
    read, want,
};

use super::limits::Room;
use crate::preview;

/// A compaction, made or only planned.
pub(crate) struct Told<'t> {
    pub(crate) path: &'t str,
    pub(crate) format: &'static str,
    pub(crate) profile: Profile,
    pub(crate) room: Room,
    /// The input.
    pub(crate) reading: &'t Reading<'t>,
    pub(crate) compacted: &'t Compacted<'t>,
    /// Tokens that are left of each message of the input.
    pub(crate) left: Vec<u64>,
    pub(crate) pins: &'t [usize],
    /// What was repaired in the file before it became the input.
    pub(crate) mended: &'t EditLog,
    pub(crate) dry_run: bool,
}

/// A message of the user that is not there any more.
pub(crate) struct Wish {
    pub(crate) message: usize,
    /// How it began.
    pub(crate) excerpt: String,
}

impl<'t> Told<'t> {
    /// The outline of the input.
    pub(crate) fn draft(&self) -> &'t Draft<'t> {
        &self.reading.draft
    }

    /// Whether there was nothing to do: it was small enough, or nothing could go.
    pub(crate) fn is_idle(&self) -> bool {
        let account = &self.compacted.account;
        let done = account.stages.iter().any(|s| !s.gone.is_empty() || !s.shrunk.is_empty());
        let fits = self.room.limits.is_none_or(|limits| account.before.tokens <= limits.most());
        !self.compacted.is_changed() || !done && fits
    }

    /// Everything that was repaired first.
    pub(crate) fn repaired(&self) -> EditLog {
        let mut repaired = self.mended.clone();
        repaired.append(self.compacted.account.repaired.clone());
        repaired
    }

    /// Whether something was written, or would have been.
    pub(crate) fn is_changed(&self) -> bool {
        !self.is_idle()
    }

    /// What the user said and is not there any more, by what became of it.
    pub(crate) fn lost_wishes(&self, became: Became) -> Vec<Wish> {
        let messages = self.compacted.account.messages.iter().enumerate();
        let lost = messages.filter(|(_, (_, fate))| *fate == became);
        lost.filter_map(|(at, _)| self.wish(at)).collect()
    }

    /// What the user said in a message, if it is the user's own.
    fn wish(&self, at: usize) -> Option<Wish> {
        let part = wish(self.draft(), at)?;
        let excerpt = match part.kind {
            Kind::Text(_) => preview::text(part.span.of(self.draft().source), 60),
            _ => "(an image or a file)".to_owned(),
        };
        Some(Wish { message: at, excerpt })
    }

    /// Whether a cut in front of a message would part a unit.
    pub(crate) fn parts(&self, message: usize) -> bool {
        let units = units(self.draft(), &pair(self.draft()));
        unit_at(&units, message).is_some_and(|at| units[at].messages.start != message)
    }

    /// What had to stay, and why.
    pub(crate) fn held(&self) -> Vec<(Range<usize>, Hold)> {
        let mut held = Vec::new();
        for unit in units(self.draft(), &pair(self.draft())) {
            let pinned = self.pins.iter().any(|pin| unit.messages.contains(pin));
            let hold = match unit.hold {
                Hold::Free if pinned => Hold::Pinned,
                hold => hold,
            };
            let there = |at: usize| match self.compacted.account.messages.get(at) {
                Some((_, Became::Kept | Became::Changed)) => true,
                Some((_, Became::Gone | Became::Condensed)) | None => false,
            };
            if hold != Hold::Free && unit.messages.clone().any(there) {
                held.push((unit.messages, hold));
            }
        }
        held
    }
}

/// Tokens that are left of each message of the input.
pub(crate) fn left(
    compacted: &Compacted<'_>,
    draft: &Draft<'_>,
    profile: Profile,
    counter: &mut dyn Counter,
) -> Vec<u64> {
    let mut left = vec![0; draft.messages.len()];
    let Ok(Reading { draft: after, frame, .. }) = read(&compacted.text, draft.wire, want(profile))
    else {
        return left;
    };
    let weights = weigh(&after, frame, counter);
    for (at, line) in compacted.messages.iter().enumerate() {
        if let Some(tokens) = line.origin.and_then(|origin| left.get_mut(origin)) {
            *tokens += weights.of_message(at);
        }
    }
    left
}

/// Ranges that follow each other, as one.
pub(crate) fn joined(ranges: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges.filter(|range| !range.is_empty()) {
        match joined.last_mut().filter(|last| last.end >= range.start && last.start <= range.start)
        {
            Some(last) => last.end = last.end.max(range.end),
            None => joined.push(range),
        }
    }
    joined
}
