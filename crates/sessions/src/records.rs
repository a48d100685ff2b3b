//! Reads the records of a session file in one pass.

use std::collections::{HashMap, HashSet};

use crate::chain::{CarriedRecords, RecordLink};
use foxwedge_core::{ContentShape, Draft, DraftBuilder, FileDefect, Fix, MessageFlags, Role, Span};

mod line_defects;

use super::{
    SessionAgent, SessionText, detection,
    gemini_history::{GeminiHistoryStep, GeminiMessageVersion},
    lines::{RawRecord, RecordContainer, RecordState, lines, salvage_records},
    metadata::SessionMetadata,
};
use foxwedge_formats::{OutlineOptions, ReadError, outline::OutlineReader};
use foxwedge_json::{JsonScanner, JsonShape, ScanError, ScanResult};

pub(super) use super::values::{is_true, plain_string, string_value};

/// A record of a session file.
#[derive(Clone, Copy, Debug)]
pub(super) struct SessionRecord<'a> {
    pub(super) span: Span,
    /// The line number, starting at 0.
    pub(super) line: u32,
    pub(super) state: RecordState,
    /// The record type as the agent names it.
    pub(super) kind: &'a str,
    /// The timestamp as written.
    pub(super) time: Option<&'a str>,
}

/// The rule of events that lack a field which their agent requires. Its repair removes them.
pub(super) const INCOMPLETE_EVENT: u16 = 805;

/// All records of a file.
#[derive(Debug)]
pub(super) struct SessionRecords<'a> {
    pub(super) source: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) container: RecordContainer,
    pub(super) records: Vec<SessionRecord<'a>>,
    pub(super) links: Vec<RecordLink<'a>>,
    pub(super) carried: Vec<CarriedRecords<'a>>,
    /// Records that change which other records count.
    pub(super) controls: Vec<(u32, HistoryControl)>,
    pub(super) steps: Vec<(u32, GeminiHistoryStep<'a>)>,
    /// All versions of all messages, for agents that rewrite messages (Gemini CLI).
    pub(super) entries: Vec<GeminiMessageVersion<'a>>,
    /// Lines that could not be read as they are: record, line, defect.
    pub(super) defects: Vec<(u32, u32, FileDefect)>,
}

/// The content of one record.
#[derive(Default)]
pub(super) struct ParsedRecord<'a> {
    pub(super) kind: &'a str,
    pub(super) time: Option<&'a str>,
    pub(super) link: RecordLink<'a>,
    /// The message of the record: role, span, content shape, flags.
    pub(super) message: Option<(Role, Span, ContentShape, MessageFlags)>,
    pub(super) carried: Option<CarriedRecords<'a>>,
    pub(super) control: Option<HistoryControl>,
    /// Versions of messages.
    pub(super) entries: Vec<GeminiMessageVersion<'a>>,
    pub(super) step: Option<GeminiHistoryStep<'a>>,
    /// What the agent cannot decode: rows in the record, or the record itself.
    pub(super) defects: Vec<RowDefect>,
}

/// A row or a record that the agent cannot decode.
pub(super) struct RowDefect {
    pub(super) code: u16,
    pub(super) span: Span,
    pub(super) problem: String,
    pub(super) repair: String,
    pub(super) fix: Fix,
}

/// A record that changes which other records count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum HistoryControl {
    /// Only the user messages before it remain.
    Compacted,
    /// The messages of this record replace everything before.
    Replaced,
    /// The last turns are removed.
    RolledBack(usize),
    /// A summary replaces everything before.
    Summary,
}

/// Reads one record of an agent's file.
pub(super) type ReadRecord<'a> = fn(
    &mut JsonScanner<'a>,
    &mut OutlineReader<'a>,
    &mut ParsedRecord<'a>,
    &mut SessionMetadata<'a>,
) -> ScanResult<()>;

/// How the records of an agent's file are read.
#[derive(Clone, Copy)]
pub(super) struct RecordFormat<'a> {
    pub(super) read: ReadRecord<'a>,
    /// Distinguishes records from objects inside records.
    pub(super) is_record: fn(&str, Span) -> bool,
}

/// The request limit of Anthropic; a larger record cannot be sent.
pub(super) const MAX_RECORD_BYTES: usize = 32 * 1024 * 1024;

