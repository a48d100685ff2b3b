//! What a finding means to the agent that keeps a session, in the version that wrote it.
//!
//! A provider refuses what breaks a rule. An agent stands in between: it leaves out or answers
//! some of it before it sends the history. What it copes with needs no repair; what it leaves out
//! without a word is history that the user misses. A table says which is which, and what it was
//! seen with.

mod table;

use std::collections::{HashMap, HashSet};

use foxwedge_core::{
    Evidence, Finding, Flaw, FlawHarm, Place, Question, Rule, RuleSet, Severity, Span, Tail, check,
    rules,
};

pub use table::{AgentVersion, FindingEffect, FindingPart, RATED, RatedRow};

use super::{
    Agent, Session,
    lines::State,
    log::{Log, Record},
    read, text,
};
use crate::json::field;
use FindingEffect::{Blocks, Coped, HidesHistory};
use FindingPart::{
    All, FirstLine, FirstRecord, LastMessage, NothingHidden, OpenEnd, OpenLine, Rest, WholeCircle,
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
pub(super) enum SparedFlaws {
    #[default]
    None,
    /// Those of lines.
    Lines,
    /// Those of links as well.
    Links,
}

impl Session<'_> {
    /// What is wrong with the session, and what each finding means to its agent.
    pub fn rated(&self, question: &Question) -> RatedReport {
        self.rate(question, self.link_effect(question))
    }

    fn rate(&self, question: &Question, links: FindingEffect) -> RatedReport {
        let inner = check(self.draft(), &inner_calls(question));
        let flaws = &self.draft().body.flaws;
        let shape = self.shape();
        let flaw_effect = |flaw: &Flaw| {
            let floor = if is_link(flaw.code) { links } else { Coped };
            self.flaw_effect(flaw, &shape).max(floor)
        };
        let key = |flaw: &Flaw| (flaw.code, flaw.message as usize, flaw.span.start);
        let known: HashMap<(u16, usize, u32), FindingEffect> =
            flaws.iter().map(|flaw| (key(flaw), flaw_effect(flaw))).collect();
        let places: HashSet<u32> = inner.findings.iter().map(|it| it.at.span.start).collect();
        let report = check(self.draft(), question);
        let mut rated = RatedReport::default();
        for kind in report.counts.iter().filter(|kind| !is_flaw(kind.rule.code)) {
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
            let Place { message, span } = finding.at;
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
    pub fn spare(&mut self, question: &mut Question, spare_tail: bool) {
        let links = self.link_effect(question);
        for rule in rules::ALL.iter().filter(|rule| !is_flaw(rule.code)) {
            let known = self.effect(rule.code, &[]);
            let likely = rule.evidence(question.profile) == Some(Evidence::Likely);
            let asked = rule.code == 101 && !spare_tail;
            if !asked && (known == Some(Coped) || known.is_none() && likely) {
                question.rules.remove(rule.code);
            }
            if known == Some(HidesHistory) {
                self.chain.draft.body.optional.add(rule.code);
            }
        }
        if spare_tail && self.effect(101, &[OpenEnd]) == Some(Coped) {
            question.policy.tail = Tail::Pending;
        }
        self.spare_flaws(if links == Coped { SparedFlaws::Links } else { SparedFlaws::Lines });
    }

    /// Leaves the same out as in another reading of the same session.
    pub fn spare_as(&mut self, other: &Session<'_>) {
        if other.spared != SparedFlaws::None {
            self.chain.draft.body.optional = other.chain.draft.body.optional;
            self.spare_flaws(other.spared);
        }
    }

    /// Leaves out flaws that the agent copes with.
    fn spare_flaws(&mut self, spared: SparedFlaws) {
        self.spared = spared;
        let flaws = std::mem::take(&mut self.chain.draft.body.flaws);
        let culprits = std::mem::take(&mut self.chain.culprits);
        let lines = std::mem::take(&mut self.flaw_lines);
        let linked = flaws.len() - lines.len();
        let shape = self.shape();
        let mut kept = Vec::new();
        let lines = std::iter::repeat_n(None, linked).chain(lines.into_iter().map(Some));
        for ((flaw, culprit), line) in flaws.into_iter().zip(culprits).zip(lines) {
            let asked = is_link(flaw.code) && spared == SparedFlaws::Lines;
            if asked || self.flaw_effect(&flaw, &shape) != Coped {
                kept.push((flaw, culprit, line));
            }
        }
        for (flaw, culprit, line) in kept {
            self.chain.draft.body.flaws.push(flaw);
            self.chain.culprits.push(culprit);
            self.flaw_lines.extend(line);
        }
    }

    /// What broken links mean to an agent that finds its way without them: what it finds there may
    /// be worse. The history is read with its links mended.
    fn link_effect(&self, question: &Question) -> FindingEffect {
        let shape = self.shape();
        let coped = |flaw: &Flaw| is_link(flaw.code) && self.flaw_effect(flaw, &shape) == Coped;
        if !self.draft().body.flaws.iter().any(coped) {
            return Coped;
        }
        let mut rules = RuleSet::default();
        rules::ALL.iter().filter(|rule| is_link(rule.code)).for_each(|rule| rules.add(rule.code));
        let (rewritten, _) = self.fix(&Question { rules, ..*question });
        let mut bytes = Vec::new();
        let written = rewritten.write_to(&mut bytes).is_ok();
        let Some(mended) = text(&bytes).ok().filter(|_| written) else { return HidesHistory };
        let read = read(&mended, self.agent, crate::want(question.profile));
        // A link that cannot be mended hides what is behind it.
        let worst = read.map(|session| session.rate(question, HidesHistory).worst());
        worst.map_or(HidesHistory, |worst| worst.unwrap_or(Coped))
    }

    fn flaw_effect(&self, flaw: &Flaw, shape: &FileShape<'_>) -> FindingEffect {
        let harm = match flaw.harm {
            FlawHarm::Nothing if self.is_torn_history(flaw) => Rest,
            FlawHarm::Nothing => NothingHidden,
            FlawHarm::SwallowsNext => OpenLine,
            FlawHarm::HidesHistory => Rest,
        };
        let special = match self.agent {
            Agent::Codex | Agent::GeminiCli => match shape.head {
                // What stands before the head is the first line, or becomes it.
                Some(head) if head != flaw.span => {
                    let torn = shape.first != head && flaw.span.start < head.start;
                    (torn || shape.first == flaw.span).then_some(FirstLine)
                }
                _ => Some(FirstRecord),
            },
            Agent::ClaudeCode if shape.moved_end == Some(flaw.span) => Some(LastMessage),
            Agent::ClaudeCode => self.is_whole_circle(flaw, shape).then_some(WholeCircle),
            Agent::Neovate | Agent::Cline => None,
        };
        let parts = [special.unwrap_or(harm), harm];
        self.effect(flaw.code, &parts).unwrap_or(match flaw.severity {
            Severity::Error => Blocks,
            Severity::Warning => HidesHistory,
        })
    }

    /// Looked up once: a file may have a flaw in every line.
    fn shape(&self) -> FileShape<'_> {
        let Log { records, links, source, .. } = &self.log;
        let has = |record: &Record<'_>, key| field(source, record.span, key).is_some();
        let is_head = |record: &&Record<'_>| match self.agent {
            Agent::Codex => record.kind == "session_meta",
            Agent::GeminiCli => has(record, "sessionId") && has(record, "projectHash"),
            Agent::ClaudeCode | Agent::Neovate | Agent::Cline => false,
        };
        let whole = records.iter().find(|record| record.state != State::Torn);
        let is_message = |record: &Record<'_>| matches!(record.kind, "user" | "assistant");
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
    fn place_of(&self, span: Span) -> Option<usize> {
        let at = self.log.records.partition_point(|record| record.span.start < span.start);
        self.log.records.get(at).filter(|record| record.span == span).map(|_| at)
    }

    /// Gemini CLI writes its history anew: one line takes all messages away, the next one was to
    /// bring them back.
    fn is_torn_history(&self, flaw: &Flaw) -> bool {
        let cleared = |text: &str| {
            let text: String = text.chars().filter(|c| !c.is_whitespace()).take(24).collect();
            text.starts_with("{\"$set\":{\"messages\":[]")
        };
        let before = || self.log.records.get(self.place_of(flaw.span)?.checked_sub(1)?);
        self.agent == Agent::GeminiCli
            && before().is_some_and(|record| cleared(record.span.of(self.log.source)))
    }

    /// Whether the last message of the file is one that others hang on.
    fn is_whole_circle(&self, flaw: &Flaw, shape: &FileShape<'_>) -> bool {
        let parent = || self.log.links.get(self.place_of(flaw.span)?)?.parent;
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
            Severity::Warning => Coped,
        })
    }

    /// What the table says about some findings of a rule.
    fn effect(&self, code: u16, parts: &[FindingPart]) -> Option<FindingEffect> {
        let version = AgentVersion::parse(self.about.version.as_deref());
        let fits = |row: &&RatedRow| {
            row.agent == self.agent
                && row.codes.contains(&code)
                && version >= row.since
                && (row.part == All || parts.contains(&row.part))
        };
        RATED.iter().find(fits).map(|row| row.effect)
    }
}

/// The question about open calls that stand before the last turn.
fn inner_calls(question: &Question) -> Question {
    let mut rules = RuleSet::default();
    rules.add(101);
    let mut inner = Question { rules, ..*question };
    inner.policy.tail = Tail::Pending;
    inner
}

/// Whether a rule is about the file and not about its messages.
fn is_flaw(code: u16) -> bool {
    code >= 700
}

/// Whether a rule is about the way from a record to the one before it.
fn is_link(code: u16) -> bool {
    matches!(code, 701 | 702 | 704)
}
