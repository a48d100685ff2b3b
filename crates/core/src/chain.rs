//! Session files that link records to their parents: which of them are the conversation.
//!
//! A record names its parent; the conversation is the way from the last message back to a root.
//! But agents write one reply as several records, hang the answers to parallel calls beside each
//! other, and link through records that are no messages. A plain walk loses answers that are
//! there. Here the walk is made, the pieces of a reply are put together, and answers beside the
//! path are brought back onto it.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::{
    draft::{DefectHarm, DefectText, Draft, FileDefect, PartKind, Role, TextShape},
    report::{Fix, MAX_LISTED, Severity, Strategy},
    span::Span,
};

mod walk;
mod units;
mod compose;
mod lost_answers;

pub use compose::MessageRecords;

/// One record of a session file, as far as links are concerned.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordLink<'a> {
    /// Its id, as spelled; a record without one is in nobody's chain.
    pub id: Option<&'a str>,
    /// The id of its parent; `None` for a root.
    pub parent: Option<&'a str>,
    /// The record of the call that it answers, where the agent notes that.
    pub source: Option<&'a str>,
    /// Which reply it is a piece of.
    pub reply: Option<(&'a str, &'a str)>,
    /// Its message among the fragments; `None` if it is no message.
    pub fragment: Option<u32>,
    /// It belongs to a sub-agent's conversation.
    pub is_subagent: bool,
    /// A message that the agent keeps for itself.
    pub is_hidden: bool,
    /// Where it lies.
    pub span: Span,
}

/// What an agent does by itself when it loads a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LoaderBehavior {
    /// It finds answers that hang beside the path under the reply they belong to.
    pub finds_siblings: bool,
    /// It leaves out replies that hold nothing but reasoning or white space.
    pub skips_empty_replies: bool,
    /// It leaves out records of a reply that hold nothing but white space.
    pub skips_blank_records: bool,
}

/// Records that a compaction carried over, and the record behind which they stand now.
#[derive(Clone, Debug, Default)]
pub struct CarriedRecords<'a> {
    /// The record behind which they stand.
    pub anchor: &'a str,
    /// Their ids, in order.
    pub ids: Vec<&'a str>,
    /// Instead of ids: the last of them and the first, between which parents lead.
    pub segment: Option<(&'a str, &'a str)>,
}

/// What became of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChainStatus {
    /// It takes no part in the chain.
    Unlinked,
    /// It lies on the way from the last message to the root.
    Path,
    /// It lies on the path because a compaction carried it over.
    Carried,
    /// It hangs beside the path and belongs to it.
    Recovered,
    /// It lies on another branch.
    Branch,
    /// It belongs to a sub-agent.
    Subagent,
    /// It repeats another record.
    Duplicate,
}

impl ChainStatus {
    /// Whether it belongs to the conversation.
    pub fn is_in_conversation(self) -> bool {
        match self {
            ChainStatus::Path | ChainStatus::Carried | ChainStatus::Recovered => true,
            ChainStatus::Unlinked
            | ChainStatus::Branch
            | ChainStatus::Subagent
            | ChainStatus::Duplicate => false,
        }
    }
}

/// The conversation in a chain of records.
#[derive(Clone, Debug)]
pub struct RecordChain<'a> {
    /// The conversation: each message is made of the fragments of its group.
    pub draft: Draft<'a>,
    /// For each message the records it is made of.
    pub groups: Vec<MessageRecords>,
    /// Records of the groups.
    pub records: Vec<u32>,
    /// All records of the conversation, those that are no messages included, in its order.
    pub order: Vec<u32>,
    /// What became of each record.
    pub statuses: Vec<ChainStatus>,
    /// For each flaw of the draft's body the record that has it.
    pub defect_records: Vec<u32>,
    /// Records of messages that were left out because they say nothing.
    pub empty_records: Vec<u32>,
}

impl<'a> RecordChain<'a> {
    /// The records that a message is made of.
    pub fn records_of(&self, message: usize) -> &[u32] {
        let range = self.groups.get(message).map_or(0..0, MessageRecords::range);
        self.records.get(range).unwrap_or(&[])
    }
}

/// Finds the conversation. `fragments` holds one message for each record that is one.
pub fn build_chain<'a>(
    links: &[RecordLink<'a>],
    fragments: &Draft<'a>,
    carried: &[CarriedRecords<'a>],
    manner: LoaderBehavior,
) -> RecordChain<'a> {
    let mut state = ChainBuilder::new(links, fragments, manner);
    walk::walk_path(&mut state);
    walk::place_carried(&mut state, carried);
    units::build_units(&mut state);
    units::recover(&mut state);
    units::place_recovered(&mut state);
    // Large files have many records: what is not needed any more goes before messages are made.
    (state.ids, state.later_records, state.calls) = Default::default();
    let mut composed = compose::compose_messages(&state);
    if lost_answers::find_lost_answers(&mut state, &composed) {
        units::place_recovered(&mut state);
        composed = compose::compose_messages(&state);
    }
    compose::finish_chain(state, composed)
}

