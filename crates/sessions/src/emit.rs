//! Writes a rewritten file. Unchanged lines keep their bytes.

use std::{
    collections::{HashMap, HashSet},
    ops::Range,
};

use foxwedge_core::{Repair, Span};

use super::{
    ParsedSession,
    lines::{RecordContainer, RecordState},
    rewritten_file::{FilePiece, RewrittenFile},
};
use foxwedge_json::OutputChunk;

/// The changes to the records of a file.
#[derive(Debug, Default)]
pub(super) struct FileEdits {
    /// Records with new content; empty for a record that is removed.
    pub(super) changed: HashMap<u32, Vec<OutputChunk>>,
    /// New records after existing ones.
    pub(super) behind: HashMap<u32, Vec<Vec<OutputChunk>>>,
    /// New records before the conversation.
    pub(super) first: Vec<Vec<OutputChunk>>,
    /// New records at the end.
    pub(super) last: Vec<Vec<OutputChunk>>,
}

/// Writes the file.
pub(super) fn emit<'a>(
    session: &ParsedSession<'a>,
    repair: &Repair<'a>,
    edits: FileEdits,
) -> RewrittenFile<'a> {
    emit_repairing_lines(session, &lines_to_repair(session, repair), edits)
}

/// Writes the file and repairs the given lines.
pub(super) fn emit_repairing_lines<'a>(
    session: &ParsedSession<'a>,
    repaired_lines: &RepairedLines,
    edits: FileEdits,
) -> RewrittenFile<'a> {
    let emitter = FileEmitter { session, edits, repaired_lines };
    match session.log.container {
        RecordContainer::Lines => emitter.emit_lines(),
        RecordContainer::List(list) => emitter.emit_list(list),
    }
}

/// The rule of torn lines.
const TORN_LINE: u16 = 801;

/// The lines whose bytes are repaired.
#[derive(Debug, Default)]
pub(super) struct RepairedLines {
    all: HashSet<u32>,
    /// Those that lose what is torn in them. Of the others only the encoding is repaired.
    without_torn: HashSet<u32>,
}

fn lines_to_repair(session: &ParsedSession<'_>, repair: &Repair<'_>) -> RepairedLines {
    let defects = &session.draft().body.defects;
    let own = defects.len() - session.defect_lines.len();
    let mut lines = RepairedLines::default();
    for &defect in &repair.body.fixed_defects {
        let line = defect.checked_sub(own).and_then(|at| session.defect_lines.get(at));
        lines.all.extend(line);
        if defects.get(defect).is_some_and(|defect| defect.code == TORN_LINE) {
            lines.without_torn.extend(line);
        }
    }
    lines
}

struct FileEmitter<'e, 'a> {
    session: &'e ParsedSession<'a>,
    edits: FileEdits,
    repaired_lines: &'e RepairedLines,
}

