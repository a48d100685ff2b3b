//! Rates findings by their effect on the agent that owns the session, in the version that wrote it.
//!
//! A provider rejects a history that breaks a rule. The agent stands in between: it drops or
//! answers some of it before it sends the history. A finding that the agent tolerates needs no
//! repair. A message that it silently drops is history that the user misses. A table lists the
//! effects and the versions in which they were observed.

mod reach;
mod rated_row;
mod table;
mod version;

use std::collections::{HashMap, HashSet};

use foxwedge_core::{
    CheckOptions, DefectHarm, FileDefect, Finding, FindingLocation, PartKind, Rule, RuleEvidence,
    RuleSet, Severity, Span, TailPolicy, check, rules,
};

pub use rated_row::{EffectEvidence, FindingEffect, FindingPart, RatedRow};
pub use reach::{HistoryAmount, SessionReach};
pub use table::RATED_ROWS;
pub use version::AgentVersion;

use super::{
    ParsedSession, SessionAgent,
    chain::ChainStatus,
    lines::RecordState,
    read, readable_text,
    records::{SessionRecord, SessionRecords},
};
use FindingEffect::{Blocks, HidesHistory, Tolerated};
use FindingPart::{
    All, FirstLine, FirstRecord, HidesContent, LastMessage, NothingHidden, OpenEnd, OpenLine,
    SameTurn, WholeCycle,
};
use foxwedge_json::field_value;

/// The findings of a session with their effect on the agent.
#[derive(Debug, Default)]
pub struct RatedReport {
    /// The findings that a report lists.
    pub findings: Vec<(Finding, FindingEffect)>,
    /// The number of all findings for each rule and effect.
    pub counts: Vec<(&'static Rule, FindingEffect, usize)>,
}

impl RatedReport {
    /// The most severe effect.
    pub fn worst(&self) -> Option<FindingEffect> {
        self.counts.iter().map(|(_, effect, _)| *effect).max()
    }

    fn count(&mut self, rule: &'static Rule, effect: FindingEffect, count: usize) {
        let same = |known: &&mut (&Rule, FindingEffect, usize)| {
            known.0.code == rule.code && known.1 == effect
        };
        match self.counts.iter_mut().find(same) {
            Some(known) => known.2 += count,
            None if count > 0 => self.counts.push((rule, effect, count)),
            None => {}
        }
    }
}

/// The records of a file that matter to its agent.
struct FileShape<'s> {
    /// The first line; [`Span::NOWHERE`] if it holds no record.
    first: Span,
    /// The record that must come first, if it does.
    head: Option<Span>,
    /// The id of the last message.
    last: Option<&'s str>,
    /// The last message, if no record is attached to it and the message before it has another id.
    moved_end: Option<Span>,
    /// Where the last record with an id begins, if the record before it has another one; if it is a copy,
    /// where the copies begin that end the file.
    end: Option<u32>,
    /// Where the torn records after a `$set` that clears all messages begin. Gemini CLI rewrites its
    /// history in two lines: the first clears it, the second restores it.
    torn_history: Vec<u32>,
}

/// Which defects of a session are left as they are because its agent tolerates them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum SparedDefects {
    #[default]
    None,
    /// Defects of lines.
    Lines,
    /// Defects of lines and of links.
    Links,
}

