//! Session files that link records to their parents: which of them are the conversation.
//!
//! A record names its parent; the conversation is the way from the last message back to a root.
//! But agents write one reply as several records, hang the answers to parallel calls beside each
//! other, and link through records that are no messages. A plain walk loses answers that are
//! there. Here the walk is made, the pieces of a reply are put together, and answers beside the
//! path are brought back onto it.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::{
    draft::{Draft, Flaw, FlawHarm, FlawText, Kind, Role, Text},
    report::{Fix, LISTED, Severity, Strategy},
    span::Span,
};

mod walk;
mod units;
mod compose;
mod lost;

pub use compose::Group;

/// One record of a session file, as far as links are concerned.
#[derive(Clone, Copy, Debug, Default)]
pub struct Link<'a> {
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
    pub side: bool,
    /// A message that the agent keeps for itself.
    pub hidden: bool,
    /// Where it lies.
    pub span: Span,
}

/// What an agent does by itself when it loads a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Manner {
    /// It finds answers that hang beside the path under the reply they belong to.
    pub finds_siblings: bool,
    /// It leaves out replies that hold nothing but reasoning or white space.
    pub leaves_hollow: bool,
    /// It leaves out records of a reply that hold nothing but white space.
    pub leaves_blank: bool,
}

/// Records that a compaction carried over, and the record behind which they stand now.
#[derive(Clone, Debug, Default)]
pub struct Carried<'a> {
    /// The record behind which they stand.
    pub anchor: &'a str,
    /// Their ids, in order.
    pub ids: Vec<&'a str>,
    /// Instead of ids: the last of them and the first, between which parents lead.
    pub segment: Option<(&'a str, &'a str)>,
}

/// What became of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// It takes no part in the chain.
    Aside,
    /// It lies on the way from the last message to the root.
    Path,
    /// It lies on the path because a compaction carried it over.
    Carried,
    /// It hangs beside the path and belongs to it.
    Recovered,
    /// It lies on another branch.
    Branch,
    /// It belongs to a sub-agent.
    Side,
    /// It repeats another record.
    Twin,
}

impl Standing {
    /// Whether it belongs to the conversation.
    pub fn is_in(self) -> bool {
        match self {
            Standing::Path | Standing::Carried | Standing::Recovered => true,
            Standing::Aside | Standing::Branch | Standing::Side | Standing::Twin => false,
        }
    }
}

/// The conversation in a chain of records.
#[derive(Clone, Debug)]
pub struct Chain<'a> {
    /// The conversation: each message is made of the fragments of its group.
    pub draft: Draft<'a>,
    /// For each message the records it is made of.
    pub groups: Vec<Group>,
    /// Records of the groups.
    pub records: Vec<u32>,
    /// All records of the conversation, those that are no messages included, in its order.
    pub order: Vec<u32>,
    /// What became of each record.
    pub standing: Vec<Standing>,
    /// For each flaw of the draft's body the record that has it.
    pub culprits: Vec<u32>,
    /// Records of messages that were left out because they say nothing.
    pub hollow: Vec<u32>,
}

impl<'a> Chain<'a> {
    /// The records that a message is made of.
    pub fn records_of(&self, message: usize) -> &[u32] {
        let range = self.groups.get(message).map_or(0..0, Group::range);
        self.records.get(range).unwrap_or(&[])
    }
}

/// Finds the conversation. `fragments` holds one message for each record that is one.
pub fn chain<'a>(
    links: &[Link<'a>],
    fragments: &Draft<'a>,
    carried: &[Carried<'a>],
    manner: Manner,
) -> Chain<'a> {
    let mut state = State::new(links, fragments, manner);
    walk::walk(&mut state);
    walk::carry(&mut state, carried);
    units::build(&mut state);
    units::recover(&mut state);
    units::settle(&mut state);
    // Large files have many records: what is not needed any more goes before messages are made.
    (state.ids, state.others, state.calls) = Default::default();
    let mut composed = compose::compose(&state);
    if lost::find(&mut state, &composed) {
        units::settle(&mut state);
        composed = compose::compose(&state);
    }
    compose::finish(state, composed)
}

