//! The judges: what each provider refuses, with its status, envelope and message.
//!
//! They read a request as a JSON tree and share no code with the engine. Anything that is not known
//! to be refused is accepted, including unknown fields and block types: providers add new ones
//! every month.

mod envelope;
mod openai;
mod openai_chat;
mod openai_responses;
mod anthropic;
mod binding;
mod gemini;
mod gemini_interactions;
mod mistral;
mod deepseek;

use foxwedge_core::Format;
use serde_json::Value;

use crate::json_fields;
pub(crate) use binding::{SignedPrefix, is_scripted};
pub(crate) use envelope::fault;
pub(crate) use gemini::thought_signature;
pub(crate) use openai_responses::{encrypt_reasoning, id_with_reasoning};

/// A provider whose rules and messages are used.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ScriptedProvider {
    /// OpenAI's Chat Completions.
    OpenaiChat,
    /// OpenAI's Responses.
    OpenaiResponses,
    /// Anthropic's Messages.
    Anthropic,
    /// Google's generateContent.
    Gemini,
    /// Google's Interactions.
    GeminiInteractions,
    /// Mistral, in the Chat form.
    Mistral,
    /// DeepSeek, in the Chat form.
    Deepseek,
}

impl ScriptedProvider {
    /// Every provider.
    pub const ALL: [ScriptedProvider; 7] = [
        ScriptedProvider::OpenaiChat,
        ScriptedProvider::OpenaiResponses,
        ScriptedProvider::Anthropic,
        ScriptedProvider::Gemini,
        ScriptedProvider::GeminiInteractions,
        ScriptedProvider::Mistral,
        ScriptedProvider::Deepseek,
    ];

    /// The provider whose rules apply to a request: in the Chat format the model name decides.
    /// Bedrock is not supported.
    pub fn of(format: Format, model: &str) -> Option<ScriptedProvider> {
        match format {
            Format::OpenaiChat if model.contains("mistral") => Some(ScriptedProvider::Mistral),
            Format::OpenaiChat if model.contains("deepseek") => Some(ScriptedProvider::Deepseek),
            Format::OpenaiChat => Some(ScriptedProvider::OpenaiChat),
            Format::OpenaiResponses => Some(ScriptedProvider::OpenaiResponses),
            Format::Anthropic => Some(ScriptedProvider::Anthropic),
            Format::Gemini => Some(ScriptedProvider::Gemini),
            Format::GeminiInteractions => Some(ScriptedProvider::GeminiInteractions),
            Format::Bedrock => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            ScriptedProvider::OpenaiChat => "openai-chat",
            ScriptedProvider::OpenaiResponses => "openai-responses",
            ScriptedProvider::Anthropic => "anthropic",
            ScriptedProvider::Gemini => "gemini",
            ScriptedProvider::GeminiInteractions => "gemini-interactions",
            ScriptedProvider::Mistral => "mistral",
            ScriptedProvider::Deepseek => "deepseek",
        }
    }

    /// Its request format.
    pub fn request_format(self) -> Format {
        match self {
            ScriptedProvider::OpenaiChat
            | ScriptedProvider::Mistral
            | ScriptedProvider::Deepseek => Format::OpenaiChat,
            ScriptedProvider::OpenaiResponses => Format::OpenaiResponses,
            ScriptedProvider::Anthropic => Format::Anthropic,
            ScriptedProvider::Gemini => Format::Gemini,
            ScriptedProvider::GeminiInteractions => Format::GeminiInteractions,
        }
    }
}

/// Why a provider refuses a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProviderRefusal {
    /// The HTTP status.
    pub status: u16,
    /// The provider's error message.
    pub message: String,
    /// The provider's error code, if it has one.
    pub code: Option<&'static str>,
    /// The body, in the provider's envelope.
    pub body: String,
}

/// The purpose of a request. Counting tokens has fewer requirements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RequestPurpose {
    Reply,
    Count,
}

/// Judges the body of a request for a reply.
pub fn check_request(provider: ScriptedProvider, body: &[u8]) -> Option<ProviderRefusal> {
    match parse(provider, body) {
        Ok(tree) => judge(provider, &tree, body, RequestPurpose::Reply),
        Err(refusal) => Some(refusal),
    }
}

