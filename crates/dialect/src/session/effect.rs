//! What a finding means to the agent that keeps a session, in the version that wrote it.
//!
//! A provider refuses what breaks a rule. An agent stands in between: it leaves out or answers
//! some of it before it sends the history. What it copes with needs no repair; what it leaves out
//! without a word is history that the user misses. A table says which is which, and what it was
//! seen with.

mod table;

use std::collections::{HashMap, HashSet};

use foxwedge_core::{
    CheckOptions, DefectHarm, FileDefect, Finding, FindingLocation, Rule, RuleEvidence, RuleSet,
    Severity, Span, TailPolicy, check, rules,
};

pub use table::{AgentVersion, FindingEffect, FindingPart, RATED_ROWS, RatedRow};

use super::{
    ParsedSession, SessionAgent,
    lines::RecordState,
    read, readable_text,
    records::{SessionRecord, SessionRecords},
};
use crate::json::field_value;
use FindingEffect::{Blocks, HidesHistory, Tolerated};
use FindingPart::{
    All, FirstLine, FirstRecord, HidesContent, LastMessage, NothingHidden, OpenEnd, OpenLine,
    WholeCycle,
};

/// What is wrong with a session, and what that means to its agent.
#[derive(Debug, Default)]
pub struct RatedReport {
    /// The findings that a report lists.
    pub findings: Vec<(Finding, FindingEffect)>,
    /// All of them: for each rule and effect, how many.
    pub counts: Vec<(&'static Rule, FindingEffect, usize)>,
}

impl RatedReport {
    /// The worst of it.
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

/// Records of a file that its agent looks for.
struct FileShape<'s> {
    /// What the first line holds; nothing if it is nothing but zeros.
    first: Span,
    /// The record that has to be the first one, if it is.
    head: Option<Span>,
    /// The id of the last message.
    last: Option<&'s str>,
    /// The last message, if no other follows it and it does not stand there twice in a row.
    moved_end: Option<Span>,
}

/// Which flaws of a session are left alone, since its agent copes with them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum SparedDefects {
    #[default]
    None,
    /// Those of lines.
    Lines,
    /// Those of links as well.
    Links,
}

