//! Finds the conversation in session files whose records name their parents.
//!
//! The conversation is the path from the last message back to a root. But agents write one reply as
//! several records, attach the results of parallel calls as siblings, and link through records that
//! are not messages. A plain walk would lose results that are in the file. This module walks the
//! path, joins the records of a reply, and moves results that are beside the path onto it.

use std::collections::{HashMap, HashSet, VecDeque};

use foxwedge_core::{
    DefectHarm, DefectText, Draft, FileDefect, Fix, MAX_LISTED, PartKind, Role, Severity, Span,
    Strategy, TextShape,
};

mod walk;
mod units;
mod compose;
mod lost_answers;

pub(crate) use compose::MessageRecords;

/// The links of one record of a session file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RecordLink<'a> {
    /// The record id as written. A record without an id is in no chain.
    pub(crate) id: Option<&'a str>,
    /// The id of the parent record; `None` for a root.
    pub(crate) parent: Option<&'a str>,
    /// The id of the record with the call that this record answers, if the agent records that.
    pub(crate) source: Option<&'a str>,
    /// The reply that this record is a part of.
    pub(crate) reply: Option<(&'a str, &'a str)>,
    /// The index of its message in the fragments; `None` if it is not a message.
    pub(crate) fragment: Option<u32>,
    /// The parent that a compaction cuts off. Only the records that it carries over follow it.
    pub(crate) cut_parent: Option<&'a str>,
    /// Whether it belongs to a sub-agent's conversation.
    pub(crate) is_subagent: bool,
    /// Whether it is a message that the agent does not send.
    pub(crate) is_hidden: bool,
    /// The bytes of the record in the file.
    pub(crate) span: Span,
}

/// What an agent corrects by itself when it loads a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LoaderBehavior {
    /// It finds results beside the path under the reply they belong to.
    pub(crate) finds_siblings: bool,
    /// It skips replies that hold only reasoning or white space.
    pub(crate) skips_empty_replies: bool,
    /// It skips records of a reply that hold only white space.
    pub(crate) skips_blank_records: bool,
    /// It starts at the last record of the file, even if that is not a message.
    pub(crate) starts_at_notes: bool,
    /// What replaces the history before a compaction is not joined with the next message.
    pub(crate) keeps_summaries_apart: bool,
}

/// Records that a compaction carried over, and the record they now follow.
#[derive(Clone, Debug, Default)]
pub(crate) struct CarriedRecords<'a> {
    /// The record of the compaction. It carries over what stands before it in the file.
    pub(crate) compaction: u32,
    /// The id of the record they follow.
    pub(crate) anchor: &'a str,
    /// Their ids, in order.
    pub(crate) ids: Vec<&'a str>,
    /// Instead of ids: the last and the first of them. The parent links lead from one to the other.
    pub(crate) segment: Option<(&'a str, &'a str)>,
}

/// Whether and why a record is part of the conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChainStatus {
    /// It is not part of a chain.
    Unlinked,
    /// It is on the path from the last message to the root.
    Path,
    /// It is on the path because a compaction carried it over.
    Carried,
    /// It is beside the path but belongs to the conversation.
    Recovered,
    /// It is on another branch.
    Branch,
    /// It belongs to a sub-agent.
    Subagent,
    /// It repeats another record.
    Duplicate,
}

impl ChainStatus {
    /// Whether the record belongs to the conversation.
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

/// The conversation found in a chain of records.
#[derive(Clone, Debug)]
pub(crate) struct RecordChain<'a> {
    /// The conversation. Each message consists of the fragments of its group.
    pub(crate) draft: Draft<'a>,
    /// For each message the records it consists of, as a range of `records`.
    pub(crate) groups: Vec<MessageRecords>,
    /// The records of all groups.
    pub(crate) records: Vec<u32>,
    /// All records of the conversation in its order, including those that are not messages.
    pub(crate) order: Vec<u32>,
    /// The status of each record.
    pub(crate) statuses: Vec<ChainStatus>,
    /// For each defect of the draft's body the record it concerns.
    pub(crate) defect_records: Vec<u32>,
    /// Records whose wrong links stay, because the agent tolerates them.
    pub(crate) spared_links: Vec<u32>,
    /// Records that are left out because they have no content.
    pub(crate) empty_records: Vec<u32>,
}

impl<'a> RecordChain<'a> {
    /// The records that a message consists of.
    pub(crate) fn records_of(&self, message: usize) -> &[u32] {
        let range = self.groups.get(message).map_or(0..0, MessageRecords::range);
        self.records.get(range).unwrap_or(&[])
    }
}

