//! Builds messages from units.

use serde_json::{Value, json};

use super::{LinkedFile, LinkedReply};
use crate::oracle::session::{SessionConversation, blocks};

impl LinkedFile<'_> {
    /// One message for each reply, and one for everything between two replies.
    pub(super) fn compose(&self, units: Vec<LinkedReply>) -> SessionConversation {
        let mut conversation = SessionConversation::default();
        for mut unit in units {
            unit.reply = self.ordered(unit.reply);
            unit.answers = self.ordered(unit.answers);
            let mut blocks = unit.reply.iter().flat_map(|at| self.blocks(*at));
            let hollow = self.agent.leaves_hollow && unit.answers.is_empty();
            let silent = hollow && blocks.all(|block| is_hollow(&block));
            let sent_records: Vec<usize> =
                unit.reply.iter().copied().filter(|at| !self.is_left_out(*at)).collect();
            if !sent_records.is_empty() && !silent {
                self.push(&mut conversation, "assistant", &sent_records, false);
            }
            for index in unit.answers.into_iter().chain(unit.rest) {
                let role = self.said(index).and_then(|message| message["role"].as_str());
                self.push(&mut conversation, role.unwrap_or("user"), &[index], true);
            }
        }
        conversation
    }

    /// Whether a record is blank and therefore not sent.
    fn is_left_out(&self, record: usize) -> bool {
        let version =
            |node: &super::LinkedNode<'_>| node.record["version"].as_str().map(str::to_owned);
        let version = self.nodes.iter().rev().find_map(version);
        let blank = |block: &Value| block["type"] == "text" && is_hollow(block);
        let blocks = self.blocks(record);
        (self.agent.leaves_blank)(version.as_deref())
            && !blocks.is_empty()
            && blocks.iter().all(blank)
    }

    /// Adds records to the conversation: to the last message, if joining is allowed and the role is
    /// the same.
    fn push(
        &self,
        conversation: &mut SessionConversation,
        role: &str,
        records: &[usize],
        joins: bool,
    ) {
        let new_blocks: Vec<Value> = records.iter().flat_map(|at| self.blocks(*at)).collect();
        let from = records.iter().map(|at| self.nodes[*at].line);
        match (conversation.messages.last_mut(), conversation.lines.last_mut()) {
            (Some(last), Some(lines)) if joins && last["role"] == role => {
                let mut all = blocks(last.get("content"));
                all.extend(new_blocks);
                last["content"] = Value::Array(all);
                lines.extend(from);
            }
            _ => {
                // A single record keeps its content unchanged.
                let whole = match records {
                    [only] => self.said(*only).and_then(|message| message.get("content")).cloned(),
                    _ => Some(Value::Array(new_blocks)),
                };
                let content = whole.unwrap_or_default();
                conversation.messages.push(json!({"role": role, "content": content}));
                conversation.lines.push(from.collect());
            }
        }
    }

    /// Records in file order, but each after its ancestors.
    fn ordered(&self, mut records: Vec<usize>) -> Vec<usize> {
        records.sort_unstable();
        let mut ordered = Vec::new();
        while !records.is_empty() {
            let free = |index: &usize| {
                let above = self.ancestors(*index);
                !records.iter().any(|other| other != index && above.contains(other))
            };
            // In a cycle no record is first.
            let at = records.iter().position(free).unwrap_or(0);
            ordered.push(records.remove(at));
        }
        ordered
    }
}

/// Whether a block is reasoning or blank text.
fn is_hollow(block: &Value) -> bool {
    match block["type"].as_str() {
        Some("thinking" | "redacted_thinking") => true,
        Some("text") => block["text"].as_str().is_none_or(|text| text.trim().is_empty()),
        _ => false,
    }
}
