//! Reads files that are one list: its elements, and the intact elements of a broken list.

use foxwedge_core::{Draft, Span};

use super::{
    SessionAgent, SessionText,
    lines::{LineCount, RawRecord, RecordContainer, RecordState, next_whole, torn_rest},
    metadata::SessionMetadata,
    records::{RecordFormat, SessionReader, SessionRecords, malformed},
};
use foxwedge_formats::{OutlineOptions, ReadError};
use foxwedge_json::{JsonScanner, ScanError};

/// Reads a file whose records are the elements of the list that begins at `list`.
pub(super) fn read_elements<'a>(
    text: &'a SessionText<'_>,
    agent: SessionAgent,
    options: OutlineOptions,
    list: usize,
    format: RecordFormat<'a>,
) -> Result<(SessionRecords<'a>, Draft<'a>, SessionMetadata<'a>), ReadError> {
    let mut reader = SessionReader::new(text, agent, options, format);
    let source = text.as_str();
    if source.trim().is_empty() {
        return Ok(reader.finish(text));
    }
    check_head(source, list)?;
    let mut elements = ListElementReader {
        source,
        list,
        is_record: format.is_record,
        at: list + 1,
        lines: LineCount::new(source),
        budget: source.len().saturating_mul(BUDGET),
    };
    let end = elements.read(&mut reader)?;
    let closed = end.is_some_and(|end| elements.closes(end));
    if !closed {
        let last = reader.log.records.last().map_or(list + 1, |last| last.span.end as usize);
        let torn = torn_rest(source, end.unwrap_or(last));
        let line = elements.lines.at(torn.start as usize);
        reader.note_torn_list(RawRecord { span: torn, line, state: RecordState::Torn }, true);
    }
    let end = end.filter(|_| closed).unwrap_or(source.len());
    reader.log.container = RecordContainer::List(Span::new(list, end));
    Ok(reader.finish(text))
}

/// Checks that nothing precedes the list, or only the beginning of the object around it.
fn check_head(source: &str, list: usize) -> Result<(), ReadError> {
    let head = source.get(..list).unwrap_or("").trim();
    let begins = source.get(list..).is_some_and(|rest| rest.starts_with('['));
    let wrapped = || is_whole(&format!("{head}[]}}"));
    if begins && (head.is_empty() || wrapped()) {
        return Ok(());
    }
    let problem = "the file does not begin with a list of messages".to_owned();
    Err(ReadError::Malformed { at: 0, place: None, what: problem })
}

fn is_whole(text: &str) -> bool {
    let mut scan = JsonScanner::new(text);
    scan.skip().and_then(|_| scan.end()).is_ok()
}

/// Limit for the search for intact elements, as a multiple of the file size.
const BUDGET: usize = 8;

/// Reads the elements of a list, one after another.
struct ListElementReader<'s> {
    source: &'s str,
    /// Where the list begins.
    list: usize,
    is_record: fn(&str, Span) -> bool,
    at: usize,
    lines: LineCount<'s>,
    /// How many bytes may still be read in search of intact elements.
    budget: usize,
}

impl<'a> ListElementReader<'a> {
    /// Reads all elements. Returns where the list ends, if it does.
    fn read(&mut self, reader: &mut SessionReader<'a>) -> Result<Option<usize>, ReadError> {
        self.skip_space();
        let mut is_empty = self.next_byte() == Some(b']');
        loop {
            let whole = std::mem::take(&mut is_empty) || self.read_element(reader)?;
            self.skip_space();
            match self.next_byte().filter(|_| whole) {
                Some(b']') => {
                    let end = self.at + 1;
                    // Intact messages may follow an end that was written too early.
                    if self.closes(end) || !self.skip_to_next_record(reader) {
                        return Ok(Some(end));
                    }
                    continue;
                }
                Some(b',') => {
                    let comma = self.at;
                    self.at += 1;
                    self.skip_space();
                    if self.next_byte() != Some(b']') {
                        continue;
                    }
                    // Nothing follows the comma.
                    self.at = comma;
                }
                _ => {}
            }
            if !self.skip_to_next_record(reader) {
                return Ok(None);
            }
        }
    }

    /// Whether the file is complete if the list ends here.
    fn closes(&mut self, end: usize) -> bool {
        let tail = self.source.get(end..).unwrap_or("");
        // The object around the list must be complete, too.
        match self.source.get(..self.list).unwrap_or("").trim() {
            "" => tail.trim().is_empty(),
            around => {
                self.budget = self.budget.saturating_sub(tail.len());
                is_whole(&format!("{around}[]{tail}"))
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

    /// Reads an element. Returns whether it was intact.
    fn read_element(&mut self, reader: &mut SessionReader<'a>) -> Result<bool, ReadError> {
        let start = self.at;
        let mut scan = JsonScanner::within(self.source, Span::new(start, self.source.len()));
        if scan.shape().is_err() {
            return Ok(false);
        }
        let line = self.lines.at(start);
        let read = reader.read_element(&mut scan, start, line);
        let end = scan.position();
        if let Err(error) = read {
            // It may be valid JSON in an unknown form.
            let mut again = JsonScanner::within(self.source, Span::new(start, self.source.len()));
            if again.skip().as_ref().map_or_else(ScanError::is_too_deep, |_| true) {
                let raw =
                    RawRecord { span: Span::new(start, start), line, state: RecordState::Whole };
                return Err(malformed(raw, error));
            }
            return Ok(false);
        }
        reader.lone_surrogates.append(&mut scan.lone_surrogates);
        self.at = end;
        Ok(true)
    }

    /// Skips to the next intact message.
    fn skip_to_next_record(&mut self, reader: &mut SessionReader<'a>) -> bool {
        let torn = torn_rest(self.source, self.at);
        let within = Span { start: torn.start, end: self.end() };
        let Some(next) = next_whole(self.source, within, self.is_record, &mut self.budget) else {
            return false;
        };
        let torn_text = self.source.get(torn.start as usize..next.start as usize).unwrap_or("");
        let torn_text = torn_text.trim_end_matches([',', ' ', '\t', '\r', '\n']);
        let span = Span::new(torn.start as usize, torn.start as usize + torn_text.len());
        let line = self.lines.at(span.start as usize);
        reader.note_torn_list(RawRecord { span, line, state: RecordState::Torn }, false);
        self.at = next.start as usize;
        true
    }

    fn end(&self) -> u32 {
        u32::try_from(self.source.len()).unwrap_or(u32::MAX)
    }
}