impl<'a> FileEmitter<'_, 'a> {
    fn emit_lines(mut self) -> RewrittenFile<'a> {
        let log = &self.session.log;
        let head = self.session.chain.records.iter().min();
        let head = head.map_or(0, |&first| log.records[first as usize].line);
        let mut out = FilePieceBuilder { pieces: Vec::new(), bytes: log.bytes };
        let mut next = 0;
        let mut readable_lines = raw_lines(log.source.as_bytes());
        for (line, range) in raw_lines(log.bytes) {
            let readable = readable_lines.next().map(|(_, range)| range);
            if line == head {
                std::mem::take(&mut self.edits.first)
                    .into_iter()
                    .for_each(|new| out.push_record(new));
            }
            let first = next;
            while log.records.get(next).is_some_and(|record| record.line == line) {
                next += 1;
            }
            let records = first..next;
            let split = records.len() > 1 && records.clone().any(|record| self.is_followed(record));
            let changed = split || records.clone().any(|record| self.is_changed(record));
            let same = !changed && !self.repaired_lines.all.contains(&line);
            // What is torn in a line stays unless an edit says that it is removed.
            let keeps_torn = !same
                && !changed
                && !self.repaired_lines.without_torn.contains(&line)
                && records.clone().any(|it| log.records[it].state != RecordState::Whole);
            let kept = readable.filter(|_| keeps_torn);
            if same {
                // Following records start on a new line, even if a crash cut off the last line.
                let ends = records.is_empty() && self.edits.last.is_empty();
                if ends { out.push_raw(range) } else { out.push_line(range) }
            }
            if let Some(range) = &kept {
                let text = log.source.get(range.clone()).unwrap_or_default().trim_end();
                let span = Span::new(range.start, range.start + text.len());
                out.push_record(vec![OutputChunk::Copy(span)]);
            }
            for record in records {
                if !same && kept.is_none() {
                    out.push_record(self.take_record(record));
                }
                self.take_following(record).into_iter().for_each(|new| out.push_record(new));
            }
        }
        std::mem::take(&mut self.edits.last).into_iter().for_each(|new| out.push_record(new));
        RewrittenFile { bytes: log.bytes, source: log.source, pieces: out.pieces }
    }

    /// Writes a list with its brackets and its original spacing.
    fn emit_list(mut self, list: Span) -> RewrittenFile<'a> {
        let log = &self.session.log;
        let is_whole =
            |at: usize| log.records.get(at).is_some_and(|it| it.state == RecordState::Whole);
        let span = |at: usize| log.records.get(at).map_or(Span::NOWHERE, |it| it.span);
        let count = log.records.len();
        let pair = (1..count).find(|&at| is_whole(at - 1) && is_whole(at));
        let gap = pair.map_or(FilePiece::Text(",".to_owned()), |at| {
            FilePiece::Read(Span { start: span(at - 1).end, end: span(at).start })
        });
        let start = if is_whole(0) { span(0).start } else { list.start + 1 };
        let mut out = FilePieceBuilder { pieces: Vec::new(), bytes: log.bytes };
        out.pieces.push(FilePiece::Read(Span { start: 0, end: start }));
        // A torn end is not an element: it stays or goes with the text after the list.
        let torn_end = count > 0 && !is_whole(count - 1);
        let elements = if torn_end { count - 1 } else { count };
        // Before the conversation, but after messages hidden by a truncation or a summary.
        let head = self.session.chain.records.iter().min().map_or(0, |&first| first as usize);
        let mut records = Vec::new();
        for record in 0..elements {
            if record == head {
                records.append(&mut self.edits.first);
            }
            records.push(self.take_record(record));
            records.append(&mut self.take_following(record));
        }
        records.append(&mut self.edits.first);
        records.retain(|record| !record.is_empty());
        for (at, record) in records.into_iter().enumerate() {
            if at > 0 {
                out.pieces.push(gap.clone());
            }
            out.pieces.extend(record.into_iter().map(FilePiece::from));
        }
        let last = (0..elements).rev().find(|&at| is_whole(at));
        let last = last.map_or(list.start + 1, |at| span(at).end);
        let end = u32::try_from(log.source.len()).unwrap_or(u32::MAX);
        let repaired =
            torn_end && self.repaired_lines.without_torn.contains(&log.records[count - 1].line);
        match repaired {
            // Closes the surrounding object as well.
            true if log.source.trim_start().starts_with('{') => {
                out.pieces.push(FilePiece::Text("]}\n".to_owned()));
            }
            true => out.pieces.push(FilePiece::Text("]\n".to_owned())),
            false => out.pieces.push(FilePiece::Read(Span { start: last, end })),
        }
        RewrittenFile { bytes: log.bytes, source: log.source, pieces: out.pieces }
    }

    fn is_changed(&self, record: usize) -> bool {
        u32::try_from(record).is_ok_and(|record| self.edits.changed.contains_key(&record))
    }

    fn is_followed(&self, record: usize) -> bool {
        u32::try_from(record).is_ok_and(|record| self.edits.behind.contains_key(&record))
    }

    fn take_record(&mut self, record: usize) -> Vec<OutputChunk> {
        let original = self.session.log.records[record];
        let at = u32::try_from(record).unwrap_or(u32::MAX);
        match self.edits.changed.remove(&at) {
            Some(chunks) => chunks,
            None if original.state == RecordState::Torn
                && self.repaired_lines.without_torn.contains(&original.line) =>
            {
                Vec::new()
            }
            None => vec![OutputChunk::Copy(original.span)],
        }
    }

    fn take_following(&mut self, record: usize) -> Vec<Vec<OutputChunk>> {
        let at = u32::try_from(record).unwrap_or(u32::MAX);
        self.edits.behind.remove(&at).unwrap_or_default()
    }
}

/// The lines of a file, including their line endings.
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

impl From<OutputChunk> for FilePiece {
    fn from(chunk: OutputChunk) -> FilePiece {
        match chunk {
            OutputChunk::Copy(span) => FilePiece::Read(span),
            OutputChunk::CopyRepaired(span) => FilePiece::Whole(span),
            OutputChunk::Text(text) => FilePiece::Text(text),
        }
    }
}

struct FilePieceBuilder<'b> {
    pieces: Vec<FilePiece>,
    bytes: &'b [u8],
}

impl FilePieceBuilder<'_> {
    /// Adds original bytes of the file.
    fn push_raw(&mut self, range: Range<usize>) {
        match self.pieces.last_mut() {
            Some(FilePiece::Raw(last)) if last.end == range.start => last.end = range.end,
            _ => self.pieces.push(FilePiece::Raw(range)),
        }
    }

    /// Adds a line of the file, and a line ending if the last line has none.
    fn push_line(&mut self, range: Range<usize>) {
        let ended = self.bytes.get(range.clone()).is_some_and(|line| line.ends_with(b"\n"));
        self.push_raw(range);
        if !ended {
            self.pieces.push(FilePiece::Text("\n".to_owned()));
        }
    }

    /// Adds a record on a line of its own.
    fn push_record(&mut self, chunks: Vec<OutputChunk>) {
        if chunks.is_empty() {
            return;
        }
        self.pieces.extend(chunks.into_iter().map(FilePiece::from));
        self.pieces.push(FilePiece::Text("\n".to_owned()));
    }
}
