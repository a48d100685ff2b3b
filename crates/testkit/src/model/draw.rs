//! Random histories: conversations as agents have them, and what crashes, edits and merges make of
//! them.

use super::{AbstractHistory, AbstractMessage, AbstractPart, SenderSide};
use crate::random::Random;

/// Messages that share beginnings: what an agent keeps when its user goes back and tries again.
pub struct HistoryTree {
    /// Each message with the one before it.
    pub messages: Vec<(Option<usize>, AbstractMessage)>,
}

impl HistoryTree {
    /// The conversation that ends with a message.
    pub fn path(&self, last: usize) -> AbstractHistory {
        let mut path = Vec::new();
        let mut next = Some(last);
        while let Some((parent, message)) = next.and_then(|at| self.messages.get(at)) {
            path.push(message.clone());
            next = *parent;
        }
        path.reverse();
        AbstractHistory(path)
    }

    /// The messages that nothing follows.
    pub fn leaves(&self) -> Vec<usize> {
        let is_parent = |at: usize| self.messages.iter().any(|(parent, _)| *parent == Some(at));
        (0..self.messages.len()).filter(|at| !is_parent(*at)).collect()
    }
}

/// Writes conversations with numbers of their own.
struct HistoryWriter<'r> {
    random: &'r mut Random,
    number: u32,
    call: u8,
}

/// A history with up to four rounds, and up to three defects.
pub fn draw_history(random: &mut Random) -> AbstractHistory {
    let mut writer = HistoryWriter { random, number: 0, call: 0 };
    let mut messages = Vec::new();
    if writer.random.chance(15) {
        let text = writer.text();
        messages.push(AbstractMessage { side: SenderSide::System, parts: vec![text] });
    }
    for _ in 0..=writer.random.below(3) {
        writer.round(&mut messages);
    }
    for _ in 0..*writer.random.pick(&[0, 1, 1, 1, 2, 2, 3]) {
        writer.damage(&mut messages);
    }
    messages.retain(|message| !message.parts.is_empty());
    AbstractHistory(messages)
}

/// A tree with up to three branches.
pub fn draw_tree(random: &mut Random) -> HistoryTree {
    let trunk = draw_history(random).0;
    let (mut number, mut call) = (1000, 100);
    let mut tree = HistoryTree { messages: Vec::new() };
    for (at, message) in trunk.into_iter().enumerate() {
        tree.messages.push((at.checked_sub(1), message));
    }
    for _ in 0..=random.below(2) {
        let mut parent = (!tree.messages.is_empty()).then(|| random.below(tree.messages.len()));
        let mut writer = HistoryWriter { random, number, call };
        let mut branch = Vec::new();
        writer.round(&mut branch);
        if writer.random.chance(60) {
            writer.damage(&mut branch);
        }
        (number, call) = (writer.number, writer.call);
        for message in branch.into_iter().filter(|message| !message.parts.is_empty()) {
            tree.messages.push((parent, message));
            parent = Some(tree.messages.len() - 1);
        }
    }
    tree
}

impl HistoryWriter<'_> {
    fn text(&mut self) -> AbstractPart {
        self.number += 1;
        AbstractPart::Text(self.number)
    }

    fn result(&mut self, id: u8) -> AbstractPart {
        self.number += 1;
        AbstractPart::Result(id, self.number)
    }

    /// A request of the user, up to three turns with calls, and a reply.
    fn round(&mut self, messages: &mut Vec<AbstractMessage>) {
        let text = self.text();
        messages.push(AbstractMessage { side: SenderSide::User, parts: vec![text] });
        for _ in 0..self.random.below(3) {
            let mut parts = Vec::new();
            if self.random.chance(30) {
                parts.push(self.text());
            }
            let mut ids = Vec::new();
            for _ in 0..*self.random.pick(&[1, 1, 2, 3]) {
                // Some servers count from one again.
                let reused = self.call > 0 && self.random.chance(4);
                let id = if reused {
                    1 + self.random.below(self.call.into()) as u8
                } else {
                    self.call + 1
                };
                self.call = self.call.max(id);
                ids.push(id);
                parts.push(AbstractPart::Call(id));
            }
            messages.push(AbstractMessage { side: SenderSide::Model, parts });
            if self.random.chance(20) {
                self.random.shuffle(&mut ids);
            }
            let parts = ids.into_iter().map(|id| self.result(id)).collect();
            messages.push(AbstractMessage { side: SenderSide::User, parts });
        }
        if self.random.chance(85) {
            let text = self.text();
            messages.push(AbstractMessage { side: SenderSide::Model, parts: vec![text] });
        }
    }

    /// One defect, or something that is none.
    fn damage(&mut self, messages: &mut Vec<AbstractMessage>) {
        if messages.is_empty() {
            return;
        }
        let at = self.random.below(messages.len());
        let part = self.random.below(messages[at].parts.len());
        match self.random.below(10) {
            // A crash.
            0 => messages.truncate(at + 1),
            // An edit.
            1 => drop(messages.remove(at)),
            2 if !messages[at].parts.is_empty() => drop(messages[at].parts.remove(part)),
            // A late event.
            3 => {
                let message = messages.remove(at);
                messages.insert(self.random.below(messages.len() + 1), message);
            }
            4 => self.repeat_result(messages, at),
            // Somebody speaks in between.
            5 => {
                let text = self.text();
                messages[at].parts.insert(part, text);
            }
            6 => {
                let side = *self.random.pick(&[
                    SenderSide::User,
                    SenderSide::User,
                    SenderSide::Model,
                    SenderSide::System,
                ]);
                let parts = vec![self.text()];
                messages.insert(at, AbstractMessage { side, parts });
            }
            // One message becomes two.
            7 => {
                let side = messages[at].side;
                let parts = messages[at].parts.split_off(part);
                messages.insert(at + 1, AbstractMessage { side, parts });
            }
            // Two become one.
            8 if at > 0 && messages[at - 1].side == messages[at].side => {
                let message = messages.remove(at);
                messages[at - 1].parts.extend(message.parts);
            }
            // A result of something unknown.
            _ => {
                let unknown = self.result(u8::MAX);
                messages
                    .insert(at, AbstractMessage { side: SenderSide::User, parts: vec![unknown] });
            }
        }
        messages.retain(|message| !message.parts.is_empty());
    }

    fn repeat_result(&mut self, messages: &mut Vec<AbstractMessage>, near: usize) {
        let found = messages[near..]
            .iter()
            .flat_map(|message| &message.parts)
            .find_map(|part| part.result_id());
        if let Some(id) = found {
            let parts = vec![self.result(id)];
            let at = near + self.random.below(messages.len() - near + 1);
            messages.insert(at, AbstractMessage { side: SenderSide::User, parts });
        }
    }
}
