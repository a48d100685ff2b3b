//! Files that are one list: its elements, and what can be saved of a list that is broken.

use foxwedge_core::{Draft, Span};

use super::{
    Agent, Text,
    about::About,
    lines::{Container, LineCount, Raw, State, next_whole, rest},
    log::{Log, ReadRecord, Reading, malformed},
};
use crate::{
    error::ReadError,
    json::{Scanner, Trouble},
    outline::Want,
};

/// Reads a file whose records are the elements of a list that begins at a place.
pub(super) fn by_element<'a>(
    text: &'a Text<'_>,
    agent: Agent,
    want: Want,
    list: usize,
    read: ReadRecord<'a>,
) -> Result<(Log<'a>, Draft<'a>, About<'a>), ReadError> {
    let mut reading = Reading::new(text, agent, want, read);
    let source = text.as_str();
    if source.trim().is_empty() {
        return Ok(reading.finish(text));
    }
    check_head(source, agent, list)?;
    let mut elements = Elements {
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
        let torn = rest(source, end.unwrap_or(last));
        let line = elements.lines.at(torn.start as usize);
        reading.torn_list(Raw { span: torn, line, state: State::Torn }, true);
    }
    let end = end.filter(|_| closed).unwrap_or(source.len());
    reading.log.container = Container::List(Span::new(list, end));
    Ok(reading.finish(text))
}

/// What stands before a list has to be nothing, or the beginning of the object around it.
fn check_head(source: &str, agent: Agent, list: usize) -> Result<(), ReadError> {
    let head = source.get(..list).unwrap_or("").trim();
    let begins = source.get(list..).is_some_and(|rest| rest.starts_with('['));
    let wrapped = || agent != Agent::Cline && is_whole(&format!("{head}[]}}"));
    if begins && (head.is_empty() || wrapped()) {
        return Ok(());
    }
    let what = "the file does not begin with a list of messages".to_owned();
    Err(ReadError::Malformed { at: 0, place: None, what })
}

fn is_whole(text: &str) -> bool {
    let mut scan = Scanner::new(text);
    scan.skip().and_then(|_| scan.end()).is_ok()
}

/// How many times as much as there is may be read in search of whole elements.
const BUDGET: usize = 8;

/// The elements of a list, one after another.
struct Elements<'s> {
    source: &'s str,
    is_record: fn(&str, Span) -> bool,
    at: usize,
    lines: LineCount<'s>,
    /// What may still be read in search of whole elements.
    budget: usize,
}

impl<'a> Elements<'a> {
    /// Reads all elements; says where the list ends, if it does.
    fn read(&mut self, reading: &mut Reading<'a>) -> Result<Option<usize>, ReadError> {
        self.skip_space();
        if self.next_byte() == Some(b']') {
            return Ok(Some(self.at + 1));
        }
        loop {
            let whole = self.element(reading)?;
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
            if !self.go_on(reading) {
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
    fn element(&mut self, reading: &mut Reading<'a>) -> Result<bool, ReadError> {
        let start = self.at;
        let mut scan = Scanner::within(self.source, Span::new(start, self.source.len()));
        if scan.shape().is_err() {
            return Ok(false);
        }
        let line = self.lines.at(start);
        let read = reading.element(&mut scan, start, line);
        let end = scan.position();
        if let Err(trouble) = read {
            // It may be JSON, but not as we know it.
            let mut again = Scanner::within(self.source, Span::new(start, self.source.len()));
            if again.skip().as_ref().map_or_else(Trouble::is_depth, |_| true) {
                let raw = Raw { span: Span::new(start, start), line, state: State::Whole };
                return Err(malformed(raw, trouble));
            }
            return Ok(false);
        }
        reading.lone.append(&mut scan.lone);
        self.at = end;
        Ok(true)
    }

    /// Goes on with the next whole message behind something that is none.
    fn go_on(&mut self, reading: &mut Reading<'a>) -> bool {
        let torn = rest(self.source, self.at);
        let within = Span { start: torn.start, end: self.end() };
        let Some(next) = next_whole(self.source, within, self.is_record, &mut self.budget) else {
            return false;
        };
        let held = self.source.get(torn.start as usize..next.start as usize).unwrap_or("");
        let held = held.trim_end_matches([',', ' ', '\t', '\r', '\n']);
        let span = Span::new(torn.start as usize, torn.start as usize + held.len());
        let line = self.lines.at(span.start as usize);
        reading.torn_list(Raw { span, line, state: State::Torn }, false);
        self.at = next.start as usize;
        true
    }

    fn end(&self) -> u32 {
        u32::try_from(self.source.len()).unwrap_or(u32::MAX)
    }
}