/// A conversation whose records are not linked: one record for each message, in order.
pub fn unlinked_chain<'a>(
    draft: Draft<'a>,
    records: Vec<u32>,
    standing: Vec<ChainStatus>,
) -> RecordChain<'a> {
    let groups = (0..).take(records.len()).map(MessageRecords::single).collect();
    let mut order = records.clone();
    order.dedup();
    RecordChain {
        draft,
        groups,
        records,
        order,
        statuses: standing,
        defect_records: Vec::new(),
        empty_records: Vec::new(),
    }
}

/// The record that each record hangs on.
pub fn resolve_parents(links: &[RecordLink<'_>]) -> Vec<Option<u32>> {
    let mut ids: HashMap<&str, u32> = HashMap::with_capacity(links.len());
    let mut later: HashMap<&str, u32> = HashMap::new();
    for (at, link) in (0..).zip(links) {
        link.id.map(|id| ids.entry(id).or_insert(at));
    }
    let mut parents = Vec::with_capacity(links.len());
    for (at, link) in (0..).zip(links) {
        // The nearest record of that id before it, else the first.
        let found = link.parent.and_then(|id| later.get(id).or_else(|| ids.get(id)).copied());
        parents.push(found);
        link.id.map(|id| later.insert(id, at));
    }
    parents
}

/// The chain while it is being made out.
struct ChainBuilder<'s, 'a> {
    links: &'s [RecordLink<'a>],
    fragments: &'s Draft<'a>,
    behavior: LoaderBehavior,
    /// The first record of each id.
    ids: HashMap<&'a str, u32>,
    /// Later records of an id that say something else.
    later_records: HashMap<&'a str, Vec<u32>>,
    /// What records say whose id is used twice.
    repeated_texts: HashSet<(&'a str, &'a str)>,
    /// From the root to the last message.
    path: Vec<u32>,
    statuses: Vec<ChainStatus>,
    units: Vec<units::ReplyUnit<'a>>,
    /// How many calls each unit makes under an id, how many of them its records answer, and how
    /// many of these answers are real.
    calls: HashMap<(usize, &'s str), (u32, u32, u32)>,
    /// The unit of each record; [`NONE`] if it has none.
    unit_of_record: Vec<u32>,
    /// In which list of its unit each record stands.
    sections: Vec<Option<units::UnitSection>>,
    defects: Vec<(u32, FileDefect)>,
    /// For each rule the flaws that say something.
    described_defects: HashMap<u16, VecDeque<usize>>,
}

const NO_RECORD: u32 = u32::MAX;

impl<'s, 'a> ChainBuilder<'s, 'a> {
    fn new(
        links: &'s [RecordLink<'a>],
        fragments: &'s Draft<'a>,
        manner: LoaderBehavior,
    ) -> ChainBuilder<'s, 'a> {
        let only_side = !links.iter().any(|link| link.fragment.is_some() && !link.is_subagent);
        let mut state = ChainBuilder {
            links,
            fragments,
            behavior: manner,
            ids: HashMap::with_capacity(links.len()),
            later_records: HashMap::new(),
            repeated_texts: HashSet::new(),
            path: Vec::new(),
            statuses: Vec::with_capacity(links.len()),
            units: Vec::new(),
            calls: HashMap::new(),
            unit_of_record: vec![NO_RECORD; links.len()],
            sections: vec![None; links.len()],
            defects: Vec::new(),
            described_defects: HashMap::new(),
        };
        for (index, link) in (0..).zip(links) {
            let standing = match link.id {
                None => ChainStatus::Unlinked,
                Some(_) if link.is_subagent && !only_side => ChainStatus::Subagent,
                Some(id) => state.register_record(index, id),
            };
            state.statuses.push(standing);
        }
        state
    }

    /// Notes a record under its id.
    fn register_record(&mut self, index: u32, id: &'a str) -> ChainStatus {
        let first = *self.ids.entry(id).or_insert(index);
        if first == index {
            return ChainStatus::Branch;
        }
        // What was said under an id, once it is used twice.
        let (one, two) = (self.source_text(first), self.source_text(index));
        self.repeated_texts.insert((id, one));
        let twin = !self.repeated_texts.insert((id, two));
        let harm = if twin { DefectHarm::Nothing } else { DefectHarm::HidesHistory };
        let (strategy, mend) = if twin {
            (Strategy::Drop, format!("the second record `{id}`, which says the same, is taken out"))
        } else {
            self.later_records.entry(id).or_default().push(index);
            (Strategy::Rename, format!("the second record `{id}` gets an id of its own"))
        };
        let what = if twin {
            format!("record `{id}` stands there twice")
        } else {
            format!("record id `{id}` is used again for another record")
        };
        self.add_defect(703, index, vec![id.to_owned()], what, mend, strategy);
        if let Some((_, flaw)) = self.defects.last_mut() {
            flaw.harm = harm;
        }
        if twin { ChainStatus::Duplicate } else { ChainStatus::Branch }
    }

    /// The message of a record, or all of it, as it is spelled.
    fn source_text(&self, index: u32) -> &'a str {
        let link = &self.links[index as usize];
        let fragment = link.fragment.and_then(|at| self.fragments.messages.get(at as usize));
        fragment.map_or(link.span, |message| message.span).of(self.fragments.source)
    }

    /// The record that a record means by an id: the nearest before it, else the first.
    fn resolve(&self, id: &str, from: u32) -> Option<u32> {
        let first = self.ids.get(id).copied()?;
        let others = self.later_records.get(id).map_or(&[][..], Vec::as_slice);
        let before = others.partition_point(|&other| other < from);
        Some(before.checked_sub(1).and_then(|at| others.get(at)).copied().unwrap_or(first))
    }

    fn link(&self, index: u32) -> &'s RecordLink<'a> {
        &self.links[index as usize]
    }

    fn parts(&self, index: u32) -> &'s [crate::draft::Part<'a>] {
        let fragments = self.fragments;
        let message = self.link(index).fragment.and_then(|at| fragments.messages.get(at as usize));
        message.map_or(&[], |message| fragments.parts_of(message))
    }

    fn role(&self, index: u32) -> Option<Role> {
        let link = self.link(index);
        let fragment = link.fragment.filter(|_| !link.is_hidden)?;
        self.fragments.messages.get(fragment as usize).map(|message| message.role)
    }

    /// The ids that a record answers.
    fn answered_ids(&self, index: u32) -> impl Iterator<Item = &'s str> {
        self.parts(index).iter().filter_map(|part| match &part.kind {
            PartKind::Answer(answer) => answer.id.as_deref(),
            _ => None,
        })
    }

    fn holds_only_answers(&self, index: u32) -> bool {
        let parts = self.parts(index);
        !parts.is_empty() && parts.iter().all(|part| matches!(part.kind, PartKind::Answer(_)))
    }

    /// Nothing but white space.
    fn is_blank(&self, index: u32) -> bool {
        let blank = |kind: &PartKind<'_>| {
            matches!(kind, PartKind::Text(TextShape::Empty | TextShape::Blank | TextShape::Missing))
        };
        let parts = self.parts(index);
        !parts.is_empty() && parts.iter().all(|part| blank(&part.kind))
    }

    /// Nothing but reasoning and white space.
    fn is_reasoning_or_blank(&self, index: u32) -> bool {
        self.parts(index).iter().all(|part| match &part.kind {
            PartKind::Reasoning(_)
            | PartKind::Text(TextShape::Empty | TextShape::Blank | TextShape::Missing) => true,
            PartKind::Text(_)
            | PartKind::Media
            | PartKind::Call(_)
            | PartKind::Answer(_)
            | PartKind::ServerCall(_)
            | PartKind::ServerAnswer(_)
            | PartKind::Other => false,
        })
    }

    fn add_defect(
        &mut self,
        code: u16,
        record: u32,
        ids: Vec<String>,
        what: String,
        mend: String,
        strategy: Strategy,
    ) {
        let span = self.link(record).span;
        let spoken = self.described_defects.entry(code).or_default();
        // The path is walked from its end: of its flaws those are listed that are met last.
        let backwards = matches!(code, 701 | 704);
        let oldest =
            if backwards && spoken.len() >= MAX_LISTED { spoken.pop_front() } else { None };
        if let Some((_, flaw)) = oldest.and_then(|oldest| self.defects.get_mut(oldest)) {
            flaw.text = None;
        }
        let text = || DefectText { ids, problem: what, repair: mend };
        let (severity, harm) = (Severity::Warning, DefectHarm::HidesHistory);
        let fix = Fix::safe(strategy);
        let flaw = FileDefect::new(code, severity, harm, span, fix, spoken.len(), text);
        if flaw.text.is_some() {
            spoken.push_back(self.defects.len());
        }
        self.defects.push((record, flaw));
    }
}