/// Reads a file with one record per line. The draft holds the messages of all records.
pub(super) fn read_lines<'a>(
    text: &'a SessionText<'_>,
    agent: SessionAgent,
    options: OutlineOptions,
    format: RecordFormat<'a>,
) -> Result<(SessionRecords<'a>, Draft<'a>, SessionMetadata<'a>), ReadError> {
    let mut reader = SessionReader::new(text, agent, options, format);
    for raw in lines(text.as_str()) {
        reader.read_line(raw)?;
    }
    Ok(reader.finish(text))
}

/// The error for a record that is valid JSON in an unknown form.
pub(super) fn malformed(raw: RawRecord, error: ScanError) -> ReadError {
    ReadError::Malformed {
        at: error.at(),
        place: Some(format!("line {}", raw.line + 1)),
        what: error.message().to_owned(),
    }
}

/// The state while a file is read.
pub(super) struct SessionReader<'a> {
    agent: SessionAgent,
    reader: OutlineReader<'a>,
    format: RecordFormat<'a>,
    metadata: SessionMetadata<'a>,
    pub(super) lone_surrogates: Vec<Span>,
    /// How many defects of each rule were found.
    defect_counts: HashMap<u16, usize>,
    pub(super) log: SessionRecords<'a>,
    /// The number of the last line, computed on first use.
    last_line: Option<usize>,
}

