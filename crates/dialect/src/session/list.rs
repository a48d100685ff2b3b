//! Files that are one list: its elements, and what can be saved of a list that is broken.

use foxwedge_core::{Draft, Span};

use super::{
    SessionAgent, SessionText,
    lines::{LineCount, RawRecord, RecordContainer, RecordState, next_whole, torn_rest},
    metadata::SessionMetadata,
    records::{ReadRecord, SessionReader, SessionRecords, malformed},
};
use crate::{
    error::ReadError,
    json::{JsonScanner, ScanError},
    outline::OutlineOptions,
};

/// Reads a file whose records are the elements of a list that begins at a place.
pub(super) fn read_elements<'a>(
    text: &'a SessionText<'_>,
    agent: SessionAgent,
    want: OutlineOptions,
    list: usize,
    read: ReadRecord<'a>,
) -> Result<(SessionRecords<'a>, Draft<'a>, SessionMetadata<'a>), ReadError> {
    let mut reading = SessionReader::new(text, agent, want, read);
    let source = text.as_str();
    if source.trim().is_empty() {
        return Ok(reading.finish(text));
    }
    check_head(source, agent, list)?;
    let mut elements = ListElementReader {
        source,
        is_record: agent.is_record(),
        at: list + 1,
        lines: LineCount::new(source),
        budget: source.len().saturating_mul(BUDGET),
    };
    let end = elements.read(&mut reading)?;
    let around = source.get(..list).unwrap_or("").trim();
    let closed = end.is_some_and(|end| match around {
        "" => source.get(end..).is_none_or(|behind| behind.trim().is_empty()),
        _ => {
            // What stands around the list has to be whole, too.
            let tail = source.get(end..).unwrap_or("");
            is_whole(&format!("{around}[]{tail}"))
        }
    });
    if !closed {
        let last = reading.log.records.last().map_or(list + 1, |last| last.span.end as usize);
        let torn = torn_rest(source, end.unwrap_or(last));
        let line = elements.lines.at(torn.start as usize);
        reading.note_torn_list(RawRecord { span: torn, line, state: RecordState::Torn }, true);
    }
    let end = end.filter(|_| closed).unwrap_or(source.len());
    reading.log.container = RecordContainer::List(Span::new(list, end));
    Ok(reading.finish(text))
}

/// What stands before a list has to be nothing, or the beginning of the object around it.
fn check_head(source: &str, agent: SessionAgent, list: usize) -> Result<(), ReadError> {
    let head = source.get(..list).unwrap_or("").trim();
    let begins = source.get(list..).is_some_and(|rest| rest.starts_with('['));
    let wrapped = || agent != SessionAgent::Cline && is_whole(&format!("{head}[]}}"));
    if begins && (head.is_empty() || wrapped()) {
        return Ok(());
    }
    let what = "the file does not begin with a list of messages".to_owned();
    Err(ReadError::Malformed { at: 0, place: None, what })
}

fn is_whole(text: &str) -> bool {
    let mut scan = JsonScanner::new(text);
    scan.skip().and_then(|_| scan.end()).is_ok()
}

/// How many times as much as there is may be read in search of whole elements.
const BUDGET: usize = 8;

/// The elements of a list, one after another.
struct ListElementReader<'s> {
    source: &'s str,
    is_record: fn(&str, Span) -> bool,
    at: usize,
    lines: LineCount<'s>,
    /// What may still be read in search of whole elements.
    budget: usize,
}

impl<'a> ListElementReader<'a> {
    /// Reads all elements; says where the list ends, if it does.
    fn read(&mut self, reading: &mut SessionReader<'a>) -> Result<Option<usize>, ReadError> {
        self.skip_space();
        if self.next_byte() == Some(b']') {
            return Ok(Some(self.at + 1));
        }
        loop {
            let whole = self.read_element(reading)?;
            self.skip_space();
            match self.next_byte().filter(|_| whole) {
                Some(b']') => return Ok(Some(self.at + 1)),
                Some(b',') => {
                    let comma = self.at;
                    self.at += 1;
                    self.skip_space();
                    if self.next_byte() != Some(b']') {
                        continue;
                    }
                    // Nothing stands behind the comma.
                    self.at = comma;
                }
                _ => {}
            }
            if !self.skip_to_next_record(reading) {
                return Ok(None);
            }
        }
    }

    fn next_byte(&self) -> Option<u8> {
        self.source.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.next_byte(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// Reads an element; says whether it was a whole one.
    fn read_element(&mut self, reading: &mut SessionReader<'a>) -> Result<bool, ReadError> {
        let start = self.at;
        let mut scan = JsonScanner::within(self.source, Span::new(start, self.source.len()));
        if scan.shape().is_err() {
            return Ok(false);
        }
        let line = self.lines.at(start);
        let read = reading.read_element(&mut scan, start, line);
        let end = scan.position();
        if let Err(trouble) = read {
            // It may be JSON, but not as we know it.
            let mut again = JsonScanner::within(self.source, Span::new(start, self.source.len()));
            if again.skip().as_ref().map_or_else(ScanError::is_too_deep, |_| true) {
                let raw =
                    RawRecord { span: Span::new(start, start), line, state: RecordState::Whole };
                return Err(malformed(raw, trouble));
            }
            return Ok(false);
        }
        reading.lone_surrogates.append(&mut scan.lone_surrogates);
        self.at = end;
        Ok(true)
    }

    /// Goes on with the next whole message behind something that is none.
    fn skip_to_next_record(&mut self, reading: &mut SessionReader<'a>) -> bool {
        let torn = torn_rest(self.source, self.at);
        let within = Span { start: torn.start, end: self.end() };
        let Some(next) = next_whole(self.source, within, self.is_record, &mut self.budget) else {
            return false;
        };
        let held = self.source.get(torn.start as usize..next.start as usize).unwrap_or("");
        let held = held.trim_end_matches([',', ' ', '\t', '\r', '\n']);
        let span = Span::new(torn.start as usize, torn.start as usize + held.len());
        let line = self.lines.at(span.start as usize);
        reading.note_torn_list(RawRecord { span, line, state: RecordState::Torn }, false);
        self.at = next.start as usize;
        true
    }

    fn end(&self) -> u32 {
        u32::try_from(self.source.len()).unwrap_or(u32::MAX)
    }
}
