//! The records of a session file, read in one pass.

use std::collections::HashMap;

use foxwedge_core::{
    Builder, Content, Draft, Fix, Flaw, FlawHarm, FlawText, Marks, Role, Severity, Span, Strategy,
    chain::{Carried, Link},
};

use super::{
    Agent, Text,
    about::About,
    gemini_cli::{Entry, Step},
    lines::{Container, Raw, State, lines, salvage},
    recognise,
};
use crate::{
    envelope::Envelope,
    error::ReadError,
    json::{Scan, Scanner, Shape, Trouble},
    outline::{Reader, Want},
};

pub(super) use super::values::{is_true, said, spelled};

/// A record as it lies in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a> {
    pub(super) span: Span,
    /// Counted from zero.
    pub(super) line: u32,
    pub(super) state: State,
    /// The agent's word for what it is.
    pub(super) kind: &'a str,
    /// When it was written, as spelled.
    pub(super) time: Option<&'a str>,
}

/// All records of a file.
#[derive(Debug)]
pub(super) struct Log<'a> {
    pub(super) source: &'a str,
    pub(super) bytes: &'a [u8],
    pub(super) container: Container,
    pub(super) records: Vec<Record<'a>>,
    pub(super) links: Vec<Link<'a>>,
    pub(super) carried: Vec<Carried<'a>>,
    /// Records that change which of the others count.
    pub(super) controls: Vec<(u32, Control)>,
    pub(super) steps: Vec<(u32, Step<'a>)>,
    /// All versions of all messages, in agents that write them again.
    pub(super) entries: Vec<Entry<'a>>,
    /// Lines that could not be read as they are: record, line, flaw.
    pub(super) flaws: Vec<(u32, u32, Flaw)>,
}

/// What a reader saw in one record.
#[derive(Default)]
pub(super) struct Seen<'a> {
    pub(super) kind: &'a str,
    pub(super) time: Option<&'a str>,
    pub(super) link: Link<'a>,
    /// The message in it: who speaks, where, and what its content is.
    pub(super) message: Option<(Role, Span, Content, Marks)>,
    pub(super) carried: Option<Carried<'a>>,
    pub(super) control: Option<Control>,
    /// Messages that are versions of each other.
    pub(super) entries: Vec<Entry<'a>>,
    pub(super) step: Option<Step<'a>>,
}

/// A record that changes which of the others count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Control {
    /// Of what came before only the user's messages are left.
    Compacted,
    /// The messages in this record take the place of everything before.
    Replaced,
    /// The last turns are gone.
    RolledBack(usize),
    /// A summary of everything before.
    Summary,
}

/// Reads one record of an agent's file.
pub(super) type ReadRecord<'a> =
    fn(&mut Scanner<'a>, &mut Reader<'a>, &mut Seen<'a>, &mut About<'a>) -> Scan<()>;

/// What Anthropic takes in a whole request; a record beyond that cannot be sent.
pub(super) const LARGEST: usize = 32 * 1024 * 1024;

/// Reads a file of one record a line. The second half holds the messages of all records.
pub(super) fn by_line<'a>(
    text: &'a Text<'_>,
    agent: Agent,
    want: Want,
    read: ReadRecord<'a>,
) -> Result<(Log<'a>, Draft<'a>, About<'a>), ReadError> {
    let mut reading = Reading::new(text, agent, want, read);
    for raw in lines(text.as_str()) {
        reading.line(raw)?;
    }
    Ok(reading.finish(text))
}

/// A record that is JSON, but not as we know it.
pub(super) fn malformed(raw: Raw, trouble: Trouble) -> ReadError {
    ReadError::Malformed {
        at: trouble.at(),
        place: Some(format!("line {}", raw.line + 1)),
        what: trouble.what().to_owned(),
    }
}

