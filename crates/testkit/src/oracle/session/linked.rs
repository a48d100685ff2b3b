//! Files whose records name their parents.
//!
//! The conversation is the way from the last message back to a root. Agents write a reply in
//! pieces and hang the answers of parallel calls beside each other; so what hangs on a reply of
//! the path and belongs to it is taken in.

use serde_json::Value;

use super::{Record, View, blocks};
use crate::PLACEHOLDERS;

mod compose;

/// What is particular about an agent.
pub(super) struct Manner {
    /// Whether a record takes part in the chain.
    pub(super) is_linked: fn(&Value) -> bool,
    /// The message in a record, as the provider's API spells it.
    pub(super) message: fn(&Value) -> Option<Value>,
    /// Which reply a record is a piece of.
    pub(super) key: fn(&Value) -> Option<String>,
    /// What a compaction carried over, if the record is one.
    pub(super) carried: fn(&Value) -> Option<Carried>,
    /// Replies of nothing but thoughts or white space are not sent.
    pub(super) leaves_hollow: bool,
    /// Records of a reply that hold nothing but white space are not sent, by the last version that
    /// wrote to the file.
    pub(super) leaves_blank: fn(Option<&str>) -> bool,
}

/// Records that stand behind another one since a compaction.
pub(super) enum Carried {
    Named { anchor: String, ids: Vec<String> },
    Segment { anchor: String, head: String, tail: String },
}

/// A record that can be linked.
struct Node<'r> {
    line: usize,
    record: &'r Value,
    id: &'r str,
    parent: Option<&'r str>,
    message: Option<Value>,
}

/// A reply with its answers and everything up to the next reply.
#[derive(Default)]
struct Unit {
    key: Option<String>,
    reply: Vec<usize>,
    answers: Vec<usize>,
    rest: Vec<usize>,
    notes: Vec<usize>,
}

/// The conversation.
pub(super) fn view(records: &[Record], manner: &Manner) -> View {
    let file = File::new(records, manner);
    let walked = file.path();
    let path = file.carry(walked.clone());
    let mut units = file.units(&path);
    while file.attach(&mut units) {}
    let carried = path.into_iter().filter(|at| !walked.contains(at));
    let carried = carried.map(|at| file.nodes[at].line).collect();
    View { carried, ..file.compose(units) }
}

/// The lines of the way from the last message to the root.
pub(super) fn plain_walk(records: &[Record], manner: &Manner) -> Vec<usize> {
    let file = File::new(records, manner);
    file.path().into_iter().map(|at| file.nodes[at].line).collect()
}

struct File<'r> {
    nodes: Vec<Node<'r>>,
    manner: &'r Manner,
    carried: Vec<Carried>,
}