/// A conversation whose records are not linked: one record for each message, in order.
pub fn sequence<'a>(draft: Draft<'a>, records: Vec<u32>, standing: Vec<Standing>) -> Chain<'a> {
    let groups = (0..).take(records.len()).map(Group::single).collect();
    let mut order = records.clone();
    order.dedup();
    Chain { draft, groups, records, order, standing, culprits: Vec::new(), hollow: Vec::new() }
}

/// The record that each record hangs on.
pub fn parents(links: &[Link<'_>]) -> Vec<Option<u32>> {
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
struct State<'s, 'a> {
    links: &'s [Link<'a>],
    fragments: &'s Draft<'a>,
    manner: Manner,
    /// The first record of each id.
    ids: HashMap<&'a str, u32>,
    /// Later records of an id that say something else.
    others: HashMap<&'a str, Vec<u32>>,
    /// What records say whose id is used twice.
    said: HashSet<(&'a str, &'a str)>,
    /// From the root to the last message.
    path: Vec<u32>,
    standing: Vec<Standing>,
    units: Vec<units::Unit<'a>>,
    /// How many calls each unit makes under an id, how many of them its records answer, and how
    /// many of these answers are real.
    calls: HashMap<(usize, &'s str), (u32, u32, u32)>,
    /// The unit of each record; [`NONE`] if it has none.
    unit: Vec<u32>,
    /// In which list of its unit each record stands.
    listed: Vec<Option<units::Place>>,
    flaws: Vec<(u32, Flaw)>,
    /// For each rule the flaws that say something.
    spoken: HashMap<u16, VecDeque<usize>>,
}

const NONE: u32 = u32::MAX;

impl<'s, 'a> State<'s, 'a> {
    fn new(links: &'s [Link<'a>], fragments: &'s Draft<'a>, manner: Manner) -> State<'s, 'a> {
        let only_side = !links.iter().any(|link| link.fragment.is_some() && !link.side);
        let mut state = State {
            links,
            fragments,
            manner,
            ids: HashMap::with_capacity(links.len()),
            others: HashMap::new(),
            said: HashSet::new(),
            path: Vec::new(),
            standing: Vec::with_capacity(links.len()),
            units: Vec::new(),
            calls: HashMap::new(),
            unit: vec![NONE; links.len()],
            listed: vec![None; links.len()],
            flaws: Vec::new(),
            spoken: HashMap::new(),
        };
        for (index, link) in (0..).zip(links) {
            let standing = match link.id {
                None => Standing::Aside,
                Some(_) if link.side && !only_side => Standing::Side,
                Some(id) => state.enter(index, id),
            };
            state.standing.push(standing);
        }
        state
    }

    /// Notes a record under its id.
    fn enter(&mut self, index: u32, id: &'a str) -> Standing {
        let first = *self.ids.entry(id).or_insert(index);
        if first == index {
            return Standing::Branch;
        }
        // What was said under an id, once it is used twice.
        let (one, two) = (self.says(first), self.says(index));
        self.said.insert((id, one));
        let twin = !self.said.insert((id, two));
        let harm = if twin { FlawHarm::Nothing } else { FlawHarm::HidesHistory };
        let (strategy, mend) = if twin {
            (Strategy::Drop, format!("the second record `{id}`, which says the same, is taken out"))
        } else {
            self.others.entry(id).or_default().push(index);
            (Strategy::Rename, format!("the second record `{id}` gets an id of its own"))
        };
        let what = if twin {
            format!("record `{id}` stands there twice")
        } else {
            format!("record id `{id}` is used again for another record")
        };
        self.flaw(703, index, vec![id.to_owned()], what, mend, strategy);
        if let Some((_, flaw)) = self.flaws.last_mut() {
            flaw.harm = harm;
        }
        if twin { Standing::Twin } else { Standing::Branch }
    }

    /// The message of a record, or all of it, as it is spelled.
    fn says(&self, index: u32) -> &'a str {
        let link = &self.links[index as usize];
        let fragment = link.fragment.and_then(|at| self.fragments.messages.get(at as usize));
        fragment.map_or(link.span, |message| message.span).of(self.fragments.source)
    }

    /// The record that a record means by an id: the nearest before it, else the first.
    fn resolve(&self, id: &str, from: u32) -> Option<u32> {
        let first = self.ids.get(id).copied()?;
        let others = self.others.get(id).map_or(&[][..], Vec::as_slice);
        let before = others.partition_point(|&other| other < from);
        Some(before.checked_sub(1).and_then(|at| others.get(at)).copied().unwrap_or(first))
    }

    fn link(&self, index: u32) -> &'s Link<'a> {
        &self.links[index as usize]
    }

    fn parts(&self, index: u32) -> &'s [crate::draft::Part<'a>] {
        let fragments = self.fragments;
        let message = self.link(index).fragment.and_then(|at| fragments.messages.get(at as usize));
        message.map_or(&[], |message| fragments.parts_of(message))
    }

    fn role(&self, index: u32) -> Option<Role> {
        let link = self.link(index);
        let fragment = link.fragment.filter(|_| !link.hidden)?;
        self.fragments.messages.get(fragment as usize).map(|message| message.role)
    }

    /// The ids that a record answers.
    fn answers(&self, index: u32) -> impl Iterator<Item = &'s str> {
        self.parts(index).iter().filter_map(|part| match &part.kind {
            Kind::Answer(answer) => answer.id.as_deref(),
            _ => None,
        })
    }

    fn only_answers(&self, index: u32) -> bool {
        let parts = self.parts(index);
        !parts.is_empty() && parts.iter().all(|part| matches!(part.kind, Kind::Answer(_)))
    }

    /// Nothing but white space.
    fn is_blank(&self, index: u32) -> bool {
        let blank =
            |kind: &Kind<'_>| matches!(kind, Kind::Text(Text::Empty | Text::Blank | Text::Missing));
        let parts = self.parts(index);
        !parts.is_empty() && parts.iter().all(|part| blank(&part.kind))
    }

    /// Nothing but reasoning and white space.
    fn is_hollow(&self, index: u32) -> bool {
        self.parts(index).iter().all(|part| match &part.kind {
            Kind::Reasoning(_) | Kind::Text(Text::Empty | Text::Blank | Text::Missing) => true,
            Kind::Text(_)
            | Kind::Media
            | Kind::Call(_)
            | Kind::Answer(_)
            | Kind::ServerCall(_)
            | Kind::ServerAnswer(_)
            | Kind::Other => false,
        })
    }

    fn flaw(
        &mut self,
        code: u16,
        record: u32,
        ids: Vec<String>,
        what: String,
        mend: String,
        strategy: Strategy,
    ) {
        let span = self.link(record).span;
        let spoken = self.spoken.entry(code).or_default();
        // The path is walked from its end: of its flaws those are listed that are met last.
        let backwards = matches!(code, 701 | 704);
        let oldest = if backwards && spoken.len() >= LISTED { spoken.pop_front() } else { None };
        if let Some((_, flaw)) = oldest.and_then(|oldest| self.flaws.get_mut(oldest)) {
            flaw.text = None;
        }
        let text = || FlawText { ids, what, mend };
        let (severity, harm) = (Severity::Warning, FlawHarm::HidesHistory);
        let fix = Fix::safe(strategy);
        let flaw = Flaw::new(code, severity, harm, span, fix, spoken.len(), text);
        if flaw.text.is_some() {
            spoken.push_back(self.flaws.len());
        }
        self.flaws.push((record, flaw));
    }
}