impl ParsedSession<'_> {
    /// Checks the session and rates each finding by its effect on the agent.
    pub fn rate_findings(&self, options: &CheckOptions) -> RatedReport {
        self.rate_with_links(options, self.link_effect(options))
    }

    fn rate_with_links(&self, options: &CheckOptions, links: FindingEffect) -> RatedReport {
        let inner = check(self.draft(), &inner_call_options(options));
        let defects = &self.draft().body.defects;
        let shape = self.file_shape();
        let rate_defect = |defect: &FileDefect| {
            let floor = if is_link_rule(defect.code) { links } else { Tolerated };
            self.defect_effect(defect, &shape).max(floor)
        };
        let key = |defect: &FileDefect| (defect.code, defect.message as usize, defect.span.start);
        let known: HashMap<(u16, usize, u32), FindingEffect> =
            defects.iter().map(|defect| (key(defect), rate_defect(defect))).collect();
        let places: HashSet<u32> = inner.findings.iter().map(|it| it.location.span.start).collect();
        let report = check(self.draft(), options);
        let mut rated = RatedReport::default();
        for count in report.counts.iter().filter(|count| !is_defect_rule(count.rule.code)) {
            let at_end = match count.rule.code {
                101 => count.count.saturating_sub(inner.counts.of(101)),
                _ => 0,
            };
            let same_turn = match count.rule.code {
                103 => report.findings.iter().filter(|it| self.is_in_turn(it)).count(),
                _ => 0,
            };
            let effect = |parts| self.finding_effect(count.rule.code, count.severity, parts);
            rated.count(count.rule, effect(&[OpenEnd]), at_end);
            rated.count(count.rule, effect(&[SameTurn]), same_turn);
            rated.count(count.rule, effect(&[]), count.count - at_end - same_turn);
        }
        for rule in rules::ALL.iter().filter(|rule| options.rules.has(rule.code)) {
            for defect in defects.iter().filter(|defect| defect.code == rule.code) {
                rated.count(rule, rate_defect(defect), 1);
            }
        }
        let findings = report.findings.into_iter().map(|finding| {
            let FindingLocation { message, span } = finding.location;
            let code = finding.rule.code;
            let at_end = code == 101 && !places.contains(&span.start);
            let same_turn = self.is_in_turn(&finding);
            let parts: &[FindingPart] = match () {
                () if at_end => &[OpenEnd],
                () if same_turn => &[SameTurn],
                () => &[],
            };
            let known = known.get(&(code, message, span.start)).copied();
            let effect =
                known.unwrap_or_else(|| self.finding_effect(code, finding.severity, parts));
            (finding, effect)
        });
        rated.findings = findings.collect();
        rated
    }

    /// Whether a misplaced result comes before the next reply: only messages of the user stand between
    /// it and its calls.
    fn is_in_turn(&self, finding: &Finding) -> bool {
        if finding.rule.code != 103 {
            return false;
        }
        let before = self.draft().messages.get(..finding.location.message).unwrap_or_default();
        let reply = before.iter().rev().find(|message| message.role.is_assistant());
        let is_named = |id: Option<&str>| finding.ids.iter().any(|named| id == Some(named));
        let calls = reply.map_or(&[][..], |reply| self.draft().parts_of(reply));
        calls.iter().any(|part| match &part.kind {
            PartKind::Call(call) => is_named(call.id.as_deref()),
            _ => false,
        })
    }

    /// Whether every misplaced result comes before the next reply.
    fn results_stay_in_turn(&self, options: &CheckOptions) -> bool {
        let mut rules = RuleSet::default();
        rules.add(103);
        let report = check(self.draft(), &CheckOptions { rules, ..*options });
        report.findings.iter().all(|finding| self.is_in_turn(finding))
    }

    /// Removes the rules and defects that the agent tolerates from `options` and from the session.
    /// With `spare_tail`, an open call at the end is also left as it is.
    pub fn spare_tolerated(&mut self, options: &mut CheckOptions, spare_tail: bool) {
        let links = self.link_effect(options);
        for rule in rules::ALL.iter().filter(|rule| !is_defect_rule(rule.code)) {
            let differs = || self.effect(103, &[SameTurn]) != self.effect(103, &[]);
            let same_turn = rule.code == 103 && differs() && self.results_stay_in_turn(options);
            let part: &[FindingPart] = if same_turn { &[SameTurn] } else { &[] };
            let known = self.effect(rule.code, part);
            // The few rules for a list of the AI SDK are those of the SDK, not of its provider.
            let inferred = rule.evidence(options.profile) == Some(RuleEvidence::Inferred)
                && !self.agent.is_ai_sdk();
            let requested = rule.code == 101 && !spare_tail;
            if !requested && (known == Some(Tolerated) || known.is_none() && inferred) {
                options.rules.remove(rule.code);
            }
            if known == Some(HidesHistory) {
                self.chain.draft.body.optional.add(rule.code);
            }
        }
        if spare_tail && self.effect(101, &[OpenEnd]) == Some(Tolerated) {
            options.policy.tail = TailPolicy::Pending;
        }
        self.spare_defects(if links == Tolerated {
            SparedDefects::Links
        } else {
            SparedDefects::Lines
        });
    }

    /// Spares the same defects as another parse of the same session.
    pub fn spare_same_as(&mut self, other: &ParsedSession<'_>) {
        if other.spared_defects != SparedDefects::None {
            self.chain.draft.body.optional = other.chain.draft.body.optional;
            self.spare_defects(other.spared_defects);
        }
    }

    /// Removes the defects that the agent tolerates.
    fn spare_defects(&mut self, spared: SparedDefects) {
        self.spared_defects = spared;
        let defects = std::mem::take(&mut self.chain.draft.body.defects);
        let records = std::mem::take(&mut self.chain.defect_records);
        let lines = std::mem::take(&mut self.defect_lines);
        let linked = defects.len() - lines.len();
        let shape = self.file_shape();
        let (mut remaining, mut spared_links) = (Vec::new(), Vec::new());
        let lines = std::iter::repeat_n(None, linked).chain(lines.into_iter().map(Some));
        for ((defect, record), line) in defects.into_iter().zip(records).zip(lines) {
            let required = is_link_rule(defect.code) && spared == SparedDefects::Lines;
            if required || self.defect_effect(&defect, &shape) != Tolerated {
                remaining.push((defect, record, line));
            } else if line.is_none() {
                spared_links.push(record);
            }
        }
        self.chain.spared_links = spared_links;
        for (defect, record, line) in remaining {
            self.chain.draft.body.defects.push(defect);
            self.chain.defect_records.push(record);
            self.defect_lines.extend(line);
        }
    }

    /// The effect of broken links on an agent that tolerates them: the history behind them may have
    /// worse findings. Rates the history with its links repaired.
    fn link_effect(&self, options: &CheckOptions) -> FindingEffect {
        let shape = self.file_shape();
        let is_tolerated = |defect: &FileDefect| {
            is_link_rule(defect.code) && self.defect_effect(defect, &shape) == Tolerated
        };
        if !self.draft().body.defects.iter().any(is_tolerated) {
            return Tolerated;
        }
        let mut rules = RuleSet::default();
        rules::ALL
            .iter()
            .filter(|rule| is_link_rule(rule.code))
            .for_each(|rule| rules.add(rule.code));
        let (rewritten, _) = self.fix(&CheckOptions { rules, ..*options });
        let mut bytes = Vec::new();
        let written = rewritten.write_to(&mut bytes).is_ok();
        let Some(text) = readable_text(&bytes).ok().filter(|_| written) else {
            return HidesHistory;
        };
        let read = read(&text, self.agent, foxwedge_formats::outline_options(options.profile));
        // A link that cannot be repaired hides the history behind it.
        let worst = read.map(|session| session.rate_with_links(options, HidesHistory).worst());
        worst.map_or(HidesHistory, |worst| worst.unwrap_or(Tolerated))
    }

    fn defect_effect(&self, defect: &FileDefect, shape: &FileShape<'_>) -> FindingEffect {
        let harm = match defect.harm {
            _ if shape.torn_history.binary_search(&defect.span.start).is_ok() => HidesContent,
            DefectHarm::Nothing => NothingHidden,
            DefectHarm::SwallowsNext => OpenLine,
            DefectHarm::HidesHistory => HidesContent,
        };
        let special = match self.agent {
            SessionAgent::Pi | SessionAgent::QwenCode
                if shape.end.is_some_and(|end| defect.span.start >= end) =>
            {
                Some(LastMessage)
            }
            // Kimi Code loses what stands behind a torn line.
            SessionAgent::KimiCode if shape.head.is_some() && self.is_last(defect) => {
                Some(OpenLine)
            }
            SessionAgent::Codex
            | SessionAgent::GeminiCli
            | SessionAgent::Pi
            | SessionAgent::CopilotCli
            | SessionAgent::KimiCode => match shape.head {
                // A record before the head is the first line, or becomes it.
                Some(head) if head != defect.span => {
                    let torn = shape.first != head && defect.span.start < head.start;
                    (torn || shape.first == defect.span).then_some(FirstLine)
                }
                _ => Some(FirstRecord),
            },
            SessionAgent::ClaudeCode if shape.moved_end == Some(defect.span) => Some(LastMessage),
            SessionAgent::ClaudeCode => self.is_whole_circle(defect, shape).then_some(WholeCycle),
            SessionAgent::Neovate
            | SessionAgent::QwenCode
            | SessionAgent::Cline
            | SessionAgent::Opencode
            | SessionAgent::Crush
            | SessionAgent::Goose
            | SessionAgent::AiSdkUi
            | SessionAgent::AiSdkModel
            | SessionAgent::ReadOnly(_) => None,
        };
        let parts = [special.unwrap_or(harm), harm];
        self.effect(defect.code, &parts).unwrap_or(match defect.severity {
            Severity::Error => Blocks,
            Severity::Warning => HidesHistory,
        })
    }

    /// Whether a defect is that of the last line.
    fn is_last(&self, defect: &FileDefect) -> bool {
        let records = &self.log.records;
        records.len() > 1 && records.last().is_some_and(|record| record.span == defect.span)
    }

    /// Computed once per session: a file may have a defect in every line.
    fn file_shape(&self) -> FileShape<'_> {
        let SessionRecords { records, links, source, .. } = &self.log;
        let has = |record: &SessionRecord<'_>, key| field_value(source, record.span, key).is_some();
        let first_kind = self.agent.first_kind();
        let is_head = |record: &&SessionRecord<'_>| match self.agent {
            SessionAgent::GeminiCli => has(record, "sessionId") && has(record, "projectHash"),
            _ => first_kind == Some(record.kind),
        };
        let whole = records.iter().find(|record| record.state != RecordState::Torn);
        let is_message = |record: &SessionRecord<'_>| matches!(record.kind, "user" | "assistant");
        let id = |at: usize| links.get(at)?.id;
        let end = records.iter().rposition(is_message);
        let last = end.and_then(id);
        let before = end.and_then(|at| records.get(..at)?.iter().rposition(is_message));
        let is_leaf = || !links.iter().any(|link| link.parent.is_some() && link.parent == last);
        let moved = last.is_some() && before.and_then(id) != last && is_leaf();
        let moved_end = end.and_then(|at| records.get(at)).filter(|_| moved);
        // If the last record is a copy, the copies before it would be the last ones without it.
        let mut linked = links.iter().enumerate().rev().filter(|(_, link)| link.id.is_some());
        let (mut end, mut here) = (None, linked.next());
        while let Some((at, link)) = here {
            let before = linked.next();
            if before.is_some_and(|(_, before)| before.id == link.id) {
                break;
            }
            end = Some(link.span.start);
            let is_copy = self.chain.statuses.get(at) == Some(&ChainStatus::Duplicate);
            here = before.filter(|_| is_copy);
        }
        FileShape {
            first: records.first().map_or(Span::NOWHERE, |record| match record.line {
                0 => record.span,
                _ => Span::NOWHERE,
            }),
            head: whole.filter(is_head).map(|record| record.span),
            last,
            moved_end: moved_end.map(|record| record.span),
            end,
            torn_history: self.torn_history(),
        }
    }

    /// The index of the record with this span.
    fn record_index(&self, span: Span) -> Option<usize> {
        let at = self.log.records.partition_point(|record| record.span.start < span.start);
        self.log.records.get(at).filter(|record| record.span == span).map(|_| at)
    }

    /// Where the torn records begin that follow a `$set` that clears all messages.
    fn torn_history(&self) -> Vec<u32> {
        if self.agent != SessionAgent::GeminiCli {
            return Vec::new();
        }
        let clears = |text: &str| {
            let text: String = text.chars().filter(|c| !c.is_whitespace()).take(24).collect();
            text.starts_with("{\"$set\":{\"messages\":[]")
        };
        let (mut torn, mut cleared) = (Vec::new(), false);
        for record in &self.log.records {
            match record.state {
                RecordState::Torn if cleared => torn.push(record.span.start),
                RecordState::Torn => {}
                RecordState::Whole | RecordState::SharedLine => {
                    cleared = clears(record.span.of(self.log.source));
                }
            }
        }
        torn
    }

    /// Whether the last message of the file is the parent in this cycle.
    fn is_whole_circle(&self, defect: &FileDefect, shape: &FileShape<'_>) -> bool {
        let parent = || self.log.links.get(self.record_index(defect.span)?)?.parent;
        defect.code == 704 && shape.last.is_some() && parent() == shape.last
    }

    fn finding_effect(
        &self,
        code: u16,
        severity: Severity,
        parts: &[FindingPart],
    ) -> FindingEffect {
        self.effect(code, parts).unwrap_or(match severity {
            Severity::Error => Blocks,
            Severity::Warning => Tolerated,
        })
    }

    /// The effect that the table gives for some findings of a rule.
    fn effect(&self, code: u16, parts: &[FindingPart]) -> Option<FindingEffect> {
        let version = AgentVersion::parse(self.metadata.version.as_deref());
        let fits = |row: &&RatedRow| {
            row.agent == self.agent
                && row.codes.contains(&code)
                && version >= row.since
                && (row.part == All || parts.contains(&row.part))
        };
        RATED_ROWS.iter().find(fits).map(|row| row.effect)
    }
}

/// Options that check only for open calls before the last turn.
fn inner_call_options(options: &CheckOptions) -> CheckOptions {
    let mut rules = RuleSet::default();
    rules.add(101);
    let mut inner = CheckOptions { rules, ..*options };
    inner.policy.tail = TailPolicy::Pending;
    inner
}

/// Whether a rule is about the file, not its messages.
fn is_defect_rule(code: u16) -> bool {
    code >= 700
}

/// Whether a rule is about the link between a record and the one before it.
fn is_link_rule(code: u16) -> bool {
    matches!(code, 701 | 702 | 704)
}