impl<'a> SessionReader<'a> {
    pub(super) fn new(
        text: &'a SessionText<'_>,
        agent: SessionAgent,
        options: OutlineOptions,
        format: RecordFormat<'a>,
    ) -> SessionReader<'a> {
        let source = text.as_str();
        let reader = OutlineReader {
            source,
            builder: DraftBuilder::new(source, agent.wire()),
            options,
            compaction: false,
            references: Vec::new(),
            pending_parts: Vec::new(),
        };
        let log = SessionRecords {
            source,
            bytes: text.bytes(),
            container: RecordContainer::Lines,
            records: Vec::with_capacity(source.len() / 1024 + 8),
            links: Vec::with_capacity(source.len() / 1024 + 8),
            carried: Vec::new(),
            controls: Vec::new(),
            steps: Vec::new(),
            entries: Vec::new(),
            defects: Vec::new(),
        };
        let (metadata, lone_surrogates, defect_counts) =
            (SessionMetadata::default(), Vec::new(), HashMap::new());
        SessionReader {
            agent,
            reader,
            format,
            metadata,
            lone_surrogates,
            defect_counts,
            log,
            last_line: None,
        }
    }

    pub(super) fn finish(
        mut self,
        text: &SessionText<'_>,
    ) -> (SessionRecords<'a>, Draft<'a>, SessionMetadata<'a>) {
        self.note_damage(text);
        self.note_missing_first();
        self.keep_unrecognizable();
        self.lone_surrogates.sort_unstable_by_key(|lone| lone.start);
        self.lone_surrogates.dedup();
        self.reader.builder.body_mut().surrogates = self.lone_surrogates;
        (self.log, self.reader.builder.finish(), self.metadata)
    }

    /// Marks the defects as not repairable if the repaired file could no longer be recognized.
    fn keep_unrecognizable(&mut self) {
        let (source, agent) = (self.log.source, self.agent);
        let lines = self.log.container == RecordContainer::Lines;
        if !lines || self.log.defects.is_empty() || self.reader.builder.message_count() > 0 {
            return;
        }
        let defects = self.log.defects.iter().map(|(_, _, defect)| defect);
        let removed: HashSet<Span> = defects
            .filter(|defect| defect.code == INCOMPLETE_EVENT)
            .map(|defect| defect.span)
            .collect();
        let mut whole =
            self.log.records.iter().filter(|record| {
                record.state != RecordState::Torn && !removed.contains(&record.span)
            });
        if !whole.any(|record| detection::is_record_of(source, record.span, agent)) {
            for (_, _, defect) in &mut self.log.defects {
                defect.fix = Fix::NONE;
            }
        }
    }

    /// Reads a line: one record, or the intact records in it.
    fn read_line(&mut self, raw: RawRecord) -> Result<(), ReadError> {
        let source = self.log.source;
        let error = match self.read_record(raw) {
            Ok(()) => {
                self.note_oversized(raw);
                return Ok(());
            }
            Err(error) => error,
        };
        let mut again = JsonScanner::within(source, raw.span);
        let whole = again.shape().and_then(|_| again.skip()).and_then(|_| again.end());
        if whole.as_ref().map_or_else(ScanError::is_too_deep, |()| true) {
            // It is valid JSON in an unknown form. A guess here would damage the file.
            return Err(malformed(raw, error));
        }
        let first = self.log.records.len();
        let saved = salvage_records(
            source,
            RawRecord { state: RecordState::Torn, ..raw },
            self.format.is_record,
        );
        for glued in &saved {
            self.read_record(*glued).map_err(|error| malformed(*glued, error))?;
        }
        let saved = saved.len();
        if saved == 0 {
            self.add_unreadable(RawRecord { state: RecordState::Torn, ..raw });
        }
        self.note_torn_line(first, raw, saved);
        Ok(())
    }

    fn read_record(&mut self, raw: RawRecord) -> ScanResult<()> {
        let before = self.reader.builder.message_count();
        let mut scan = JsonScanner::within(self.log.source, raw.span);
        let parsed = self.parse_record(&mut scan);
        match parsed.and_then(|parsed| scan.end().map(|()| parsed)) {
            Ok(parsed) => {
                self.lone_surrogates.append(&mut scan.lone_surrogates);
                self.add_record(raw, before, parsed);
                Ok(())
            }
            Err(error) => {
                self.reader.builder.truncate(before);
                Err(error)
            }
        }
    }

    /// Reads an element of a list.
    pub(super) fn read_element(
        &mut self,
        scan: &mut JsonScanner<'a>,
        start: usize,
        line: u32,
    ) -> ScanResult<()> {
        let before = self.reader.builder.message_count();
        match self.parse_record(scan) {
            Ok(parsed) => {
                let span = Span::new(start, scan.position());
                let raw = RawRecord { span, line, state: RecordState::Whole };
                self.add_record(raw, before, parsed);
                self.note_oversized(raw);
                Ok(())
            }
            Err(error) => {
                self.reader.builder.truncate(before);
                Err(error)
            }
        }
    }

    fn parse_record(&mut self, scan: &mut JsonScanner<'a>) -> ScanResult<ParsedRecord<'a>> {
        let mut record = ParsedRecord::default();
        match scan.shape()? {
            JsonShape::Object => {
                (self.format.read)(scan, &mut self.reader, &mut record, &mut self.metadata)?
            }
            // Anything but an object is not a record.
            _ => drop(scan.skip()?),
        }
        Ok(record)
    }

    /// Adds a parsed record.
    fn add_record(&mut self, raw: RawRecord, before: usize, mut parsed: ParsedRecord<'a>) {
        parsed.link.span = raw.span;
        if let Some((role, span, content, flags)) = parsed.message {
            self.reader.builder.push_message(role, span, content, flags);
        }
        let after = self.reader.builder.message_count();
        self.reader.builder.truncate(after);
        if after > before {
            parsed.link.fragment = u32::try_from(before).ok();
        }
        let record = u32::try_from(self.log.records.len()).unwrap_or(u32::MAX);
        self.log.controls.extend(parsed.control.map(|control| (record, control)));
        self.log.steps.extend(parsed.step.map(|step| (record, step)));
        let placed = |entry: GeminiMessageVersion<'a>| GeminiMessageVersion {
            record,
            first_version: (record, entry.first_version.1),
            ..entry
        };
        self.log.entries.extend(parsed.entries.into_iter().map(placed));
        let carried = parsed.carried;
        let carried = carried.map(|carried| CarriedRecords { compaction: record, ..carried });
        self.log.carried.extend(carried);
        self.log.links.push(parsed.link);
        let RawRecord { span, line, state } = raw;
        self.note_row_defects(record, line, parsed.defects);
        self.log.records.push(SessionRecord {
            span,
            line,
            state,
            kind: parsed.kind,
            time: parsed.time,
        });
    }

    /// Adds a record that cannot be read.
    pub(super) fn add_unreadable(&mut self, raw: RawRecord) {
        let RawRecord { span, line, state } = raw;
        self.log.links.push(RecordLink { span, ..RecordLink::default() });
        self.log.records.push(SessionRecord { span, line, state, kind: "", time: None });
    }
}
