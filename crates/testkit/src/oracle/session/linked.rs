//! Files whose records name their parents.
//!
//! The conversation is the path from the last message to a root. Agents write a reply as several
//! records, and the results of parallel calls as siblings; so records that are linked to a reply on
//! the path and belong to it are included.

use serde_json::Value;

use super::{LineRecord, SessionConversation, blocks};
use crate::PLACEHOLDERS;

mod compose;

/// What differs between agents.
pub(super) struct LinkedAgent {
    /// Whether a record is part of the chain.
    pub(super) is_linked: fn(&Value) -> bool,
    /// The message in a record, in the format of the provider's API.
    pub(super) message: fn(&Value) -> Option<Value>,
    /// The reply that a record is a part of.
    pub(super) key: fn(&Value) -> Option<String>,
    /// The records that a compaction carried over, if this record is a compaction.
    pub(super) carried: fn(&Value) -> Option<CarriedOver>,
    /// Whether replies with only reasoning or white space are not sent.
    pub(super) leaves_hollow: bool,
    /// Whether blank records of a reply are not sent, by the last version that wrote to the file.
    pub(super) leaves_blank: fn(Option<&str>) -> bool,
    /// Whether the path starts at the last record, even if that is not a message.
    pub(super) starts_at_notes: bool,
}

/// Records that a compaction moved after another record.
pub(super) enum CarriedOver {
    Named { anchor: String, ids: Vec<String> },
    Segment { anchor: String, head: String, tail: String },
}

/// A record that can be linked.
struct LinkedNode<'r> {
    line: usize,
    record: &'r Value,
    id: &'r str,
    parent: Option<&'r str>,
    /// The parent that a compaction cuts off.
    cut: Option<&'r str>,
    message: Option<Value>,
}

/// A reply with its results and everything up to the next reply.
#[derive(Default)]
struct LinkedReply {
    key: Option<String>,
    reply: Vec<usize>,
    answers: Vec<usize>,
    rest: Vec<usize>,
    notes: Vec<usize>,
}

pub(super) fn view(records: &[LineRecord], agent: &LinkedAgent) -> SessionConversation {
    let file = LinkedFile::new(records, agent);
    let walked = file.path();
    let path = file.carry(walked.clone());
    let mut units = file.units(&path);
    while file.attach(&mut units) {}
    let carried = path.into_iter().filter(|at| !walked.contains(at));
    let carried = carried.map(|at| file.nodes[at].line).collect();
    SessionConversation { carried, ..file.compose(units) }
}

/// The lines on the path from the last message to the root.
pub(super) fn plain_walk(records: &[LineRecord], agent: &LinkedAgent) -> Vec<usize> {
    let file = LinkedFile::new(records, agent);
    file.path().into_iter().map(|at| file.nodes[at].line).collect()
}

struct LinkedFile<'r> {
    nodes: Vec<LinkedNode<'r>>,
    agent: &'r LinkedAgent,
    /// What each compaction carried over, with its line.
    carried: Vec<(usize, CarriedOver)>,
}

