//! What the model said and thought.

use foxwedge_run::{SharedId, TextUpdate};
use serde_json::{Value, json};

/// The texts of a run, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Said {
    list: Vec<Spoken>,
    /// The one that is being shown.
    live: Option<usize>,
    without_id: u32,
}

#[derive(Debug)]
struct Spoken {
    id: SharedId,
    has_id: bool,
    kind: Kind,
    parent: Option<SharedId>,
    text: String,
    complete: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Text,
    Thought,
}

impl Said {
    pub(super) fn take(&mut self, kind: Kind, text: &TextUpdate) {
        let delta = text.delta.as_deref().unwrap_or("");
        if delta.is_empty() && text.full.is_none() {
            return;
        }
        let place = self.meant(kind, text);
        let spoken = &mut self.list[place];
        if spoken.complete {
            return;
        }
        let so_far = format!("{}{delta}", spoken.text);
        spoken.complete = text.full.is_some();
        spoken.text = text.full.clone().unwrap_or_else(|| so_far.clone());
        // It is shown where something can be added to what was shown.
        let shown = so_far.len() - delta.len();
        let grows = spoken.text.starts_with(&so_far) && spoken.text.len() > shown;
        match (spoken.complete, self.live == Some(place)) {
            (true, true) => self.live = None,
            (true, false) if grows => self.live = None,
            (false, _) if grows => self.live = Some(place),
            (true | false, _) => {}
        }
    }

    /// Something else begins.
    pub(super) fn pause(&mut self) {
        self.live = None;
    }

    pub(super) fn is_live(&self, kind: Kind) -> bool {
        self.live.is_some_and(|live| self.list[live].kind == kind)
    }

    /// The last text that is complete, else all that was said.
    pub(super) fn last_words(&self) -> Option<String> {
        let own = || {
            self.list.iter().filter(|spoken| spoken.kind == Kind::Text && spoken.parent.is_none())
        };
        let complete = own().rfind(|spoken| spoken.complete && !spoken.text.trim().is_empty());
        let all: String = own().map(|spoken| spoken.text.as_str()).collect();
        let all = Some(all).filter(|all| !all.trim().is_empty());
        complete.map(|spoken| spoken.text.clone()).or(all)
    }

    pub(super) fn truth(&self) -> Value {
        let told = |spoken: &Spoken| {
            let kind = match spoken.kind {
                Kind::Text => "text",
                Kind::Thought => "thought",
            };
            let mut told = json!({
                "id": &*spoken.id, "kind": kind, "text": spoken.text, "complete": spoken.complete,
            });
            if let Some(parent) = &spoken.parent {
                told["parent"] = (**parent).into();
            }
            told
        };
        self.list.iter().map(told).collect()
    }

    fn meant(&mut self, kind: Kind, text: &TextUpdate) -> usize {
        let found = match text.message.as_ref().filter(|id| !id.is_empty()) {
            Some(id) => self
                .list
                .iter()
                .position(|spoken| spoken.kind == kind && spoken.has_id && spoken.id == *id),
            // A text without an id goes on for as long as nothing else is said.
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
            self.list.push(Spoken { id, has_id, kind, parent, text, complete });
            self.list.len() - 1
        })
    }
}