/// Finds the conversation. `fragments` holds one message for each record that is a message.
pub(crate) fn build_chain<'a>(
    links: &[RecordLink<'a>],
    fragments: &Draft<'a>,
    carried: &[CarriedRecords<'a>],
    behavior: LoaderBehavior,
) -> RecordChain<'a> {
    let mut builder = ChainBuilder::new(links, fragments, behavior);
    walk::walk_path(&mut builder);
    walk::place_carried(&mut builder, carried);
    units::build_units(&mut builder);
    units::recover(&mut builder);
    units::place_recovered(&mut builder);
    let mut composed = compose::compose_messages(&builder);
    if lost_answers::find_lost_answers(&mut builder, &composed) {
        // Further parts of the reply may be attached to such a result.
        units::recover(&mut builder);
        units::place_recovered(&mut builder);
        composed = compose::compose_messages(&builder);
    }
    compose::finish_chain(builder, composed)
}

/// A conversation whose records have no links: one record per message, in order.
pub(crate) fn unlinked_chain<'a>(
    draft: Draft<'a>,
    records: Vec<u32>,
    statuses: Vec<ChainStatus>,
) -> RecordChain<'a> {
    let groups = (0..).take(records.len()).map(MessageRecords::single).collect();
    let mut order = records.clone();
    order.dedup();
    RecordChain {
        draft,
        groups,
        records,
        order,
        statuses,
        defect_records: Vec::new(),
        spared_links: Vec::new(),
        empty_records: Vec::new(),
    }
}

