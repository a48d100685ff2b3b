//! What a finding means to the agent that keeps a session, in the version that wrote it.
//!
//! A provider refuses what breaks a rule. An agent stands in between: it leaves out or answers
//! some of it before it sends the history. What it copes with needs no repair; what it leaves out
//! without a word is history that the user misses. The table below says which is which, and what
//! it was seen with.

use std::collections::{HashMap, HashSet};

use foxwedge_core::{
    Evidence, Finding, Flaw, FlawHarm, Place, Question, RuleSet, Severity, Tail, check, rules,
};

use super::{Agent, Session};

/// What a finding means to the agent that keeps the session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum FindingEffect {
    /// The agent opens the session with everything that was said, and its provider goes on.
    Coped,
    /// The agent opens the session, but leaves something out that the file holds.
    HidesHistory,
    /// The agent cannot open the session, or its provider refuses what it sends.
    Blocks,
}

/// A version of an agent; one that is not known counts as newer than all others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub struct AgentVersion([u32; 3]);

impl AgentVersion {
    /// The version of these numbers.
    pub const fn new(major: u32, minor: u32, patch: u32) -> AgentVersion {
        AgentVersion([major, minor, patch])
    }

    /// Reads `2.1.39`; what follows the numbers is left out.
    pub fn parse(text: Option<&str>) -> AgentVersion {
        let mut numbers = [0; 3];
        let Some(text) = text else { return AgentVersion([u32::MAX; 3]) };
        for (number, word) in numbers.iter_mut().zip(text.split('.')) {
            let digits = word.find(|c: char| !c.is_ascii_digit()).unwrap_or(word.len());
            match word.get(..digits).and_then(|digits| digits.parse().ok()) {
                Some(known) => *number = known,
                None => return AgentVersion([u32::MAX; 3]),
            }
        }
        AgentVersion(numbers)
    }
}

/// Which findings of a rule a row is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FindingPart {
    /// All of them.
    All,
    /// Calls of the last turn, behind which nobody spoke.
    OpenEnd,
    /// Lines from which nothing could be read.
    NothingHidden,
    /// Lines that hold something, or that swallow what is written next.
    Rest,
}

/// One row of the table: what an agent does about some findings, from a version on.
#[derive(Clone, Copy, Debug)]
pub struct RatedRow {
    /// The agent.
    pub agent: Agent,
    /// The rules.
    pub codes: &'static [u16],
    /// Which of their findings.
    pub part: FindingPart,
    /// The first version that is known to do so.
    pub since: AgentVersion,
    /// What it means.
    pub effect: FindingEffect,
    /// What it was seen with.
    pub seen: &'static str,
}

/// The first version of Claude Code whose files were resumed by newer ones, and went on.
const CLAUDE_CODE: AgentVersion = AgentVersion::new(2, 1, 0);
/// The only version of Codex that was tried.
const CODEX: AgentVersion = AgentVersion::new(0, 166, 0);

use Agent::{ClaudeCode, Codex};
use FindingEffect::{Blocks, Coped, HidesHistory};
use FindingPart::{All, NothingHidden, OpenEnd, Rest};

/// What agents do by themselves. The first row that fits counts; a finding without a row is as
/// severe as its rule. Only what was seen with the agent itself stands here.
pub const RATED: &[RatedRow] = &[
    row(
        ClaudeCode,
        &[101],
        OpenEnd,
        CLAUDE_CODE,
        Coped,
        "2.1.112 leaves the open call out, 2.1.325 answers it",
    ),
    row(
        ClaudeCode,
        &[101],
        All,
        CLAUDE_CODE,
        HidesHistory,
        "2.1.112 and 2.1.325 leave a call without an answer out",
    ),
    row(
        ClaudeCode,
        &[102, 104],
        All,
        CLAUDE_CODE,
        HidesHistory,
        "2.1.112 and 2.1.325 leave out answers without a call, and second answers; 2.0.77 sends them",
    ),
    row(
        ClaudeCode,
        &[801, 802],
        NothingHidden,
        CLAUDE_CODE,
        Coped,
        "2.1.112 and 2.1.325 leave the line out",
    ),
    row(
        ClaudeCode,
        &[801, 802],
        Rest,
        CLAUDE_CODE,
        HidesHistory,
        "2.1.112 and 2.1.325 leave out a record that shares its line with a torn one; 2.1.112 \
         writes the next record behind a torn end",
    ),
    row(
        ClaudeCode,
        &[803],
        All,
        CLAUDE_CODE,
        Coped,
        "2.1.112 and 2.1.325 read bytes that are no text as U+FFFD",
    ),
    row(
        ClaudeCode,
        &[703],
        NothingHidden,
        CLAUDE_CODE,
        Coped,
        "2.1.112 and 2.1.325 read a record that stands there twice once",
    ),
    row(
        Codex,
        &[101],
        All,
        CODEX,
        Coped,
        "0.166.0 answers every open call with `aborted` whenever it sends the history",
    ),
    row(Codex, &[102], All, CODEX, HidesHistory, "0.166.0 leaves out outputs without a call"),
    row(
        Codex,
        &[801, 802],
        NothingHidden,
        CODEX,
        Coped,
        "0.166.0 leaves out a line that is not JSON",
    ),
];