impl ParsedSession<'_> {
    /// What is wrong with the session, and what each finding means to its agent.
    pub fn rate_findings(&self, question: &CheckOptions) -> RatedReport {
        self.rate_with_links(question, self.link_effect(question))
    }

    fn rate_with_links(&self, question: &CheckOptions, links: FindingEffect) -> RatedReport {
        let inner = check(self.draft(), &inner_call_options(question));
        let flaws = &self.draft().body.defects;
        let shape = self.file_shape();
        let flaw_effect = |flaw: &FileDefect| {
            let floor = if is_link_rule(flaw.code) { links } else { Tolerated };
            self.defect_effect(flaw, &shape).max(floor)
        };
        let key = |flaw: &FileDefect| (flaw.code, flaw.message as usize, flaw.span.start);
        let known: HashMap<(u16, usize, u32), FindingEffect> =
            flaws.iter().map(|flaw| (key(flaw), flaw_effect(flaw))).collect();
        let places: HashSet<u32> = inner.findings.iter().map(|it| it.location.span.start).collect();
        let report = check(self.draft(), question);
        let mut rated = RatedReport::default();
        for kind in report.counts.iter().filter(|kind| !is_defect_rule(kind.rule.code)) {
            let at_end = match kind.rule.code {
                101 => kind.count.saturating_sub(inner.counts.of(101)),
                _ => 0,
            };
            let effect = |parts| self.finding_effect(kind.rule.code, kind.severity, parts);
            rated.count(kind.rule, effect(&[OpenEnd]), at_end);
            rated.count(kind.rule, effect(&[]), kind.count - at_end);
        }
        for rule in rules::ALL.iter().filter(|rule| question.rules.has(rule.code)) {
            for flaw in flaws.iter().filter(|flaw| flaw.code == rule.code) {
                rated.count(rule, flaw_effect(flaw), 1);
            }
        }
        let findings = report.findings.into_iter().map(|finding| {
            let FindingLocation { message, span } = finding.location;
            let code = finding.rule.code;
            let at_end = code == 101 && !places.contains(&span.start);
            let parts: &[FindingPart] = if at_end { &[OpenEnd] } else { &[] };
            let known = known.get(&(code, message, span.start)).copied();
            let effect =
                known.unwrap_or_else(|| self.finding_effect(code, finding.severity, parts));
            (finding, effect)
        });
        rated.findings = findings.collect();
        rated
    }

    /// Leaves what the agent copes with out of what is asked, and out of what is repaired. An open
    /// call at the end is left alone unless `tail` says that it is to be answered.
    pub fn spare_tolerated(&mut self, question: &mut CheckOptions, spare_tail: bool) {
        let links = self.link_effect(question);
        for rule in rules::ALL.iter().filter(|rule| !is_defect_rule(rule.code)) {
            let known = self.effect(rule.code, &[]);
            let likely = rule.evidence(question.profile) == Some(RuleEvidence::Inferred);
            let asked = rule.code == 101 && !spare_tail;
            if !asked && (known == Some(Tolerated) || known.is_none() && likely) {
                question.rules.remove(rule.code);
            }
            if known == Some(HidesHistory) {
                self.chain.draft.body.optional.add(rule.code);
            }
        }
        if spare_tail && self.effect(101, &[OpenEnd]) == Some(Tolerated) {
            question.policy.tail = TailPolicy::Pending;
        }
        self.spare_defects(if links == Tolerated {
            SparedDefects::Links
        } else {
            SparedDefects::Lines
        });
    }

    /// Leaves the same out as in another reading of the same session.
    pub fn spare_same_as(&mut self, other: &ParsedSession<'_>) {
        if other.spared_defects != SparedDefects::None {
            self.chain.draft.body.optional = other.chain.draft.body.optional;
            self.spare_defects(other.spared_defects);
        }
    }

    /// Leaves out flaws that the agent copes with.
    fn spare_defects(&mut self, spared: SparedDefects) {
        self.spared_defects = spared;
        let flaws = std::mem::take(&mut self.chain.draft.body.defects);
        let culprits = std::mem::take(&mut self.chain.defect_records);
        let lines = std::mem::take(&mut self.defect_lines);
        let linked = flaws.len() - lines.len();
        let shape = self.file_shape();
        let mut kept = Vec::new();
        let lines = std::iter::repeat_n(None, linked).chain(lines.into_iter().map(Some));
        for ((flaw, culprit), line) in flaws.into_iter().zip(culprits).zip(lines) {
            let asked = is_link_rule(flaw.code) && spared == SparedDefects::Lines;
            if asked || self.defect_effect(&flaw, &shape) != Tolerated {
                kept.push((flaw, culprit, line));
            }
        }
        for (flaw, culprit, line) in kept {
            self.chain.draft.body.defects.push(flaw);
            self.chain.defect_records.push(culprit);
            self.defect_lines.extend(line);
        }
    }

    /// What broken links mean to an agent that finds its way without them: what it finds there may
    /// be worse. The history is read with its links mended.
    fn link_effect(&self, question: &CheckOptions) -> FindingEffect {
        let shape = self.file_shape();
        let coped = |flaw: &FileDefect| {
            is_link_rule(flaw.code) && self.defect_effect(flaw, &shape) == Tolerated
        };
        if !self.draft().body.defects.iter().any(coped) {
            return Tolerated;
        }
        let mut rules = RuleSet::default();
        rules::ALL
            .iter()
            .filter(|rule| is_link_rule(rule.code))
            .for_each(|rule| rules.add(rule.code));
        let (rewritten, _) = self.fix(&CheckOptions { rules, ..*question });
        let mut bytes = Vec::new();
        let written = rewritten.write_to(&mut bytes).is_ok();
        let Some(mended) = readable_text(&bytes).ok().filter(|_| written) else {
            return HidesHistory;
        };
        let read = read(&mended, self.agent, crate::outline_options(question.profile));
        // A link that cannot be mended hides what is behind it.
        let worst = read.map(|session| session.rate_with_links(question, HidesHistory).worst());
        worst.map_or(HidesHistory, |worst| worst.unwrap_or(Tolerated))
    }

    fn defect_effect(&self, flaw: &FileDefect, shape: &FileShape<'_>) -> FindingEffect {
        let harm = match flaw.harm {
            DefectHarm::Nothing if self.is_torn_history(flaw) => HidesContent,
            DefectHarm::Nothing => NothingHidden,
            DefectHarm::SwallowsNext => OpenLine,
            DefectHarm::HidesHistory => HidesContent,
        };
        let special = match self.agent {
            SessionAgent::Codex | SessionAgent::GeminiCli => match shape.head {
                // What stands before the head is the first line, or becomes it.
                Some(head) if head != flaw.span => {
                    let torn = shape.first != head && flaw.span.start < head.start;
                    (torn || shape.first == flaw.span).then_some(FirstLine)
                }
                _ => Some(FirstRecord),
            },
            SessionAgent::ClaudeCode if shape.moved_end == Some(flaw.span) => Some(LastMessage),
            SessionAgent::ClaudeCode => self.is_whole_circle(flaw, shape).then_some(WholeCycle),
            SessionAgent::Neovate | SessionAgent::Cline => None,
        };
        let parts = [special.unwrap_or(harm), harm];
        self.effect(flaw.code, &parts).unwrap_or(match flaw.severity {
            Severity::Error => Blocks,
            Severity::Warning => HidesHistory,
        })
    }

    /// Looked up once: a file may have a flaw in every line.
    fn file_shape(&self) -> FileShape<'_> {
        let SessionRecords { records, links, source, .. } = &self.log;
        let has = |record: &SessionRecord<'_>, key| field_value(source, record.span, key).is_some();
        let is_head = |record: &&SessionRecord<'_>| match self.agent {
            SessionAgent::Codex => record.kind == "session_meta",
            SessionAgent::GeminiCli => has(record, "sessionId") && has(record, "projectHash"),
            SessionAgent::ClaudeCode | SessionAgent::Neovate | SessionAgent::Cline => false,
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
        FileShape {
            first: records.first().map_or(Span::NOWHERE, |record| match record.line {
                0 => record.span,
                _ => Span::NOWHERE,
            }),
            head: whole.filter(is_head).map(|record| record.span),
            last,
            moved_end: moved_end.map(|record| record.span),
        }
    }

    /// Where a record stands.
    fn record_index(&self, span: Span) -> Option<usize> {
        let at = self.log.records.partition_point(|record| record.span.start < span.start);
        self.log.records.get(at).filter(|record| record.span == span).map(|_| at)
    }

    /// Gemini CLI writes its history anew: one line takes all messages away, the next one was to
    /// bring them back.
    fn is_torn_history(&self, flaw: &FileDefect) -> bool {
        let cleared = |text: &str| {
            let text: String = text.chars().filter(|c| !c.is_whitespace()).take(24).collect();
            text.starts_with("{\"$set\":{\"messages\":[]")
        };
        let before = || self.log.records.get(self.record_index(flaw.span)?.checked_sub(1)?);
        self.agent == SessionAgent::GeminiCli
            && before().is_some_and(|record| cleared(record.span.of(self.log.source)))
    }

    /// Whether the last message of the file is one that others hang on.
    fn is_whole_circle(&self, flaw: &FileDefect, shape: &FileShape<'_>) -> bool {
        let parent = || self.log.links.get(self.record_index(flaw.span)?)?.parent;
        flaw.code == 704 && shape.last.is_some() && parent() == shape.last
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

    /// What the table says about some findings of a rule.
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

/// The question about open calls that stand before the last turn.
fn inner_call_options(question: &CheckOptions) -> CheckOptions {
    let mut rules = RuleSet::default();
    rules.add(101);
    let mut inner = CheckOptions { rules, ..*question };
    inner.policy.tail = TailPolicy::Pending;
    inner
}

/// Whether a rule is about the file and not about its messages.
fn is_defect_rule(code: u16) -> bool {
    code >= 700
}

/// Whether a rule is about the way from a record to the one before it.
fn is_link_rule(code: u16) -> bool {
    matches!(code, 701 | 702 | 704)
}
