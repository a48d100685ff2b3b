//! The judges: what each provider refuses, with its own status, envelope and words.
//!
//! They read a request as a tree and know nothing of the engine. What is not known to be refused is
//! accepted, and so are fields and types of blocks that nobody here has heard of: providers add them every
//! month.

mod envelope;
mod openai;
mod openai_chat;
mod openai_responses;
mod anthropic;
mod binding;
mod gemini;
mod mistral;
mod deepseek;

use foxwedge_core::Wire;
use serde_json::Value;

use crate::tree;
pub(crate) use binding::{Prefix, is_scripted};
pub(crate) use envelope::fault;
pub(crate) use gemini::thought_signature;
pub(crate) use openai_responses::{encrypted, with_reasoning};

/// Whose rules and whose words.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Provider {
    /// OpenAI's Chat Completions.
    OpenaiChat,
    /// OpenAI's Responses.
    OpenaiResponses,
    /// Anthropic's Messages.
    Anthropic,
    /// Google's generateContent.
    Gemini,
    /// Mistral, in the Chat form.
    Mistral,
    /// DeepSeek, in the Chat form.
    Deepseek,
}

impl Provider {
    /// Every provider.
    pub const ALL: [Provider; 6] = [
        Provider::OpenaiChat,
        Provider::OpenaiResponses,
        Provider::Anthropic,
        Provider::Gemini,
        Provider::Mistral,
        Provider::Deepseek,
    ];

    /// Whose rules a request in a format is judged by: in the Chat form the model's name decides.
    /// Bedrock is not played here.
    pub fn of(wire: Wire, model: &str) -> Option<Provider> {
        match wire {
            Wire::OpenaiChat if model.contains("mistral") => Some(Provider::Mistral),
            Wire::OpenaiChat if model.contains("deepseek") => Some(Provider::Deepseek),
            Wire::OpenaiChat => Some(Provider::OpenaiChat),
            Wire::OpenaiResponses => Some(Provider::OpenaiResponses),
            Wire::Anthropic => Some(Provider::Anthropic),
            Wire::Gemini => Some(Provider::Gemini),
            Wire::Bedrock => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Provider::OpenaiChat => "openai-chat",
            Provider::OpenaiResponses => "openai-responses",
            Provider::Anthropic => "anthropic",
            Provider::Gemini => "gemini",
            Provider::Mistral => "mistral",
            Provider::Deepseek => "deepseek",
        }
    }

    /// The format it speaks.
    pub fn wire(self) -> Wire {
        match self {
            Provider::OpenaiChat | Provider::Mistral | Provider::Deepseek => Wire::OpenaiChat,
            Provider::OpenaiResponses => Wire::OpenaiResponses,
            Provider::Anthropic => Wire::Anthropic,
            Provider::Gemini => Wire::Gemini,
        }
    }
}

/// Why a provider does not take a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The provider's words.
    pub message: String,
    /// The provider's name for it, if it has one.
    pub code: Option<&'static str>,
    /// The body, in the provider's envelope.
    pub body: String,
}

/// What a request is for. Counting tokens wants less.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    Reply,
    Count,
}

/// Judges the body of a request for a reply.
pub fn refusal(provider: Provider, body: &[u8]) -> Option<Refusal> {
    match parse(provider, body) {
        Ok(tree) => judge(provider, &tree, body, Purpose::Reply),
        Err(refusal) => Some(refusal),
    }
}

/// Reads a body as a tree.
pub(crate) fn parse(provider: Provider, body: &[u8]) -> Result<Value, Refusal> {
    let read = serde_json::from_slice(body);
    read.map_err(|error| seal(provider, unreadable(provider, &error), body))
}

/// Judges a request that was read.
pub(crate) fn judge(
    provider: Provider,
    request: &Value,
    body: &[u8],
    purpose: Purpose,
) -> Option<Refusal> {
    let verdict = match provider {
        Provider::OpenaiChat => openai_chat::judge(request),
        Provider::OpenaiResponses => openai_responses::judge(request),
        Provider::Anthropic => anthropic::judge(request, purpose),
        Provider::Gemini => gemini::judge(request),
        Provider::Mistral => mistral::judge(request),
        Provider::Deepseek => deepseek::judge(request, body.len()),
    };
    verdict.err().map(|objection| seal(provider, objection, body))
}

fn seal(provider: Provider, objection: Objection, body: &[u8]) -> Refusal {
    Refusal {
        status: objection.status,
        body: envelope::write(provider, &objection, body),
        code: objection.code,
        message: objection.message,
    }
}

/// What a judge says.
type Verdict = Result<(), Objection>;

/// What a judge objects to, before it is put into an envelope.
#[derive(Clone, Debug)]
pub(crate) struct Objection {
    status: u16,
    message: String,
    /// The place, where the provider names it beside its words.
    param: Option<String>,
    code: Option<&'static str>,
    /// The provider's name for the kind of error, where it is not the usual one.
    kind: Option<&'static str>,
}

impl Objection {
    fn new(message: impl Into<String>) -> Objection {
        Objection { status: 400, message: message.into(), param: None, code: None, kind: None }
    }

    fn at(mut self, param: impl Into<String>) -> Objection {
        self.param = Some(param.into());
        self
    }

    fn code(mut self, code: &'static str) -> Objection {
        self.code = Some(code);
        self
    }

    fn kind(mut self, kind: &'static str) -> Objection {
        self.kind = Some(kind);
        self
    }

    fn status(mut self, status: u16) -> Objection {
        self.status = status;
        self
    }
}

/// A body that is no JSON.
fn unreadable(provider: Provider, error: &serde_json::Error) -> Objection {
    let (line, column) = (error.line(), error.column());
    let told = error.to_string();
    let half = told.contains("surrogate") || told.contains("end of hex escape");
    let what = if half { "no low surrogate in string" } else { "invalid character" };
    let place = format!("line {line} column {column} (char {})", column.saturating_sub(1));
    match provider {
        Provider::Anthropic => {
            Objection::new(format!("The request body is not valid JSON: {what}: {place}"))
        }
        Provider::OpenaiChat | Provider::OpenaiResponses => Objection::new(if half {
            format!("We could not parse the JSON body of your request: lone surrogate at {place}")
        } else {
            "We could not parse the JSON body of your request. (HINT: This likely means you aren't \
             using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was \
             sent was not valid JSON.)"
                .to_owned()
        }),
        Provider::Gemini => {
            let what = if half { "Unpaired surrogate in string" } else { "Expected a value" };
            Objection::new(format!("Invalid JSON payload received. {what}. {place}"))
        }
        Provider::Mistral => {
            Objection::new(format!("JSON decode error: {what}: {place}")).status(422)
        }
        Provider::Deepseek => {
            let what = if half { "lone surrogate found" } else { "expected value" };
            Objection::new(format!(
                "Failed to parse the request body as JSON: {what} at line {line} column {column}"
            ))
        }
    }
}

/// The model that a request names.
fn model(request: &Value) -> &str {
    tree::text(request, "model").unwrap_or_default()
}

#[cfg(test)]
mod tests;