const fn row(
    agent: Agent,
    codes: &'static [u16],
    part: FindingPart,
    since: AgentVersion,
    effect: FindingEffect,
    seen: &'static str,
) -> RatedRow {
    RatedRow { agent, codes, part, since, effect, seen }
}

impl Session<'_> {
    /// What is wrong with the session, and what each finding means to its agent.
    pub fn rated(&self, question: &Question) -> Vec<(Finding, FindingEffect)> {
        let mut rules = RuleSet::default();
        rules.add(101);
        let mut pending = Question { rules, ..*question };
        pending.policy.tail = Tail::Pending;
        let inner = check(self.draft(), &pending).findings;
        let inner: HashSet<u32> = inner.iter().map(|finding| finding.at.span.start).collect();
        let key = |flaw: &Flaw| (flaw.code, flaw.message as usize, flaw.span.start);
        let flaws: HashMap<(u16, usize, u32), FindingEffect> = self
            .draft()
            .body
            .flaws
            .iter()
            .map(|flaw| (key(flaw), self.flaw_effect(flaw)))
            .collect();
        let findings = check(self.draft(), question).findings.into_iter().map(|finding| {
            let Place { message, span } = finding.at;
            let known = flaws.get(&(finding.rule.code, message, span.start)).copied();
            let at_end = || !inner.contains(&span.start);
            let known = known.or_else(|| self.effect(finding.rule.code, OpenEnd, at_end));
            let effect = known.unwrap_or(match finding.severity {
                Severity::Error => Blocks,
                Severity::Warning => Coped,
            });
            (finding, effect)
        });
        findings.collect()
    }

    /// Leaves what the agent copes with out of what is asked, and out of what is repaired. An open
    /// call at the end is left alone unless `tail` says that it is to be answered.
    pub fn spare(&mut self, question: &mut Question, spare_tail: bool) {
        let never = || false;
        for rule in rules::ALL.iter().filter(|rule| rule.code < 700) {
            let known = self.effect(rule.code, All, never);
            let likely = rule.evidence(question.profile) == Some(Evidence::Likely);
            if known == Some(Coped) || known.is_none() && likely {
                question.rules.remove(rule.code);
            }
            if known == Some(HidesHistory) {
                self.chain.draft.body.optional.add(rule.code);
            }
        }
        if spare_tail && self.effect(101, OpenEnd, || true) == Some(Coped) {
            question.policy.tail = Tail::Pending;
        }
        self.spare_flaws();
    }

    /// Leaves the same out as in another reading of the same session.
    pub fn spare_as(&mut self, other: &Session<'_>) {
        if other.spares {
            self.chain.draft.body.optional = other.chain.draft.body.optional;
            self.spare_flaws();
        }
    }

    /// Leaves out flaws that the agent copes with.
    fn spare_flaws(&mut self) {
        self.spares = true;
        let flaws = std::mem::take(&mut self.chain.draft.body.flaws);
        let culprits = std::mem::take(&mut self.chain.culprits);
        let lines = std::mem::take(&mut self.flaw_lines);
        let linked = flaws.len() - lines.len();
        let lines = std::iter::repeat_n(None, linked).chain(lines.into_iter().map(Some));
        for ((flaw, culprit), line) in flaws.into_iter().zip(culprits).zip(lines) {
            if self.flaw_effect(&flaw) != Coped {
                self.chain.draft.body.flaws.push(flaw);
                self.chain.culprits.push(culprit);
                self.flaw_lines.extend(line);
            }
        }
    }

    fn flaw_effect(&self, flaw: &Flaw) -> FindingEffect {
        // Whoever ends a torn line before writing the next one loses nothing by it.
        let ends_lines = self.agent == Agent::ClaudeCode
            && AgentVersion::parse(self.about.version.as_deref()) >= AgentVersion::new(2, 1, 325);
        let part = match flaw.harm {
            FlawHarm::Nothing => NothingHidden,
            FlawHarm::SwallowsNext if ends_lines => NothingHidden,
            FlawHarm::SwallowsNext | FlawHarm::HidesHistory => Rest,
        };
        // A file of Codex begins with a record that Codex needs.
        let head = self.agent == Agent::Codex
            && flaw.code > 800
            && self
                .log
                .records
                .first()
                .is_some_and(|first| first.kind != "session_meta" || first.span == flaw.span);
        let known = if head { Some(Blocks) } else { self.effect(flaw.code, part, || false) };
        known.unwrap_or(match flaw.severity {
            Severity::Error => Blocks,
            Severity::Warning => HidesHistory,
        })
    }

    /// What the table says about some findings of a rule.
    fn effect(
        &self,
        code: u16,
        part: FindingPart,
        at_end: impl Fn() -> bool,
    ) -> Option<FindingEffect> {
        let version = AgentVersion::parse(self.about.version.as_deref());
        let fits = |row: &&RatedRow| {
            row.agent == self.agent
                && row.codes.contains(&code)
                && version >= row.since
                && (row.part == All || row.part == part && (part != OpenEnd || at_end()))
        };
        RATED.iter().find(fits).map(|row| row.effect)
    }
}