impl<'r> File<'r> {
    fn new(records: &'r [Record], manner: &'r Manner) -> Self {
        let mut nodes: Vec<Node<'r>> = Vec::new();
        for Record { line, value } in records {
            let linked = (manner.is_linked)(value);
            let Some(id) = value["uuid"].as_str().filter(|_| linked) else { continue };
            let (parent, message) = (value["parentUuid"].as_str(), (manner.message)(value));
            let same = |other: &Node<'_>| match (&other.message, &message) {
                (Some(one), Some(two)) => one == two,
                (None, None) => other.record == value,
                _ => false,
            };
            if !nodes.iter().any(|other| other.id == id && same(other)) {
                nodes.push(Node { line: *line, record: value, id, parent, message });
            }
        }
        let side = |node: &Node<'_>| node.record["isSidechain"] == true;
        if nodes.iter().any(|node| node.message.is_some() && !side(node)) {
            nodes.retain(|node| !side(node));
        }
        let carried = records.iter().filter_map(|record| (manner.carried)(&record.value)).collect();
        Self { nodes, manner, carried }
    }

    /// The record of an id that a record means: the nearest before it, else the first.
    fn find(&self, id: &str, from: usize) -> Option<usize> {
        let mut all = (0..self.nodes.len()).filter(|at| self.nodes[*at].id == id);
        let before = all.clone().take_while(|at| *at < from).last();
        before.or_else(|| all.next())
    }

    /// A record and everything it descends from, upwards.
    fn ancestors(&self, index: usize) -> Vec<usize> {
        let mut above = Vec::new();
        let mut at = Some(index);
        while let Some(index) = at.filter(|index| !above.contains(index)) {
            above.push(index);
            at = self.nodes[index].parent.and_then(|id| self.find(id, index));
        }
        above
    }

    /// From the root to the last message.
    fn path(&self) -> Vec<usize> {
        let last = self.nodes.iter().rposition(|node| node.message.is_some());
        let mut path = last.map(|last| self.ancestors(last)).unwrap_or_default();
        path.reverse();
        path
    }

    /// Puts what compactions carried over behind its anchor.
    fn carry(&self, path: Vec<usize>) -> Vec<usize> {
        let mut whole: Vec<usize> = Vec::new();
        for index in &path {
            whole.push(*index);
            for carried in &self.carried {
                let (anchor, kept) = match carried {
                    Carried::Named { anchor, ids } => {
                        let kept = ids.iter().filter_map(|id| self.find(id, usize::MAX)).collect();
                        (anchor, kept)
                    }
                    Carried::Segment { anchor, head, tail } => (anchor, self.segment(head, tail)),
                };
                if anchor == self.nodes[*index].id {
                    let free = |at: &usize| !path.contains(at) && !whole.contains(at);
                    let kept: Vec<usize> = kept.into_iter().filter(free).collect();
                    whole.extend(kept);
                }
            }
        }
        whole
    }

    /// From the head down to the tail; nothing if the one does not lead to the other.
    fn segment(&self, head: &str, tail: &str) -> Vec<usize> {
        let mut found = Vec::new();
        let mut at = self.find(tail, usize::MAX);
        while let Some(index) = at.filter(|index| !found.contains(index)) {
            found.push(index);
            if self.nodes[index].id == head {
                found.reverse();
                return found;
            }
            at = self.nodes[index].parent.and_then(|id| self.find(id, index));
        }
        Vec::new()
    }

    /// The message of a record, unless the agent keeps it for itself.
    fn said(&self, index: usize) -> Option<&Value> {
        let node = &self.nodes[index];
        node.message.as_ref().filter(|_| node.record["isApiErrorMessage"] != true)
    }

    fn blocks(&self, index: usize) -> Vec<Value> {
        blocks(self.said(index).and_then(|message| message.get("content")))
    }

    fn is_reply(&self, index: usize) -> bool {
        self.said(index).is_some_and(|message| message["role"] == "assistant")
    }

    fn only_answers(&self, index: usize) -> bool {
        let blocks = self.blocks(index);
        !blocks.is_empty() && blocks.iter().all(|block| block["type"] == "tool_result")
    }

    /// Cuts the path into units.
    fn units(&self, path: &[usize]) -> Vec<Unit> {
        let mut units = vec![Unit::default()];
        for &index in path {
            let count = units.len();
            let unit = &mut units[count - 1];
            if self.said(index).is_none() {
                unit.notes.push(index);
            } else if self.is_reply(index) {
                let key = (self.manner.key)(self.nodes[index].record);
                if key.is_some() && key == unit.key && unit.rest.is_empty() {
                    unit.reply.push(index);
                } else {
                    units.push(Unit { key, reply: vec![index], ..Unit::default() });
                }
            } else if self.only_answers(index)
                && !unit.reply.is_empty()
                && (unit.rest.is_empty() || self.answers(unit, index))
            {
                unit.answers.push(index);
            } else {
                unit.rest.push(index);
            }
        }
        units
    }

    /// Whether a record answers a call of a unit that nothing in it answers yet. Where a reply uses
    /// an id twice, there is room for two answers; a placeholder leaves room for the real one.
    fn answers(&self, unit: &Unit, index: usize) -> bool {
        let ids = |records: &[usize], kind: &str, key: &str, keep: fn(&Value) -> bool| {
            let blocks = records.iter().flat_map(|at| self.blocks(*at));
            let blocks = blocks.filter(|block| block["type"] == kind && keep(block));
            let ids = blocks.filter_map(|block| block[key].as_str().map(str::to_owned));
            ids.filter(|id| !id.is_empty()).collect::<Vec<String>>()
        };
        let calls = ids(&unit.reply, "tool_use", "id", |_| true);
        let given = [unit.answers.as_slice(), &unit.rest].concat();
        let count = |list: &[String], id: &str| list.iter().filter(|other| *other == id).count();
        let room = |keep: fn(&Value) -> bool| {
            let known = ids(&given, "tool_result", "tool_use_id", keep);
            let mut own = ids(&[index], "tool_result", "tool_use_id", keep).into_iter();
            own.any(|id| count(&calls, &id) > count(&known, &id))
        };
        room(|block| !is_placeholder(block)) || room(|_| true)
    }

    /// Takes in what hangs on the units and belongs to them. Says whether there was any.
    fn attach(&self, units: &mut [Unit]) -> bool {
        let mut any = false;
        for index in 0..self.nodes.len() {
            let unit_of = |at: usize| {
                units.iter().position(|unit| {
                    let lists = [&unit.reply, &unit.answers, &unit.rest, &unit.notes];
                    lists.into_iter().any(|list| list.contains(&at))
                })
            };
            if unit_of(index).is_some() {
                continue;
            }
            let source = self.nodes[index].record["sourceToolAssistantUUID"].as_str();
            let mut ids = [self.nodes[index].parent, source].into_iter().flatten();
            let Some(at) = ids.find_map(|id| unit_of(self.find(id, index)?)) else { continue };
            let unit = &mut units[at];
            if self.said(index).is_none() {
                unit.notes.push(index);
            } else if self.is_reply(index) {
                let key = (self.manner.key)(self.nodes[index].record);
                if key.is_none() || key != unit.key {
                    continue;
                }
                unit.reply.push(index);
            } else if self.answers(unit, index) {
                unit.answers.push(index);
            } else {
                continue;
            }
            any = true;
        }
        any
    }
}

/// Whether a result only says that there is none.
fn is_placeholder(result: &Value) -> bool {
    let words = match &result["content"] {
        Value::Array(list) if list.len() == 1 => &list[0]["text"],
        content => content,
    };
    words.as_str().is_some_and(|it| it.starts_with("[foxwedge] ") || PLACEHOLDERS.contains(&it))
}
