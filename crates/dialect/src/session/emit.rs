//! Writes a repaired file: what nobody touched as it was, byte for byte.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use foxwedge_core::{Repair, Span};

use super::{
    Session,
    lines::{Container, State},
    rewritten::{Piece, Rewritten},
};
use crate::splice::Chunk;

/// What changes about the records of a file.
#[derive(Debug, Default)]
pub(super) struct Edits {
    /// Records that are written anew; nothing for one that goes.
    pub(super) changed: HashMap<u32, Vec<Chunk>>,
    /// New records behind old ones.
    pub(super) behind: HashMap<u32, Vec<Vec<Chunk>>>,
    /// New records before the conversation.
    pub(super) first: Vec<Vec<Chunk>>,
    /// New records at the end.
    pub(super) last: Vec<Vec<Chunk>>,
}

/// Writes the file.
pub(super) fn emit<'a>(session: &Session<'a>, repair: &Repair<'a>, edits: Edits) -> Rewritten<'a> {
    emit_mending(session, mended(session, repair), edits)
}

/// Writes the file and mends some of its lines.
pub(super) fn emit_mending<'a>(
    session: &Session<'a>,
    mended: HashSet<u32>,
    edits: Edits,
) -> Rewritten<'a> {
    let emission = Emission { session, edits, mended };
    match session.log.container {
        Container::Lines => emission.lines(),
        Container::List(list) => emission.list(list),
    }
}

/// Lines whose bytes are mended.
fn mended(session: &Session<'_>, repair: &Repair<'_>) -> HashSet<u32> {
    let own = session.draft().body.flaws.len() - session.flaw_lines.len();
    let line = |flaw: &usize| session.flaw_lines.get(flaw.checked_sub(own)?).copied();
    repair.body.mended.iter().filter_map(line).collect()
}

struct Emission<'e, 'a> {
    session: &'e Session<'a>,
    edits: Edits,
    mended: HashSet<u32>,
}

