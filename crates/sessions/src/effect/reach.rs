//! How much of a session reaches the model when its agent resumes it.

use std::collections::HashSet;

use foxwedge_core::{Finding, PartKind};

use super::{
    AgentVersion, FileShape, FindingEffect, HidesHistory, ParsedSession, RatedReport, SessionAgent,
    Tolerated,
};

/// Bytes of a message for each token: a rough estimate that needs no vocabulary.
const BYTES_PER_TOKEN: u64 = 4;

/// A part of a conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HistoryAmount {
    /// The number of messages.
    pub messages: usize,
    /// Their tokens, roughly estimated.
    pub tokens: u64,
}

/// How much of a session reaches the model when its agent resumes it. A message counts if the agent
/// sends all of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SessionReach {
    /// The conversation that the file holds.
    pub whole: HistoryAmount,
    /// What reaches the model from the file as it is.
    pub before: HistoryAmount,
    /// What reaches the model after a repair.
    pub after: HistoryAmount,
}

impl SessionReach {
    /// The share of the messages that does not reach the model, in percent. Zero only if all do, 100
    /// only if none does.
    pub fn unreachable_percent(&self) -> usize {
        let (whole, seen) = (self.whole.messages, self.before.messages);
        match whole.saturating_sub(seen) {
            0 => 0,
            _ if seen == 0 => 100,
            missing => ((missing * 100 + whole / 2) / whole).clamp(1, 99),
        }
    }
}

/// The messages that a finding keeps from the model.
#[derive(Clone, Copy, Debug)]
enum HiddenMessages {
    All,
    /// Those before this one.
    Before(usize),
    /// Those after this one.
    After(usize),
    /// Only this one, or a part of it.
    One(usize),
}

/// How an agent reads a path whose links are broken.
struct PathCut {
    /// The message of each record, if the agent stops at a record whose parent it does not find.
    places: Option<Vec<Option<usize>>>,
    /// The last message with such a record. Only this one has to be found exactly.
    last: usize,
}

/// The messages that no finding keeps from the model.
struct ReachableMessages {
    first: usize,
    end: usize,
    hidden: HashSet<usize>,
}

impl ReachableMessages {
    fn remove(&mut self, hidden: HiddenMessages) {
        match hidden {
            HiddenMessages::All => self.end = 0,
            HiddenMessages::Before(message) => self.first = self.first.max(message),
            HiddenMessages::After(message) => self.end = self.end.min(message + 1),
            HiddenMessages::One(message) => {
                self.hidden.insert(message);
            }
        }
    }
}

