//! From units to messages.

use serde_json::{Value, json};

use super::{File, Unit};
use crate::oracle::session::{View, blocks};

impl File<'_> {
    /// One message for each reply, one for what stands between two of them.
    pub(super) fn compose(&self, units: Vec<Unit>) -> View {
        let mut view = View::default();
        for mut unit in units {
            unit.reply = self.ordered(unit.reply);
            unit.answers = self.ordered(unit.answers);
            let mut said = unit.reply.iter().flat_map(|at| self.blocks(*at));
            let hollow = self.manner.leaves_hollow && unit.answers.is_empty();
            let silent = hollow && said.all(|block| is_hollow(&block));
            let spoken: Vec<usize> =
                unit.reply.iter().copied().filter(|at| !self.is_left_out(*at)).collect();
            if !spoken.is_empty() && !silent {
                self.push(&mut view, "assistant", &spoken, false);
            }
            for index in unit.answers.into_iter().chain(unit.rest) {
                let role = self.said(index).and_then(|message| message["role"].as_str());
                self.push(&mut view, role.unwrap_or("user"), &[index], true);
            }
        }
        view
    }

    /// Nothing but white space, which is not sent.
    fn is_left_out(&self, record: usize) -> bool {
        let version = |node: &super::Node<'_>| node.record["version"].as_str().map(str::to_owned);
        let version = self.nodes.iter().rev().find_map(version);
        let blank = |block: &Value| block["type"] == "text" && is_hollow(block);
        let blocks = self.blocks(record);
        (self.manner.leaves_blank)(version.as_deref())
            && !blocks.is_empty()
            && blocks.iter().all(blank)
    }

    /// Adds records to the view: to the last message, if it may be joined and has the same role.
    fn push(&self, view: &mut View, role: &str, records: &[usize], joins: bool) {
        let said: Vec<Value> = records.iter().flat_map(|at| self.blocks(*at)).collect();
        let from = records.iter().map(|at| self.nodes[*at].line);
        match (view.messages.last_mut(), view.lines.last_mut()) {
            (Some(last), Some(lines)) if joins && last["role"] == role => {
                let mut all = blocks(last.get("content"));
                all.extend(said);
                last["content"] = Value::Array(all);
                lines.extend(from);
            }
            _ => {
                // What stands in one record is told as it stands there.
                let whole = match records {
                    [only] => self.said(*only).and_then(|message| message.get("content")).cloned(),
                    _ => Some(Value::Array(said)),
                };
                let content = whole.unwrap_or_default();
                view.messages.push(json!({"role": role, "content": content}));
                view.lines.push(from.collect());
            }
        }
    }

    /// Records in the order of the file, but none before one that it descends from.
    fn ordered(&self, mut records: Vec<usize>) -> Vec<usize> {
        records.sort_unstable();
        let mut ordered = Vec::new();
        while !records.is_empty() {
            let free = |index: &usize| {
                let above = self.ancestors(*index);
                !records.iter().any(|other| other != index && above.contains(other))
            };
            // In a circle nobody comes first.
            let at = records.iter().position(free).unwrap_or(0);
            ordered.push(records.remove(at));
        }
        ordered
    }
}

/// A thought, or a text that says nothing.
fn is_hollow(block: &Value) -> bool {
    match block["type"].as_str() {
        Some("thinking" | "redacted_thinking") => true,
        Some("text") => block["text"].as_str().is_none_or(|text| text.trim().is_empty()),
        _ => false,
    }
}