impl<'a> Emission<'_, 'a> {
    fn lines(mut self) -> Rewritten<'a> {
        let log = &self.session.log;
        let head = self.session.chain.records.iter().min();
        let head = head.map_or(0, |&first| log.records[first as usize].line);
        let mut out = Out { pieces: Vec::new(), bytes: log.bytes };
        let mut next = 0;
        for (line, range) in raw_lines(log.bytes) {
            if line == head {
                std::mem::take(&mut self.edits.first).into_iter().for_each(|new| out.record(new));
            }
            let first = next;
            while log.records.get(next).is_some_and(|record| record.line == line) {
                next += 1;
            }
            let records = first..next;
            let parted =
                records.len() > 1 && records.clone().any(|record| self.is_followed(record));
            let changed = parted || records.clone().any(|record| self.is_changed(record));
            let same = !changed && !self.mended.contains(&line);
            if same {
                // What follows gets a line of its own, whatever a crash left at the end.
                let ends = records.is_empty() && self.edits.last.is_empty();
                if ends { out.raw(range) } else { out.line(range) }
            }
            for record in records {
                if !same {
                    out.record(self.spell(record));
                }
                self.behind(record).into_iter().for_each(|new| out.record(new));
            }
        }
        std::mem::take(&mut self.edits.last).into_iter().for_each(|new| out.record(new));
        Rewritten { bytes: log.bytes, source: log.source, pieces: out.pieces }
    }

    /// Writes a list with its brackets, in the spacing of the original.
    fn list(mut self, list: Span) -> Rewritten<'a> {
        let log = &self.session.log;
        let is_whole = |at: usize| log.records.get(at).is_some_and(|it| it.state == State::Whole);
        let span = |at: usize| log.records.get(at).map_or(Span::NOWHERE, |it| it.span);
        let count = log.records.len();
        let pair = (1..count).find(|&at| is_whole(at - 1) && is_whole(at));
        let gap = pair.map_or(Piece::Text(",".to_owned()), |at| {
            Piece::Read(Span { start: span(at - 1).end, end: span(at).start })
        });
        let start = if is_whole(0) { span(0).start } else { list.start + 1 };
        let mut out = Out { pieces: Vec::new(), bytes: log.bytes };
        out.pieces.push(Piece::Read(Span { start: 0, end: start }));
        // A torn end is no element: it stays or goes with what stands behind the list.
        let torn_end = count > 0 && !is_whole(count - 1);
        let elements = if torn_end { count - 1 } else { count };
        // Before the conversation, but behind what a truncation or a summary took away.
        let head = self.session.chain.records.iter().min().map_or(0, |&first| first as usize);
        let mut records = Vec::new();
        for record in 0..elements {
            if record == head {
                records.append(&mut self.edits.first);
            }
            records.push(self.spell(record));
            records.append(&mut self.behind(record));
        }
        records.append(&mut self.edits.first);
        records.retain(|record| !record.is_empty());
        for (at, record) in records.into_iter().enumerate() {
            if at > 0 {
                out.pieces.push(gap.clone());
            }
            out.pieces.extend(record.into_iter().map(Piece::from));
        }
        let last = (0..elements).rev().find(|&at| is_whole(at));
        let last = last.map_or(list.start + 1, |at| span(at).end);
        let end = u32::try_from(log.source.len()).unwrap_or(u32::MAX);
        let mended = torn_end && self.mended.contains(&log.records[count - 1].line);
        match mended {
            // The object around it ends with it.
            true if log.source.trim_start().starts_with('{') => {
                out.pieces.push(Piece::Text("]}\n".to_owned()));
            }
            true => out.pieces.push(Piece::Text("]\n".to_owned())),
            false => out.pieces.push(Piece::Read(Span { start: last, end })),
        }
        Rewritten { bytes: log.bytes, source: log.source, pieces: out.pieces }
    }

    fn is_changed(&self, record: usize) -> bool {
        u32::try_from(record).is_ok_and(|record| self.edits.changed.contains_key(&record))
    }

    fn is_followed(&self, record: usize) -> bool {
        u32::try_from(record).is_ok_and(|record| self.edits.behind.contains_key(&record))
    }

    fn spell(&mut self, record: usize) -> Vec<Chunk> {
        let known = self.session.log.records[record];
        let at = u32::try_from(record).unwrap_or(u32::MAX);
        match self.edits.changed.remove(&at) {
            Some(chunks) => chunks,
            None if known.state == State::Torn && self.mended.contains(&known.line) => Vec::new(),
            None => vec![Chunk::Copy(known.span)],
        }
    }

    fn behind(&mut self, record: usize) -> Vec<Vec<Chunk>> {
        let at = u32::try_from(record).unwrap_or(u32::MAX);
        self.edits.behind.remove(&at).unwrap_or_default()
    }
}

/// The lines of a file with their line ends.
fn raw_lines(bytes: &[u8]) -> impl Iterator<Item = (u32, Range<usize>)> {
    let mut start = 0;
    (0..).zip(std::iter::from_fn(move || {
        let rest = bytes.get(start..).filter(|rest| !rest.is_empty())?;
        let end = start + memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        let line = start..end;
        start = end;
        Some(line)
    }))
}

impl From<Chunk> for Piece {
    fn from(chunk: Chunk) -> Piece {
        match chunk {
            Chunk::Copy(span) => Piece::Read(span),
            Chunk::Whole(span) => Piece::Whole(span),
            Chunk::Text(text) => Piece::Text(text),
        }
    }
}

struct Out<'b> {
    pieces: Vec<Piece>,
    bytes: &'b [u8],
}

impl Out<'_> {
    /// Bytes of the file as they were.
    fn raw(&mut self, range: Range<usize>) {
        match self.pieces.last_mut() {
            Some(Piece::Raw(last)) if last.end == range.start => last.end = range.end,
            _ => self.pieces.push(Piece::Raw(range)),
        }
    }

    /// A line of the file; the last one may lack its end, and gets it.
    fn line(&mut self, range: Range<usize>) {
        let ended = self.bytes.get(range.clone()).is_some_and(|line| line.ends_with(b"\n"));
        self.raw(range);
        if !ended {
            self.pieces.push(Piece::Text("\n".to_owned()));
        }
    }

    /// A record on a line of its own.
    fn record(&mut self, chunks: Vec<Chunk>) {
        if chunks.is_empty() {
            return;
        }
        self.pieces.extend(chunks.into_iter().map(Piece::from));
        self.pieces.push(Piece::Text("\n".to_owned()));
    }
}
