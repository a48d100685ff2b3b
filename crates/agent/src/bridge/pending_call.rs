//! One call, and how far it has come.

use foxwedge_core::{
    Format, MissingAnswer, PlaceholderLanguage, Profile, classify_open_call, fresh_id,
    placeholder_text,
};
use serde_json::{Value, json};

use crate::ClientToolCall;

/// A call that is not over.
#[derive(Clone, Debug)]
pub(super) struct PendingCall {
    pub(super) call: ClientToolCall,
    /// The arguments as the model wrote them.
    pub(super) text: String,
    pub(super) origin: CallOrigin,
    /// The wishes for its answer. One, as a rule.
    pub(super) tickets: Vec<String>,
    /// The agent has an answer, whoever gave it.
    pub(super) closed: bool,
    pub(super) stage: PendingCallStage,
}

/// Where a call comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CallOrigin {
    /// The model said it.
    Model,
    /// Only the wish for its answer is known.
    RequestOnly,
}

/// How far a call has come.
#[derive(Clone, Debug)]
pub(super) enum PendingCallStage {
    /// The client does not know of it.
    New,
    /// The client knows of it.
    Known,
    /// The client knows of it, and the agent does not want the answer any more. The client owes it
    /// to its own history.
    Unwanted,
    /// The client has answered; others are still open.
    Answered(CallAnswer),
    /// The answer goes to the agent as soon as it wants it.
    Undelivered(CallAnswer),
}

/// An answer.
#[derive(Clone, Debug)]
pub(super) struct CallAnswer {
    pub(super) content: Vec<Value>,
    pub(super) error: bool,
    pub(super) source: AnswerSource,
}

/// Who gave an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AnswerSource {
    Client,
    /// Nobody answered, and nobody will.
    Placeholder,
}

/// An agent's wish for an answer.
#[derive(Clone, Debug)]
pub(super) struct ToolResultRequest {
    pub(super) ticket: String,
    pub(super) call: Option<String>,
    pub(super) name: String,
    pub(super) arguments: Value,
}

impl PendingCall {
    /// A call that the model has said.
    pub(super) fn from_model(
        call: ClientToolCall,
        text: String,
        tickets: Vec<String>,
    ) -> PendingCall {
        PendingCall {
            call,
            text,
            origin: CallOrigin::Model,
            tickets,
            closed: false,
            stage: PendingCallStage::New,
        }
    }

    /// A call of which only the wish is known. Without an id it gets one, computed from the wish.
    pub(super) fn from_request(wish: ToolResultRequest) -> PendingCall {
        let ToolResultRequest { ticket, call, name, arguments } = wish;
        let text = arguments.to_string();
        let id = call.filter(|id| !id.is_empty()).unwrap_or_else(|| {
            let seed = format!("{ticket} {name} {text}");
            fresh_id(Format::Anthropic, Profile::Anthropic.id_rule(), &seed)
        });
        let (call, tickets) = (ClientToolCall { id, name, arguments }, vec![ticket]);
        PendingCall {
            origin: CallOrigin::RequestOnly,
            ..PendingCall::from_model(call, text, tickets)
        }
    }

    /// Whether the agent waits for an answer of the client.
    pub(super) fn is_unanswered(&self) -> bool {
        match self.stage {
            PendingCallStage::New | PendingCallStage::Known => true,
            PendingCallStage::Unwanted
            | PendingCallStage::Answered(_)
            | PendingCallStage::Undelivered(_) => false,
        }
    }

    /// Whether the client knows of it and has not answered.
    pub(super) fn is_known_unanswered(&self) -> bool {
        match self.stage {
            PendingCallStage::Known | PendingCallStage::Unwanted => true,
            PendingCallStage::New
            | PendingCallStage::Answered(_)
            | PendingCallStage::Undelivered(_) => false,
        }
    }

    /// Nobody will answer it.
    pub(super) fn cancel(&mut self) {
        let missing = match self.stage {
            PendingCallStage::New => MissingAnswer::NotStarted,
            PendingCallStage::Known => classify_open_call(Some(&self.call.name)),
            PendingCallStage::Unwanted
            | PendingCallStage::Answered(_)
            | PendingCallStage::Undelivered(_) => return,
        };
        self.close(missing);
    }

    /// An error stands for its answer.
    pub(super) fn close(&mut self, missing: MissingAnswer) {
        let content = vec![
            json!({"type": "text", "text": placeholder_text(missing, PlaceholderLanguage::English)}),
        ];
        self.stage = PendingCallStage::Answered(CallAnswer {
            content,
            error: true,
            source: AnswerSource::Placeholder,
        });
    }

    /// What another answer to it is called, if it has one.
    pub(super) fn repeat_reason(&self) -> Option<&'static str> {
        match &self.stage {
            PendingCallStage::Answered(given) | PendingCallStage::Undelivered(given) => {
                Some(given.source.repeat_reason())
            }
            PendingCallStage::New | PendingCallStage::Known | PendingCallStage::Unwanted => None,
        }
    }
}

impl AnswerSource {
    /// What another answer is called.
    pub(super) fn repeat_reason(self) -> &'static str {
        match self {
            AnswerSource::Client => "duplicate",
            AnswerSource::Placeholder => "late",
        }
    }
}