/// A file while it is being read.
pub(super) struct Reading<'a> {
    agent: Agent,
    reader: Reader<'a>,
    read: ReadRecord<'a>,
    about: About<'a>,
    pub(super) lone: Vec<Span>,
    /// How many flaws of each rule were noted.
    spoken: HashMap<u16, usize>,
    pub(super) log: Log<'a>,
    /// The number of the last line, once somebody asked for it.
    last_line: Option<usize>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(
        text: &'a Text<'_>,
        agent: Agent,
        want: Want,
        read: ReadRecord<'a>,
    ) -> Reading<'a> {
        let source = text.as_str();
        let reader = Reader {
            source,
            builder: Builder::new(source, agent.wire()),
            want,
            envelope: Envelope::default(),
            compaction: false,
            waiting: Vec::new(),
        };
        let log = Log {
            source,
            bytes: text.bytes(),
            container: Container::Lines,
            records: Vec::with_capacity(source.len() / 1024 + 8),
            links: Vec::with_capacity(source.len() / 1024 + 8),
            carried: Vec::new(),
            controls: Vec::new(),
            steps: Vec::new(),
            entries: Vec::new(),
            flaws: Vec::new(),
        };
        let (about, lone, spoken) = (About::default(), Vec::new(), HashMap::new());
        Reading { agent, reader, read, about, lone, spoken, log, last_line: None }
    }

    pub(super) fn finish(mut self, text: &Text<'_>) -> (Log<'a>, Draft<'a>, About<'a>) {
        self.damage(text);
        self.leave_ruins();
        self.lone.sort_unstable_by_key(|lone| lone.start);
        self.lone.dedup();
        self.reader.builder.body().surrogates = self.lone;
        (self.log, self.reader.builder.finish(), self.about)
    }

    /// A file of which nothing would be left that says whose it is cannot be repaired.
    fn leave_ruins(&mut self) {
        let (source, agent) = (self.log.source, self.agent);
        let lines = self.log.container == Container::Lines;
        if !lines || self.log.flaws.is_empty() || self.reader.builder.messages() > 0 {
            return;
        }
        let mut whole = self.log.records.iter().filter(|record| record.state != State::Torn);
        if !whole.any(|record| recognise::is_own(source, record.span, agent)) {
            for (_, _, flaw) in &mut self.log.flaws {
                flaw.fix = Fix::NONE;
            }
        }
    }

    /// Reads a line: one record, or what can be saved of it.
    fn line(&mut self, raw: Raw) -> Result<(), ReadError> {
        let source = self.log.source;
        let trouble = match self.record(raw) {
            Ok(()) => {
                self.oversized(raw);
                return Ok(());
            }
            Err(trouble) => trouble,
        };
        let mut again = Scanner::within(source, raw.span);
        let whole = again.shape().and_then(|_| again.skip()).and_then(|_| again.end());
        if whole.as_ref().map_or_else(Trouble::is_depth, |()| true) {
            // It is JSON, but not as we know it: whoever guesses here breaks the file.
            return Err(malformed(raw, trouble));
        }
        let first = self.log.records.len();
        let saved = salvage(source, Raw { state: State::Torn, ..raw }, self.agent.is_record());
        for glued in &saved {
            self.record(*glued).map_err(|trouble| malformed(*glued, trouble))?;
        }
        let saved = saved.len();
        if saved == 0 {
            self.opaque(Raw { state: State::Torn, ..raw });
        }
        self.torn(first, raw, saved);
        Ok(())
    }

    fn record(&mut self, raw: Raw) -> Scan<()> {
        let before = self.reader.builder.messages();
        let mut scan = Scanner::within(self.log.source, raw.span);
        let seen = self.see(&mut scan);
        match seen.and_then(|seen| scan.end().map(|()| seen)) {
            Ok(seen) => {
                self.lone.append(&mut scan.lone);
                self.note(raw, before, seen);
                Ok(())
            }
            Err(trouble) => {
                self.reader.builder.abandon(before);
                Err(trouble)
            }
        }
    }

    /// Reads an element of a list.
    pub(super) fn element(&mut self, scan: &mut Scanner<'a>, start: usize, line: u32) -> Scan<()> {
        let before = self.reader.builder.messages();
        match self.see(scan) {
            Ok(seen) => {
                let span = Span::new(start, scan.position());
                let raw = Raw { span, line, state: State::Whole };
                self.note(raw, before, seen);
                self.oversized(raw);
                Ok(())
            }
            Err(trouble) => {
                self.reader.builder.abandon(before);
                Err(trouble)
            }
        }
    }

    fn see(&mut self, scan: &mut Scanner<'a>) -> Scan<Seen<'a>> {
        let mut seen = Seen::default();
        match scan.shape()? {
            Shape::Object => (self.read)(scan, &mut self.reader, &mut seen, &mut self.about)?,
            // Whatever it is, it is no record.
            _ => drop(scan.skip()?),
        }
        Ok(seen)
    }

    /// Notes what was seen in a record.
    fn note(&mut self, raw: Raw, before: usize, mut seen: Seen<'a>) {
        seen.link.span = raw.span;
        if let Some((role, span, content, marks)) = seen.message {
            self.reader.builder.message(role, span, content, marks);
        }
        let after = self.reader.builder.messages();
        self.reader.builder.abandon(after);
        if after > before {
            seen.link.fragment = u32::try_from(before).ok();
        }
        let record = u32::try_from(self.log.records.len()).unwrap_or(u32::MAX);
        self.log.controls.extend(seen.control.map(|control| (record, control)));
        self.log.steps.extend(seen.step.map(|step| (record, step)));
        let placed = |entry: Entry<'a>| Entry { record, home: (record, entry.home.1), ..entry };
        self.log.entries.extend(seen.entries.into_iter().map(placed));
        self.log.carried.extend(seen.carried);
        self.log.links.push(seen.link);
        let Raw { span, line, state } = raw;
        self.log.records.push(Record { span, line, state, kind: seen.kind, time: seen.time });
    }

    /// Notes a record that nobody can read.
    pub(super) fn opaque(&mut self, raw: Raw) {
        let Raw { span, line, state } = raw;
        self.log.links.push(Link { span, ..Link::default() });
        self.log.records.push(Record { span, line, state, kind: "", time: None });
    }

    fn torn(&mut self, record: usize, raw: Raw, saved: usize) {
        let line = raw.line + 1;
        let (what, mend, strategy) = match saved {
            0 => (
                format!("line {line} is torn: it is not a whole record"),
                format!("line {line} is left out: nothing whole is in it"),
                Strategy::Drop,
            ),
            _ => (
                format!(
                    "line {line} is torn: what is left of a record shares it with {}",
                    many(saved)
                ),
                format!("line {line} is cut: {} of it stays", many(saved)),
                Strategy::Recover,
            ),
        };
        let severity = self.agent.when_torn();
        let harm = match saved {
            0 if self.is_open_end(raw.line) => FlawHarm::SwallowsNext,
            0 => FlawHarm::Nothing,
            _ => FlawHarm::HidesHistory,
        };
        let fix = Fix::safe(strategy);
        self.flaw(801, severity, harm, record, raw.line, raw.span, what, mend, fix);
    }

    /// Whether a line is the last one, and has no end: what is written next shares it.
    fn is_open_end(&mut self, line: u32) -> bool {
        let bytes = self.log.bytes;
        if bytes.ends_with(b"\n") {
            return false;
        }
        let count = || memchr::memchr_iter(b'\n', bytes).count();
        *self.last_line.get_or_insert_with(count) == line as usize
    }

    /// Notes what is no whole message in a list. A list is one JSON text: torn, nobody can read any
    /// of it.
    pub(super) fn torn_list(&mut self, raw: Raw, ends: bool) {
        let line = raw.line + 1;
        let (what, mend) = match ends {
            true => (
                format!("the file is torn in line {line}: its list has no end"),
                "the torn end is left out, and the list is closed".to_owned(),
            ),
            false => (
                format!("the list is broken in line {line}: something in it is no whole message"),
                format!("what is no whole message in line {line} is left out; the others stay"),
            ),
        };
        let record = self.log.records.len();
        self.opaque(raw);
        let harm = if ends { FlawHarm::Nothing } else { FlawHarm::HidesHistory };
        let fix = Fix::safe(if ends { Strategy::Drop } else { Strategy::Recover });
        self.flaw(801, Severity::Error, harm, record, raw.line, raw.span, what, mend, fix);
    }

    fn oversized(&mut self, raw: Raw) {
        let bytes = raw.span.len();
        if bytes > LARGEST {
            let what =
                format!("line {} has {} MB: no request can carry it", raw.line + 1, bytes >> 20);
            let record = self.log.records.len() - 1;
            self.flaw(
                804,
                Severity::Warning,
                FlawHarm::HidesHistory,
                record,
                raw.line,
                raw.span,
                what,
                String::new(),
                Fix::NONE,
            );
        }
    }

    /// Notes lines whose bytes had to be cleaned before they could be read.
    fn damage(&mut self, text: &Text<'_>) {
        for damage in text.damage() {
            let at =
                self.log.records.partition_point(|record| (record.line as usize) < damage.line);
            let found =
                self.log.records.get(at).filter(|record| record.line as usize == damage.line);
            let line = damage.line + 1;
            let at_line = u32::try_from(damage.line).unwrap_or(u32::MAX);
            // A line of nothing but zeros holds no record; the one before it stands in for it.
            let (record, span, kept) = match found {
                Some(record) => (at, record.span, record.state != State::Torn),
                None => (at.saturating_sub(1), Span::NOWHERE, false),
            };
            if self.log.records.is_empty() {
                continue;
            }
            if damage.nul {
                let what = format!("line {line} holds zeros: a crash left a hole in the file");
                let mend = if kept {
                    format!("the zeros of line {line} go, its record stays")
                } else {
                    format!("the zeros of line {line} go")
                };
                let severity = self.agent.when_torn();
                let harm = match found.is_some() {
                    true if kept => FlawHarm::HidesHistory,
                    _ if self.is_open_end(at_line) => FlawHarm::SwallowsNext,
                    _ => FlawHarm::Nothing,
                };
                self.flaw(
                    802,
                    severity,
                    harm,
                    record,
                    at_line,
                    span,
                    what,
                    mend,
                    Fix::safe(Strategy::Recode),
                );
            }
            if damage.encoding {
                let what = format!("line {line} is not UTF-8");
                let mend = format!("bytes of line {line} that are no text become U+FFFD");
                let severity = Severity::Warning;
                self.flaw(
                    803,
                    severity,
                    FlawHarm::HidesHistory,
                    record,
                    at_line,
                    span,
                    what,
                    mend,
                    Fix::safe(Strategy::Recode),
                );
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "a flaw is made of these, and only here")]
    fn flaw(
        &mut self,
        code: u16,
        severity: Severity,
        harm: FlawHarm,
        record: usize,
        line: u32,
        span: Span,
        what: String,
        mend: String,
        fix: Fix,
    ) {
        let earlier = self.spoken.entry(code).or_default();
        let text = || FlawText { ids: Vec::new(), what, mend };
        let flaw = Flaw::new(code, severity, harm, span, fix, *earlier, text);
        *earlier += 1;
        self.log.flaws.push((u32::try_from(record).unwrap_or(u32::MAX), line, flaw));
    }
}

/// So many records, in words.
fn many(records: usize) -> String {
    if records == 1 { "a whole record".to_owned() } else { format!("{records} whole records") }
}
