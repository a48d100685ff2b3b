//! Lines of a session file that are torn, damaged or too large.

use super::{MAX_RECORD_BYTES, RowDefect, SessionReader, SessionRecord};
use crate::{
    SessionAgent, SessionText,
    lines::{RawRecord, RecordContainer, RecordState, whole_records},
};
use foxwedge_core::{DefectHarm, DefectText, FileDefect, Fix, Severity, Span, Strategy};
use foxwedge_json::field_value;

/// A defect of one line.
struct LineDefect {
    code: u16,
    severity: Severity,
    harm: DefectHarm,
    span: Span,
    problem: String,
    repair: String,
    fix: Fix,
}

impl SessionReader<'_> {
    pub(super) fn note_torn_line(&mut self, record: usize, raw: RawRecord, saved: usize) {
        let line = raw.line + 1;
        let (problem, repair, strategy) = match saved {
            0 => (
                format!("line {line} is torn: it is not a complete record"),
                format!("line {line} is removed: it holds no complete record"),
                Strategy::Drop,
            ),
            _ => (
                format!(
                    "line {line} is torn: it holds part of a record and {}",
                    whole_records(saved)
                ),
                format!(
                    "the torn part of line {line} is removed: {} {}",
                    whole_records(saved),
                    if saved == 1 { "stays" } else { "stay" }
                ),
                Strategy::Recover,
            ),
        };
        let severity = self.agent.torn_line_severity();
        let harm = match saved {
            0 if self.is_open_end(raw.line) => DefectHarm::SwallowsNext,
            0 => DefectHarm::Nothing,
            _ => DefectHarm::HidesHistory,
        };
        let fix = Fix::safe(strategy);
        let span = raw.span;
        let defect = LineDefect { code: 801, severity, harm, span, problem, repair, fix };
        self.add_defect(record, raw.line, defect);
    }

    /// Whether a line is the last one and has no line ending: the next write would append to it.
    fn is_open_end(&mut self, line: u32) -> bool {
        let bytes = self.log.bytes;
        if bytes.ends_with(b"\n") {
            return false;
        }
        let count = || memchr::memchr_iter(b'\n', bytes).count();
        *self.last_line.get_or_insert_with(count) == line as usize
    }

    /// Reports a list element that is not an intact message. A list is one JSON text: if it is
    /// torn, agents cannot read any of it.
    pub(crate) fn note_torn_list(&mut self, raw: RawRecord, ends: bool) {
        let line = raw.line + 1;
        let (problem, repair) = match ends {
            true => (
                format!("the file is torn in line {line}: its list is not closed"),
                "the torn end is removed, and the list is closed".to_owned(),
            ),
            false => (
                format!("the list is broken in line {line}: it holds an incomplete message"),
                format!("incomplete messages in line {line} are removed; the others stay"),
            ),
        };
        let record = self.log.records.len();
        self.add_unreadable(raw);
        let harm = if ends { DefectHarm::Nothing } else { DefectHarm::HidesHistory };
        let fix = Fix::safe(if ends { Strategy::Drop } else { Strategy::Recover });
        let (severity, span) = (Severity::Error, raw.span);
        let defect = LineDefect { code: 801, severity, harm, span, problem, repair, fix };
        self.add_defect(record, raw.line, defect);
    }

    pub(super) fn note_oversized(&mut self, raw: RawRecord) {
        let bytes = raw.span.len();
        if bytes > MAX_RECORD_BYTES {
            let problem = format!(
                "line {} has {} MB: it is too large for any request",
                raw.line + 1,
                bytes >> 20
            );
            let record = self.log.records.len() - 1;
            let defect = LineDefect {
                code: 804,
                severity: Severity::Warning,
                harm: DefectHarm::HidesHistory,
                span: raw.span,
                problem,
                repair: String::new(),
                fix: Fix::NONE,
            };
            self.add_defect(record, raw.line, defect);
        }
    }

    /// Reports lines whose bytes had to be cleaned before they could be read.
    pub(super) fn note_damage(&mut self, text: &SessionText<'_>) {
        // Lines are in order, so one pass over the text finds where each begins.
        let mut breaks = memchr::memchr_iter(b'\n', self.log.source.as_bytes());
        let (mut breaks_passed, mut line_start) = (0, 0);
        for damage in text.damage() {
            while breaks_passed < damage.line {
                line_start = breaks.next().map_or(self.log.source.len(), |at| at + 1);
                breaks_passed += 1;
            }
            let at =
                self.log.records.partition_point(|record| (record.line as usize) < damage.line);
            let found =
                self.log.records.get(at).filter(|record| record.line as usize == damage.line);
            let line = damage.line + 1;
            let at_line = u32::try_from(damage.line).unwrap_or(u32::MAX);
            // A line of nothing but NUL bytes holds no record, so the record before it is used.
            let (record, span, has_record) = match found {
                Some(record) => (at, record.span, record.state != RecordState::Torn),
                None => (at.saturating_sub(1), Span::new(line_start, line_start), false),
            };
            if self.log.records.is_empty() {
                continue;
            }
            if damage.nul {
                let problem =
                    format!("line {line} holds NUL bytes: a crash left a hole in the file");
                let repair = if has_record {
                    format!("the NUL bytes of line {line} are removed; its record stays")
                } else {
                    format!("the NUL bytes of line {line} are removed")
                };
                let severity = self.agent.torn_line_severity();
                let harm = match found.is_some() {
                    true if has_record => DefectHarm::HidesHistory,
                    _ if self.is_open_end(at_line) => DefectHarm::SwallowsNext,
                    _ => DefectHarm::Nothing,
                };
                let fix = Fix::safe(Strategy::Recode);
                let defect = LineDefect { code: 802, severity, harm, span, problem, repair, fix };
                self.add_defect(record, at_line, defect);
            }
            if damage.strays {
                let problem = format!(
                    "line {line} is torn: bytes that are not UTF-8 stand outside of its strings"
                );
                let repair = format!("stray bytes are removed from line {line}: its record stays");
                let severity = self.agent.torn_line_severity();
                let (harm, fix) = (DefectHarm::HidesHistory, Fix::safe(Strategy::Recover));
                let defect = LineDefect { code: 801, severity, harm, span, problem, repair, fix };
                self.add_defect(record, at_line, defect);
            }
            if damage.encoding {
                let problem = format!("line {line} is not UTF-8");
                let repair = match damage.strays {
                    true => format!("line {line} becomes UTF-8"),
                    false => format!("invalid UTF-8 in line {line} becomes U+FFFD"),
                };
                let (severity, harm) = (Severity::Warning, DefectHarm::HidesHistory);
                let fix = Fix::safe(Strategy::Recode);
                let defect = LineDefect { code: 803, severity, harm, span, problem, repair, fix };
                self.add_defect(record, at_line, defect);
            }
        }
    }

    /// Reports that the record is missing or displaced without which the agent does not open the file.
    /// It is not written anew: it names what the rest of the file does not.
    pub(super) fn note_missing_first(&mut self) {
        if self.reader.builder.message_count() == 0 {
            return;
        }
        let source = self.log.source;
        let has = |span: Span, key| field_value(source, span, key).is_some();
        let (name, is_first): (&str, &dyn Fn(&SessionRecord<'_>) -> bool) =
            match (self.agent, self.agent.first_kind()) {
                (SessionAgent::Codex | SessionAgent::Pi | SessionAgent::CopilotCli, Some(kind)) => {
                    (kind, &move |record| record.kind == kind)
                }
                (SessionAgent::GeminiCli, _) => ("sessionId", &|record| {
                    has(record.span, "sessionId") && has(record.span, "projectHash")
                }),
                _ => return,
            };
        let mut whole =
            (0..).zip(&self.log.records).filter(|(_, record)| record.state != RecordState::Torn);
        let Some((record, &SessionRecord { span, line, .. })) = whole.next() else { return };
        let is_found = self.log.records.get(record).is_some_and(is_first);
        let displaced = whole.map(|(_, record)| record).find(|record| is_first(record));
        // Gemini CLI was not seen with a displaced record.
        let is_known = displaced.is_none() || self.agent != SessionAgent::GeminiCli;
        if is_found || !is_known || self.log.container != RecordContainer::Lines {
            return;
        }
        let problem = match displaced {
            Some(record) => {
                let line = record.line + 1;
                format!("the file does not start with its `{name}` record, which is in line {line}")
            }
            None => format!("the file does not start with a `{name}` record: it has none"),
        };
        let (severity, harm, fix) = (Severity::Error, DefectHarm::HidesHistory, Fix::NONE);
        let repair = String::new();
        let defect = LineDefect { code: 801, severity, harm, span, problem, repair, fix };
        self.add_defect(record, line, defect);
    }

    /// Reports rows of a database that the agent cannot decode. It opens none of the session then.
    pub(super) fn note_row_defects(&mut self, record: u32, line: u32, defects: Vec<RowDefect>) {
        for defect in defects {
            let RowDefect { code, span, problem, repair, fix } = defect;
            let (severity, harm) = (Severity::Error, DefectHarm::HidesHistory);
            let defect = LineDefect { code, severity, harm, span, problem, repair, fix };
            self.add_defect(record as usize, line, defect);
        }
    }

    /// Adds the defect of a line. `record` is the record in the line, or the one before it.
    fn add_defect(&mut self, record: usize, line: u32, defect: LineDefect) {
        let LineDefect { code, severity, harm, span, problem, repair, fix } = defect;
        let earlier = self.defect_counts.entry(code).or_default();
        let text = || DefectText { ids: Vec::new(), problem, repair };
        let defect = FileDefect::new(code, severity, harm, span, fix, *earlier, text);
        *earlier += 1;
        self.log.defects.push((u32::try_from(record).unwrap_or(u32::MAX), line, defect));
    }
}
