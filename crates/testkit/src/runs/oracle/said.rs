//! The texts and the reasoning of the model.

use foxwedge_run::{SharedId, TextUpdate};
use serde_json::{Value, json};

/// The texts of a run, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct RunTextList {
    list: Vec<RunText>,
    /// The one that is being shown.
    live: Option<usize>,
    without_id: u32,
}

#[derive(Debug)]
struct RunText {
    id: SharedId,
    has_id: bool,
    kind: RunTextKind,
    parent: Option<SharedId>,
    text: String,
    complete: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RunTextKind {
    Text,
    Thought,
}

impl RunTextList {
    pub(super) fn take(&mut self, kind: RunTextKind, text: &TextUpdate) {
        let delta = text.delta.as_deref().unwrap_or("");
        if delta.is_empty() && text.full.is_none() {
            return;
        }
        let place = self.meant(kind, text);
        let entry = &mut self.list[place];
        if entry.complete {
            return;
        }
        let so_far = format!("{}{delta}", entry.text);
        entry.complete = text.full.is_some();
        entry.text = text.full.clone().unwrap_or_else(|| so_far.clone());
        // It is shown if the new text extends what was shown.
        let shown = so_far.len() - delta.len();
        let grows = entry.text.starts_with(&so_far) && entry.text.len() > shown;
        match (entry.complete, self.live == Some(place)) {
            (true, true) => self.live = None,
            (true, false) if grows => self.live = None,
            (false, _) if grows => self.live = Some(place),
            (true | false, _) => {}
        }
    }

    /// Another part begins.
    pub(super) fn pause(&mut self) {
        self.live = None;
    }

    pub(super) fn is_live(&self, kind: RunTextKind) -> bool {
        self.live.is_some_and(|live| self.list[live].kind == kind)
    }

    /// The last complete text, otherwise all text.
    pub(super) fn last_words(&self) -> Option<String> {
        let own = || {
            self.list
                .iter()
                .filter(|entry| entry.kind == RunTextKind::Text && entry.parent.is_none())
        };
        let complete = own().rfind(|entry| entry.complete && !entry.text.trim().is_empty());
        let all: String = own().map(|entry| entry.text.as_str()).collect();
        let all = Some(all).filter(|all| !all.trim().is_empty());
        complete.map(|entry| entry.text.clone()).or(all)
    }

    pub(super) fn truth(&self) -> Value {
        let entry_json = |entry: &RunText| {
            let kind = match entry.kind {
                RunTextKind::Text => "text",
                RunTextKind::Thought => "thought",
            };
            let mut entry_json = json!({
                "id": &*entry.id, "kind": kind, "text": entry.text, "complete": entry.complete,
            });
            if let Some(parent) = &entry.parent {
                entry_json["parent"] = (**parent).into();
            }
            entry_json
        };
        self.list.iter().map(entry_json).collect()
    }

    fn meant(&mut self, kind: RunTextKind, text: &TextUpdate) -> usize {
        let found = match text.message.as_ref().filter(|id| !id.is_empty()) {
            Some(id) => self
                .list
                .iter()
                .position(|entry| entry.kind == kind && entry.has_id && entry.id == *id),
            // A text without an id continues until another part begins.
            None => self.live.filter(|live| {
                let live = &self.list[*live];
                live.kind == kind && !live.has_id && live.parent == text.parent
            }),
        };
        found.unwrap_or_else(|| {
            let id = text.message.clone().filter(|id| !id.is_empty());
            let has_id = id.is_some();
            self.without_id += u32::from(!has_id);
            let id = id.unwrap_or_else(|| SharedId::from(format!("part-{}", self.without_id)));
            let (text, complete, parent) = (String::new(), false, text.parent.clone());
            self.list.push(RunText { id, has_id, kind, parent, text, complete });
            self.list.len() - 1
        })
    }
}
