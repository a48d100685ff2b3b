//! Splits a file into records: one per line, or the elements of one list.

use foxwedge_core::Span;

use foxwedge_json::{JsonScanner, ScanError};

/// How a file stores its records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RecordContainer {
    /// One record per line.
    Lines,
    /// The elements of a list. The span includes the brackets as far as they exist.
    List(Span),
}

/// A record, or what is left of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RawRecord {
    /// The bytes of the record in the file.
    pub(super) span: Span,
    /// The line number, starting at 0.
    pub(super) line: u32,
    pub(super) state: RecordState,
}

/// How complete a record is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RecordState {
    /// An intact record on a line of its own.
    Whole,
    /// An intact record that shares its line with something else.
    SharedLine,
    /// Not a record: the beginning or the end of one.
    Torn,
}

/// The lines that are not blank. The reader checks whether they are records.
pub(super) fn lines(source: &str) -> impl Iterator<Item = RawRecord> {
    let bytes = source.as_bytes();
    let mut start = 0;
    let mut line = 0;
    std::iter::from_fn(move || {
        loop {
            if start >= bytes.len() {
                return None;
            }
            let rest = bytes.get(start..)?;
            let end = start + memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let text = source.get(start..end).unwrap_or("");
            let trimmed = text.trim_start_matches([' ', '\t', '\r']);
            let from = start + (text.len() - trimmed.len());
            let upto = from + trimmed.trim_end_matches([' ', '\t', '\r']).len();
            let raw = RawRecord { span: Span::new(from, upto), line, state: RecordState::Whole };
            start = end + 1;
            line += 1;
            if upto > from {
                return Some(raw);
            }
        }
    })
}

/// Limit for the search for intact records, as a multiple of the line length.
const BUDGET: usize = 16;

/// The intact records in a torn line: the next record often follows a torn write on the same line.
/// `is_record` distinguishes records from objects inside records.
pub(super) fn salvage_records(
    source: &str,
    torn: RawRecord,
    is_record: impl Fn(&str, Span) -> bool,
) -> Vec<RawRecord> {
    let mut budget = torn.span.len().saturating_mul(BUDGET);
    let mut found = Vec::new();
    let mut within = torn.span;
    let is_record =
        |source: &str, span: Span| is_record(source, span) && stands_alone(source, span, torn.span);
    while let Some(span) = next_whole(source, within, is_record, &mut budget) {
        found.push(RawRecord { span, state: RecordState::SharedLine, ..torn });
        within.start = span.end;
    }
    found
}

/// The first intact record in a part of a text. Reads at most about `budget` bytes.
pub(super) fn next_whole(
    source: &str,
    within: Span,
    is_record: impl Fn(&str, Span) -> bool,
    budget: &mut usize,
) -> Option<Span> {
    let end = within.end as usize;
    let mut from = within.start as usize;
    loop {
        let start = from + memchr::memchr(b'{', source.get(from..end)?.as_bytes())?;
        let rest = source.get(start + 1..end)?.trim_start();
        if !rest.starts_with('"') {
            from = start + 1;
            continue;
        }
        let mut scan = JsonScanner::within(source, Span::new(start, end));
        let object = scan.shape().and_then(|_| scan.skip());
        let read = object.as_ref().map_or_else(ScanError::at, |span| span.end as usize);
        *budget = budget.checked_sub(read.saturating_sub(start).max(1))?;
        match object {
            Ok(span) if is_record(source, span) => return Some(span),
            Ok(_) | Err(_) => from = start + 1,
        }
    }
}

/// Whether an object begins the line, or is followed by nothing or another object. Otherwise it may
/// be a part of something larger.
fn stands_alone(source: &str, span: Span, line: Span) -> bool {
    if span.start == line.start {
        return true;
    }
    let rest = source.get(span.end as usize..line.end as usize).unwrap_or("").trim_start();
    rest.is_empty() || rest.starts_with('{')
}

/// The rest of a list after its last intact element.
pub(super) fn torn_rest(source: &str, after: usize) -> Span {
    let rest = source.get(after..).unwrap_or("");
    let torn = rest.trim_start_matches([',', ' ', '\t', '\r', '\n']);
    let torn = Span::new(after + (rest.len() - torn.len()), after + rest.trim_end().len());
    if torn.is_empty() { Span::new(source.len(), source.len()) } else { torn }
}

/// Counts lines incrementally.
pub(super) struct LineCount<'a> {
    source: &'a [u8],
    at: usize,
    line: u32,
}

impl<'a> LineCount<'a> {
    pub(super) fn new(source: &'a str) -> LineCount<'a> {
        LineCount { source: source.as_bytes(), at: 0, line: 0 }
    }

    /// The line of an offset. Offsets must not decrease.
    pub(super) fn at(&mut self, place: usize) -> u32 {
        let passed = self.source.get(self.at..place).unwrap_or(&[]);
        let breaks = memchr::memchr_iter(b'\n', passed).count();
        self.line += u32::try_from(breaks).unwrap_or(0);
        self.at = self.at.max(place);
        self.line
    }
}

/// The number of records as text.
pub(super) fn whole_records(records: usize) -> String {
    if records == 1 {
        "a complete record".to_owned()
    } else {
        format!("{records} complete records")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_and_blank_ones_skipped() {
        let source = "{}\r\n\n  {\"a\":1}\t\n{";
        let found: Vec<(&str, u32)> =
            lines(source).map(|raw| (raw.span.of(source), raw.line)).collect();
        assert_eq!(found, [("{}", 0), ("{\"a\":1}", 2), ("{", 3)]);
    }

    #[test]
    fn intact_records_are_found_after_torn_ones() {
        let is_record = |source: &str, span: Span| span.of(source).starts_with("{\"type\"");
        let table: [(&str, &[&str]); 7] = [
            (r#"{"type":"a"}?"b":1}"#, &[r#"{"type":"a"}"#]),
            (r#"{"type":"a","x":{"y"#, &[]),
            (r#"{"type":"a","x{"type":"b"}"#, &[r#"{"type":"b"}"#]),
            (r#"{"type":"a"}{"type":"b"}"#, &[r#"{"type":"a"}"#, r#"{"type":"b"}"#]),
            (r#"{"a":{"type":"b"}"#, &[r#"{"type":"b"}"#]),
            (r#"{"a":{"type":"b"},"c"#, &[]),
            (r#"{"type":"a"} {"type":"b"#, &[r#"{"type":"a"}"#]),
        ];
        for (line, expected) in table {
            let torn =
                RawRecord { span: Span::new(0, line.len()), line: 0, state: RecordState::Torn };
            let found = salvage_records(line, torn, is_record);
            let found: Vec<&str> = found.iter().map(|raw| raw.span.of(line)).collect();
            assert_eq!(found, expected, "{line}");
        }
    }
}