impl ParsedSession<'_> {
    /// How much of the session reaches the model. `is_fixed` tells which findings a repair fixes.
    pub fn reach(&self, rated: &RatedReport, is_fixed: impl Fn(&Finding) -> bool) -> SessionReach {
        let whole = self.amount_of(0..self.draft().messages.len(), &HashSet::new());
        let harmful = || rated.findings.iter().filter(|(_, effect)| *effect != Tolerated);
        if harmful().next().is_none() {
            return SessionReach { whole, before: whole, after: whole };
        }
        let shape = self.file_shape();
        let cuts = harmful().filter(|(finding, _)| matches!(finding.rule.code, 701 | 704));
        let cut = PathCut {
            places: self.cuts_at_lost_parent().then(|| self.messages_by_record()),
            last: cuts.map(|(finding, _)| finding.location.message).max().unwrap_or(0),
        };
        let amount = |is_counted: &dyn Fn(&Finding) -> bool| {
            let mut seen =
                ReachableMessages { first: 0, end: whole.messages, hidden: HashSet::new() };
            for (finding, effect) in harmful().filter(|(finding, _)| is_counted(finding)) {
                seen.remove(self.hidden_messages(finding, *effect, &shape, &cut));
            }
            self.amount_of(seen.first..seen.end, &seen.hidden)
        };
        SessionReach { whole, before: amount(&|_| true), after: amount(&|it| !is_fixed(it)) }
    }

    fn amount_of(
        &self,
        messages: std::ops::Range<usize>,
        hidden: &HashSet<usize>,
    ) -> HistoryAmount {
        let draft = self.draft();
        let (mut count, mut bytes) = (0, 0);
        for (at, message) in draft.messages.iter().enumerate().take(messages.end) {
            if at < messages.start || hidden.contains(&at) {
                continue;
            }
            count += 1;
            // The data of an image says nothing about its tokens.
            let parts = draft.parts_of(message).iter();
            let texts = parts.filter(|part| !matches!(part.kind, PartKind::Media));
            bytes += texts.map(|part| part.span.len() as u64).sum::<u64>();
        }
        HistoryAmount { messages: count, tokens: bytes.div_ceil(BYTES_PER_TOKEN) }
    }

    /// Whether the agent stops at a record whose parent it does not find.
    fn cuts_at_lost_parent(&self) -> bool {
        let is_linked = self.log.links.iter().any(|link| link.parent.is_some());
        is_linked && self.effect(701, &[]).unwrap_or(HidesHistory) != Tolerated
    }

    /// Whether the agent goes on before a line that it leaves out. Claude Code does so from 2.1.112 on,
    /// although it stops at a missing parent.
    fn links_around_lines(&self) -> bool {
        let version = AgentVersion::parse(self.metadata.version.as_deref());
        self.agent == SessionAgent::ClaudeCode && version >= AgentVersion::new(2, 1, 112)
    }

    /// Whether no record of the file is behind the one at this place.
    fn ends_with(&self, start: u32) -> bool {
        self.log.records.last().is_some_and(|record| record.span.start <= start)
    }

    /// The messages that a finding keeps from the model.
    fn hidden_messages(
        &self,
        finding: &Finding,
        effect: FindingEffect,
        shape: &FileShape<'_>,
        cut: &PathCut,
    ) -> HiddenMessages {
        let (code, message) = (finding.rule.code, finding.location.message);
        let start = finding.location.span.start;
        let is_at =
            |span: Option<foxwedge_core::Span>| span.is_some_and(|span| span.start == start);
        // An agent begins to read at the last record, and walks back from there.
        let ends_early = matches!(code, 702 | 703)
            && match self.agent {
                SessionAgent::ClaudeCode => is_at(shape.moved_end),
                SessionAgent::Pi | SessionAgent::QwenCode => {
                    shape.end.is_some_and(|end| start >= end)
                }
                _ => false,
            };
        match code {
            _ if effect == FindingEffect::Blocks => HiddenMessages::All,
            _ if ends_early => match self.first_with_same_id(finding) {
                Some(first) if self.agent == SessionAgent::QwenCode && first < message => {
                    HiddenMessages::After(first)
                }
                _ if message + 1 < self.draft().messages.len() => HiddenMessages::After(message),
                _ => HiddenMessages::One(message),
            },
            701 | 704 if cut.places.is_some() && message < cut.last => {
                HiddenMessages::Before(message)
            }
            701 | 704 if cut.places.is_some() => {
                let places = cut.places.as_deref().unwrap_or_default();
                HiddenMessages::Before(self.first_whole_message(finding, places))
            }
            // The agent opens what is before it, and loses only what it writes next.
            801 | 802 if cut.places.is_some() && self.ends_with(start) => {
                HiddenMessages::One(message)
            }
            // The records of such a line are skipped, so what follows them has no parent.
            801 | 802 if cut.places.is_some() && !self.links_around_lines() => {
                HiddenMessages::Before(message + 1)
            }
            801 if shape.torn_history.binary_search(&start).is_ok() => {
                HiddenMessages::Before(message + 1)
            }
            // What stands behind a torn line is not read.
            801 | 802 if self.agent == SessionAgent::KimiCode => {
                let mut messages = self.draft().messages.iter();
                match messages.position(|message| message.span.start > start) {
                    Some(0) => HiddenMessages::All,
                    Some(behind) => HiddenMessages::After(behind - 1),
                    None => HiddenMessages::One(message),
                }
            }
            _ => HiddenMessages::One(message),
        }
    }

    /// The message of the first record with the id of the record of a finding.
    fn first_with_same_id(&self, finding: &Finding) -> Option<usize> {
        let links = &self.log.links;
        let id = links.get(self.record_index(finding.location.span)?)?.id;
        let first = links.iter().position(|link| link.id == id)?;
        self.messages_by_record().get(first).copied().flatten()
    }

    /// The first message that an agent sees whole if it stops at the record of a finding. `places` has
    /// the message of each record.
    fn first_whole_message(&self, finding: &Finding, places: &[Option<usize>]) -> usize {
        let message = finding.location.message;
        let Some(record) = self.record_index(finding.location.span) else { return message };
        let order = self.chain.order.iter().map(|&at| at as usize);
        let behind = order.skip_while(|&at| at != record);
        let own = behind.filter_map(|at| places.get(at).copied().flatten()).next();
        // Behind a note at the end of the file there is no message.
        let Some(own) = own else { return self.draft().messages.len() };
        let first = self.chain.records_of(own).first().map(|&first| first as usize);
        // A reply may have several records; those before the cut are not seen.
        if first == Some(record) || places.get(record) == Some(&None) { own } else { own + 1 }
    }
}
