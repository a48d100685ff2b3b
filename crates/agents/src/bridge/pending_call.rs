//! One open call and its stage.

use foxwedge_core::{
    Format, MissingAnswer, PlaceholderLanguage, Profile, classify_open_call, fresh_id,
    placeholder_text,
};
use serde_json::{Value, json};

use crate::ClientToolCall;

/// An open call.
#[derive(Clone, Debug)]
pub(super) struct PendingCall {
    pub(super) call: ClientToolCall,
    /// The arguments as the model wrote them.
    pub(super) text: String,
    pub(super) origin: CallOrigin,
    /// Tickets of the result requests; usually one.
    pub(super) tickets: Vec<String>,
    /// The agent has a result, from any source.
    pub(super) closed: bool,
    pub(super) stage: PendingCallStage,
}

/// Where a call comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CallOrigin {
    /// The model made it.
    Model,
    /// Only the result request is known.
    RequestOnly,
}

/// The stage of a call.
#[derive(Clone, Debug)]
pub(super) enum PendingCallStage {
    /// Not sent to the client yet.
    New,
    /// Sent to the client.
    Known,
    /// Sent to the client, but the agent no longer needs the result. The client still needs one
    /// for its own history.
    Unwanted,
    /// The client has answered; other calls are still open.
    Answered(CallAnswer),
    /// The result goes to the agent as soon as it requests it.
    Undelivered(CallAnswer),
}

/// The result of a call.
#[derive(Clone, Debug)]
pub(super) struct CallAnswer {
    pub(super) content: Vec<Value>,
    pub(super) error: bool,
    pub(super) source: AnswerSource,
}

/// Source of a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AnswerSource {
    Client,
    /// A placeholder: no result will come.
    Placeholder,
}

/// An agent's request for a tool result.
#[derive(Clone, Debug)]
pub(super) struct ToolResultRequest {
    pub(super) ticket: String,
    pub(super) call: Option<String>,
    pub(super) name: String,
    pub(super) arguments: Value,
}

impl PendingCall {
    /// Creates a call that the model made.
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

    /// Creates a call from a result request. Without an id it gets a computed one.
    pub(super) fn from_request(request: ToolResultRequest) -> PendingCall {
        let ToolResultRequest { ticket, call, name, arguments } = request;
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

    /// Whether the agent waits for a result of the client.
    pub(super) fn is_unanswered(&self) -> bool {
        match self.stage {
            PendingCallStage::New | PendingCallStage::Known => true,
            PendingCallStage::Unwanted
            | PendingCallStage::Answered(_)
            | PendingCallStage::Undelivered(_) => false,
        }
    }

    /// Whether the client has received it and not answered.
    pub(super) fn is_known_unanswered(&self) -> bool {
        match self.stage {
            PendingCallStage::Known | PendingCallStage::Unwanted => true,
            PendingCallStage::New
            | PendingCallStage::Answered(_)
            | PendingCallStage::Undelivered(_) => false,
        }
    }

    /// Gives the call a placeholder, because no result will come.
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

    /// Sets an error as the result.
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

    /// Why a further result is ignored, if the call has one already.
    pub(super) fn repeat_reason(&self) -> Option<&'static str> {
        match &self.stage {
            PendingCallStage::Answered(answer) | PendingCallStage::Undelivered(answer) => {
                Some(answer.source.repeat_reason())
            }
            PendingCallStage::New | PendingCallStage::Known | PendingCallStage::Unwanted => None,
        }
    }
}

impl AnswerSource {
    /// Why a further result is ignored.
    pub(super) fn repeat_reason(self) -> &'static str {
        match self {
            AnswerSource::Client => "duplicate",
            AnswerSource::Placeholder => "late",
        }
    }
}