/// Parses a body as JSON.
pub(crate) fn parse(provider: ScriptedProvider, body: &[u8]) -> Result<Value, ProviderRefusal> {
    let read = serde_json::from_slice(body);
    read.map_err(|error| build_refusal(provider, parse_objection(provider, &error), body))
}

/// Judges a parsed request.
pub(crate) fn judge(
    provider: ScriptedProvider,
    request: &Value,
    body: &[u8],
    purpose: RequestPurpose,
) -> Option<ProviderRefusal> {
    let verdict = match provider {
        ScriptedProvider::OpenaiChat => openai_chat::judge(request),
        ScriptedProvider::OpenaiResponses => openai_responses::judge(request),
        ScriptedProvider::Anthropic => anthropic::judge(request, purpose),
        ScriptedProvider::Gemini => gemini::judge(request),
        ScriptedProvider::GeminiInteractions => gemini_interactions::judge(request),
        ScriptedProvider::Mistral => mistral::judge(request),
        ScriptedProvider::Deepseek => deepseek::judge(request, body.len()),
    };
    verdict.err().map(|objection| build_refusal(provider, objection, body))
}

fn build_refusal(
    provider: ScriptedProvider,
    objection: JudgeObjection,
    body: &[u8],
) -> ProviderRefusal {
    ProviderRefusal {
        status: objection.status,
        body: envelope::write(provider, &objection, body),
        code: objection.code,
        message: objection.message,
    }
}

/// The verdict of a judge.
type JudgeResult = Result<(), JudgeObjection>;

/// An objection of a judge, before it is put into an envelope.
#[derive(Clone, Debug)]
pub(crate) struct JudgeObjection {
    status: u16,
    message: String,
    /// The field, where the provider names it next to the message.
    param: Option<String>,
    code: Option<&'static str>,
    /// The provider's error type, where it is not the default.
    kind: Option<&'static str>,
}

impl JudgeObjection {
    fn new(message: impl Into<String>) -> JudgeObjection {
        JudgeObjection { status: 400, message: message.into(), param: None, code: None, kind: None }
    }

    fn at(mut self, param: impl Into<String>) -> JudgeObjection {
        self.param = Some(param.into());
        self
    }

    fn code(mut self, code: &'static str) -> JudgeObjection {
        self.code = Some(code);
        self
    }

    fn kind(mut self, kind: &'static str) -> JudgeObjection {
        self.kind = Some(kind);
        self
    }

    fn status(mut self, status: u16) -> JudgeObjection {
        self.status = status;
        self
    }
}

/// The objection to a body that is not JSON.
fn parse_objection(provider: ScriptedProvider, error: &serde_json::Error) -> JudgeObjection {
    let (line, column) = (error.line(), error.column());
    let message = error.to_string();
    let half = message.contains("surrogate") || message.contains("end of hex escape");
    let what = if half { "no low surrogate in string" } else { "invalid character" };
    let place = format!("line {line} column {column} (char {})", column.saturating_sub(1));
    match provider {
        ScriptedProvider::Anthropic => {
            JudgeObjection::new(format!("The request body is not valid JSON: {what}: {place}"))
        }
        ScriptedProvider::OpenaiChat | ScriptedProvider::OpenaiResponses => {
            JudgeObjection::new(if half {
                format!(
                    "We could not parse the JSON body of your request: lone surrogate at {place}"
                )
            } else {
                "We could not parse the JSON body of your request. (HINT: This likely means you aren't \
             using your HTTP library correctly. The OpenAI API expects a JSON payload, but what was \
             sent was not valid JSON.)"
                .to_owned()
            })
        }
        ScriptedProvider::Gemini | ScriptedProvider::GeminiInteractions => {
            let what = if half { "Unpaired surrogate in string" } else { "Expected a value" };
            JudgeObjection::new(format!("Invalid JSON payload received. {what}. {place}"))
        }
        ScriptedProvider::Mistral => {
            JudgeObjection::new(format!("JSON decode error: {what}: {place}")).status(422)
        }
        ScriptedProvider::Deepseek => {
            let what = if half { "lone surrogate found" } else { "expected value" };
            JudgeObjection::new(format!(
                "Failed to parse the request body as JSON: {what} at line {line} column {column}"
            ))
        }
    }
}

/// The model that a request names.
fn model_name(request: &Value) -> &str {
    json_fields::text(request, "model").unwrap_or_default()
}

#[cfg(test)]
mod tests;
