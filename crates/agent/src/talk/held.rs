//! One call, and how far it has come.

use foxwedge_core::{Language, Missing, Profile, Wire, fresh_id, interrupted, words};
use serde_json::{Value, json};

use crate::Call;

/// A call that is not over.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) call: Call,
    /// The arguments as the model wrote them.
    pub(super) text: String,
    pub(super) origin: Origin,
    /// The wishes for its answer. One, as a rule.
    pub(super) tickets: Vec<String>,
    /// The agent has an answer, whoever gave it.
    pub(super) closed: bool,
    pub(super) stage: Stage,
}

/// Where a call comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// The model said it.
    Said,
    /// Only the wish for its answer is known.
    Wished,
}

/// How far a call has come.
#[derive(Clone, Debug)]
pub(super) enum Stage {
    /// The client does not know of it.
    New,
    /// The client knows of it.
    Told,
    /// The client knows of it, and the agent does not want the answer any more. The client owes it
    /// to its own history.
    Shut,
    /// The client has answered; others are still open.
    Answered(Given),
    /// The answer goes to the agent as soon as it wants it.
    Due(Given),
}

/// An answer.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) content: Vec<Value>,
    pub(super) error: bool,
    pub(super) by: Giver,
}

/// Who gave an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Giver {
    Client,
    /// Nobody answered, and nobody will.
    Nobody,
}

/// An agent's wish for an answer.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    pub(super) ticket: String,
    pub(super) call: Option<String>,
    pub(super) name: String,
    pub(super) arguments: Value,
}

impl Held {
    /// A call that the model has said.
    pub(super) fn said(call: Call, text: String, tickets: Vec<String>) -> Held {
        Held { call, text, origin: Origin::Said, tickets, closed: false, stage: Stage::New }
    }

    /// A call of which only the wish is known. Without an id it gets one, computed from the wish.
    pub(super) fn wished(wish: Wish) -> Held {
        let Wish { ticket, call, name, arguments } = wish;
        let text = arguments.to_string();
        let id = call.filter(|id| !id.is_empty()).unwrap_or_else(|| {
            let seed = format!("{ticket} {name} {text}");
            fresh_id(Wire::Anthropic, Profile::Anthropic.ids(), &seed)
        });
        let (call, tickets) = (Call { id, name, arguments }, vec![ticket]);
        Held { origin: Origin::Wished, ..Held::said(call, text, tickets) }
    }

    /// Whether the agent waits for an answer of the client.
    pub(super) fn is_unanswered(&self) -> bool {
        match self.stage {
            Stage::New | Stage::Told => true,
            Stage::Shut | Stage::Answered(_) | Stage::Due(_) => false,
        }
    }

    /// Whether the client knows of it and has not answered.
    pub(super) fn is_owed(&self) -> bool {
        match self.stage {
            Stage::Told | Stage::Shut => true,
            Stage::New | Stage::Answered(_) | Stage::Due(_) => false,
        }
    }

    /// Nobody will answer it.
    pub(super) fn cancel(&mut self) {
        let missing = match self.stage {
            Stage::New => Missing::NotStarted,
            Stage::Told => interrupted(Some(&self.call.name)),
            Stage::Shut | Stage::Answered(_) | Stage::Due(_) => return,
        };
        self.close(missing);
    }

    /// An error stands for its answer.
    pub(super) fn close(&mut self, missing: Missing) {
        let content = vec![json!({"type": "text", "text": words(missing, Language::English)})];
        self.stage = Stage::Answered(Given { content, error: true, by: Giver::Nobody });
    }

    /// What another answer to it is called, if it has one.
    pub(super) fn another(&self) -> Option<&'static str> {
        match &self.stage {
            Stage::Answered(given) | Stage::Due(given) => Some(given.by.another()),
            Stage::New | Stage::Told | Stage::Shut => None,
        }
    }
}

impl Giver {
    /// What another answer is called.
    pub(super) fn another(self) -> &'static str {
        match self {
            Giver::Client => "duplicate",
            Giver::Nobody => "late",
        }
    }
}