impl<'r> LinkedFile<'r> {
    fn new(records: &'r [LineRecord], agent: &'r LinkedAgent) -> Self {
        let mut nodes: Vec<LinkedNode<'r>> = Vec::new();
        for LineRecord { line, value } in records {
            let linked = (agent.is_linked)(value);
            let Some(id) = value["uuid"].as_str().filter(|_| linked) else { continue };
            let (parent, message) = (value["parentUuid"].as_str(), (agent.message)(value));
            let same = |other: &LinkedNode<'_>| match (&other.message, &message) {
                (Some(one), Some(two)) => one == two,
                (None, None) => other.record == value,
                _ => false,
            };
            if !nodes.iter().any(|other| other.id == id && same(other)) {
                let cut = value["cutParent"].as_str();
                nodes.push(LinkedNode { line: *line, record: value, id, parent, cut, message });
            }
        }
        let side = |node: &LinkedNode<'_>| node.record["isSidechain"] == true;
        if nodes.iter().any(|node| node.message.is_some() && !side(node)) {
            nodes.retain(|node| !side(node));
        }
        let carried = |record: &LineRecord| Some((record.line, (agent.carried)(&record.value)?));
        let carried = records.iter().filter_map(carried).collect();
        Self { nodes, agent, carried }
    }

    /// The record that an id refers to: the nearest one before, otherwise the first.
    fn find(&self, id: &str, from: usize) -> Option<usize> {
        let mut all = (0..self.nodes.len()).filter(|at| self.nodes[*at].id == id);
        let before = all.clone().take_while(|at| *at < from).last();
        before.or_else(|| all.next())
    }

    /// A record and all of its ancestors.
    fn ancestors(&self, index: usize) -> Vec<usize> {
        let mut above = Vec::new();
        let mut at = Some(index);
        while let Some(index) = at.filter(|index| !above.contains(index)) {
            above.push(index);
            at = self.nodes[index].parent.and_then(|id| self.find(id, index));
        }
        above
    }

    /// The path from the root to the last message.
    fn path(&self) -> Vec<usize> {
        let notes = self.agent.starts_at_notes;
        let last = self.nodes.iter().rposition(|node| notes || node.message.is_some());
        let mut path = last.map(|last| self.ancestors(last)).unwrap_or_default();
        path.reverse();
        path
    }

    /// Inserts the carried-over records after their anchor.
    fn carry(&self, path: Vec<usize>) -> Vec<usize> {
        let mut whole: Vec<usize> = Vec::new();
        for index in &path {
            whole.push(*index);
            for (line, carried) in &self.carried {
                let (anchor, carried_nodes) = match carried {
                    CarriedOver::Named { anchor, ids } => {
                        let carried_nodes =
                            ids.iter().filter_map(|id| self.find(id, usize::MAX)).collect();
                        (anchor, carried_nodes)
                    }
                    CarriedOver::Segment { anchor, head, tail } => {
                        (anchor, self.segment(head, tail))
                    }
                };
                if anchor == self.nodes[*index].id {
                    let free = |at: &usize| {
                        let node = &self.nodes[*at];
                        let earlier = node.line < *line && node.cut.is_none();
                        earlier && !path.contains(at) && !whole.contains(at)
                    };
                    let carried_nodes: Vec<usize> =
                        carried_nodes.into_iter().filter(free).collect();
                    whole.extend(carried_nodes);
                }
            }
        }
        whole
    }

    /// The path from head to tail; empty if there is none.
    fn segment(&self, head: &str, tail: &str) -> Vec<usize> {
        let mut found = Vec::new();
        let mut at = self.find(tail, usize::MAX);
        while let Some(index) = at.filter(|index| !found.contains(index)) {
            found.push(index);
            if self.nodes[index].id == head {
                found.reverse();
                return found;
            }
            let node = &self.nodes[index];
            at = node.parent.or(node.cut).and_then(|id| self.find(id, index));
        }
        Vec::new()
    }

    /// The message of a record, unless the agent does not send it.
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

    /// Splits the path into units.
    fn units(&self, path: &[usize]) -> Vec<LinkedReply> {
        let mut units = vec![LinkedReply::default()];
        for &index in path {
            let count = units.len();
            let unit = &mut units[count - 1];
            if self.said(index).is_none() {
                unit.notes.push(index);
            } else if self.is_reply(index) {
                let key = (self.agent.key)(self.nodes[index].record);
                if key.is_some() && key == unit.key && unit.rest.is_empty() {
                    unit.reply.push(index);
                } else {
                    units.push(LinkedReply { key, reply: vec![index], ..LinkedReply::default() });
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

    /// Whether a record is the result of a call of a unit that has none yet. A reply that uses an
    /// id twice can have two results; a placeholder can be followed by the real result.
    fn answers(&self, unit: &LinkedReply, index: usize) -> bool {
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

    /// Includes records that are linked to the units and belong to them. Returns whether there were
    /// any.
    fn attach(&self, units: &mut [LinkedReply]) -> bool {
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
                let key = (self.agent.key)(self.nodes[index].record);
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

/// Whether a result is a placeholder.
fn is_placeholder(result: &Value) -> bool {
    let content = match &result["content"] {
        Value::Array(list) if list.len() == 1 => &list[0]["text"],
        content => content,
    };
    content.as_str().is_some_and(|it| it.starts_with("[foxwedge] ") || PLACEHOLDERS.contains(&it))
}