/// The parent of each record. A copy of another record is no parent, as in
/// [`ChainBuilder::resolve`].
pub(crate) fn resolve_parents(
    links: &[RecordLink<'_>],
    statuses: &[ChainStatus],
) -> Vec<Option<u32>> {
    let mut ids: HashMap<&str, u32> = HashMap::with_capacity(links.len());
    let mut later: HashMap<&str, u32> = HashMap::new();
    for (at, link) in (0..).zip(links) {
        link.id.map(|id| ids.entry(id).or_insert(at));
    }
    let mut parents = Vec::with_capacity(links.len());
    for (at, link) in (0..).zip(links) {
        // The nearest earlier record with that id, else the first.
        let found = link.parent.and_then(|id| later.get(id).or_else(|| ids.get(id)).copied());
        parents.push(found);
        let is_copy = statuses.get(at as usize) == Some(&ChainStatus::Duplicate);
        link.id.filter(|_| !is_copy).map(|id| later.insert(id, at));
    }
    parents
}

/// The state while a chain is built.
struct ChainBuilder<'s, 'a> {
    links: &'s [RecordLink<'a>],
    fragments: &'s Draft<'a>,
    behavior: LoaderBehavior,
    /// The first record with each id.
    ids: HashMap<&'a str, u32>,
    /// Later records with the same id and other content.
    later_records: HashMap<&'a str, Vec<u32>>,
    /// The ids that are used twice, with the source text of their records.
    repeated_texts: HashSet<(&'a str, &'a str)>,
    /// From the root to the last message.
    path: Vec<u32>,
    statuses: Vec<ChainStatus>,
    units: Vec<units::ReplyUnit<'a>>,
    /// For each unit and call id: the number of calls, of results, and of results that are not
    /// placeholders.
    calls: HashMap<(usize, &'s str), (u32, u32, u32)>,
    /// The unit of each record; [`NO_RECORD`] if it has none.
    unit_of_record: Vec<u32>,
    /// The list of its unit that each record is in.
    sections: Vec<Option<units::UnitSection>>,
    defects: Vec<(u32, FileDefect)>,
    /// For each rule the indexes of the defects that have a text.
    described_defects: HashMap<u16, VecDeque<usize>>,
}

const NO_RECORD: u32 = u32::MAX;

impl<'s, 'a> ChainBuilder<'s, 'a> {
    fn new(
        links: &'s [RecordLink<'a>],
        fragments: &'s Draft<'a>,
        behavior: LoaderBehavior,
    ) -> ChainBuilder<'s, 'a> {
        let only_side = !links.iter().any(|link| link.fragment.is_some() && !link.is_subagent);
        let mut builder = ChainBuilder {
            links,
            fragments,
            behavior,
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
            let status = match link.id {
                None => ChainStatus::Unlinked,
                Some(_) if link.is_subagent && !only_side => ChainStatus::Subagent,
                Some(id) => builder.register_record(index, id),
            };
            builder.statuses.push(status);
        }
        builder
    }

    /// Registers a record under its id.
    fn register_record(&mut self, index: u32, id: &'a str) -> ChainStatus {
        let first = *self.ids.entry(id).or_insert(index);
        if first == index {
            return ChainStatus::Branch;
        }
        // Texts are compared only for ids that occur twice.
        let (one, two) = (self.source_text(first), self.source_text(index));
        self.repeated_texts.insert((id, one));
        let is_duplicate = !self.repeated_texts.insert((id, two));
        let harm = if is_duplicate { DefectHarm::Nothing } else { DefectHarm::HidesHistory };
        let (strategy, repair) = if is_duplicate {
            (Strategy::Drop, format!("the second record `{id}` is a copy and is removed"))
        } else {
            self.later_records.entry(id).or_default().push(index);
            (Strategy::Rename, format!("the second record `{id}` gets a new id"))
        };
        let problem = if is_duplicate {
            format!("record `{id}` is in the file twice")
        } else {
            format!("record id `{id}` is used again for another record")
        };
        self.add_defect(703, index, vec![id.to_owned()], problem, repair, strategy);
        if let Some((_, defect)) = self.defects.last_mut() {
            defect.harm = harm;
        }
        if is_duplicate { ChainStatus::Duplicate } else { ChainStatus::Branch }
    }

    /// The source text of the record's message, or of the whole record.
    fn source_text(&self, index: u32) -> &'a str {
        let link = &self.links[index as usize];
        let fragment = link.fragment.and_then(|at| self.fragments.messages.get(at as usize));
        fragment.map_or(link.span, |message| message.span).of(self.fragments.source)
    }

    /// The record that `from` refers to by an id: the nearest earlier one, else the first.
    fn resolve(&self, id: &str, from: u32) -> Option<u32> {
        let first = self.ids.get(id).copied()?;
        let others = self.later_records.get(id).map_or(&[][..], Vec::as_slice);
        let before = others.partition_point(|&other| other < from);
        Some(before.checked_sub(1).and_then(|at| others.get(at)).copied().unwrap_or(first))
    }

    fn link(&self, index: u32) -> &'s RecordLink<'a> {
        &self.links[index as usize]
    }

    fn parts(&self, index: u32) -> &'s [foxwedge_core::Part<'a>] {
        let fragments = self.fragments;
        let message = self.link(index).fragment.and_then(|at| fragments.messages.get(at as usize));
        message.map_or(&[], |message| fragments.parts_of(message))
    }

    fn role(&self, index: u32) -> Option<Role> {
        let link = self.link(index);
        let fragment = link.fragment.filter(|_| !link.is_hidden)?;
        self.fragments.messages.get(fragment as usize).map(|message| message.role)
    }

    /// The ids of the calls that a record answers.
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

    /// Whether a record holds only white space.
    fn is_blank(&self, index: u32) -> bool {
        let blank = |kind: &PartKind<'_>| {
            matches!(kind, PartKind::Text(TextShape::Empty | TextShape::Blank | TextShape::Missing))
        };
        let parts = self.parts(index);
        !parts.is_empty() && parts.iter().all(|part| blank(&part.kind))
    }

    /// Whether a record holds only reasoning and white space.
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
            | PartKind::Fallback
            | PartKind::Other
            | PartKind::Unknown => false,
        })
    }

    fn add_defect(
        &mut self,
        code: u16,
        record: u32,
        ids: Vec<String>,
        problem: String,
        repair: String,
        strategy: Strategy,
    ) {
        let span = self.link(record).span;
        let described = self.described_defects.entry(code).or_default();
        // The path is walked from its end, so the defects found last are the ones to list.
        let backwards = matches!(code, 701 | 704);
        let oldest =
            if backwards && described.len() >= MAX_LISTED { described.pop_front() } else { None };
        if let Some((_, defect)) = oldest.and_then(|oldest| self.defects.get_mut(oldest)) {
            defect.text = None;
        }
        let text = || DefectText { ids, problem, repair };
        let (severity, harm) = (Severity::Warning, DefectHarm::HidesHistory);
        let fix = Fix::safe(strategy);
        let defect = FileDefect::new(code, severity, harm, span, fix, described.len(), text);
        if defect.text.is_some() {
            described.push_back(self.defects.len());
        }
        self.defects.push((record, defect));
    }
}
