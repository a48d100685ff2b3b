//! What one message says about its format.

use std::borrow::Cow;

use foxwedge_core::Format;
use foxwedge_json::{JsonScanner, JsonShape, ScanResult};

use super::{
    DetectionConfidence, DetectionScore, INPUT_LIST,
    blocks::inspect_blocks,
    foreign_list::{ForeignList, PartSigns, inspect_parts, is_langchain_type},
    string_value,
};
use crate::openai_responses;

/// What decides whether a message belongs to any format.
#[derive(Default)]
struct MessageSigns<'a> {
    role: Option<Cow<'a, str>>,
    kind: Option<Cow<'a, str>>,
    has_content: bool,
    /// The content stands in an object of its own.
    has_data: bool,
    has_calls: bool,
    has_call_id: bool,
    has_result: bool,
    parts: Option<PartSigns>,
}

impl MessageSigns<'_> {
    /// The library that writes such messages, if they are of no format.
    fn library(&self) -> Option<ForeignList> {
        let is_langchain = self.role.is_none()
            && (self.has_content || self.has_data)
            && self.kind.as_deref().is_some_and(is_langchain_type);
        match &self.parts {
            _ if is_langchain => Some(ForeignList::LangChain),
            Some(parts) if self.is_unknown_content(parts) => parts.library,
            _ => None,
        }
    }

    /// Whether no format has such a message.
    fn is_unknown(&self, in_input: bool) -> bool {
        if self.library().is_some() {
            return true;
        }
        if let Some(parts) = &self.parts
            && self.is_unknown_content(parts)
        {
            return true;
        }
        // An item in `input` may be newer than this program.
        let kind = self.kind.as_deref().filter(|_| self.role.is_none() && !in_input);
        kind.is_some_and(|kind| {
            !self.has_calls && !self.has_call_id && self.parts.is_none() && !is_known_type(kind)
        })
    }

    /// Whether parts are all that a message has, and none is one of Gemini.
    fn is_unknown_content(&self, parts: &PartSigns) -> bool {
        let is_gemini = parts.known || self.role.as_deref() == Some("model");
        !is_gemini && parts.typed && !self.has_content && !self.has_calls
    }
}

/// Whether a type is one of an item of Responses or of a step of Interactions.
fn is_known_type(kind: &str) -> bool {
    openai_responses::is_known_item(kind) || is_interaction_step(kind)
}

pub(super) fn inspect_message(
    scan: &mut JsonScanner<'_>,
    source: &str,
    score: &mut DetectionScore,
) -> ScanResult<()> {
    let mut message = MessageSigns::default();
    let scanned = scan.object(|scan, key, _| {
        match key {
            b"parts" => {
                score.vote(Format::Gemini, DetectionConfidence::Certain, "messages with `parts`");
                message.parts = Some(inspect_parts(scan, source)?);
                return Ok(());
            }
            b"tool_calls" | b"tool_call_id" | b"function_call" | b"reasoning_content" => {
                message.has_calls = true;
                score.vote(
                    Format::OpenaiChat,
                    DetectionConfidence::Certain,
                    "`tool_calls` and tool messages",
                );
            }
            b"call_id" => message.has_call_id = true,
            b"result" => message.has_result = true,
            b"data" | b"kwargs" => message.has_data = true,
            b"type" => {
                score.vote(
                    Format::OpenaiResponses,
                    DetectionConfidence::Likely,
                    "items with a `type`",
                );
                let value = scan.skip()?;
                message.kind = Some(string_value(source, value));
                return Ok(());
            }
            // The arguments of a Responses item are a string.
            b"arguments" if scan.shape()? == JsonShape::Object => score.vote(
                Format::GeminiInteractions,
                DetectionConfidence::Likely,
                "arguments that are an object",
            ),
            b"role" => {
                let value = scan.skip()?;
                let role = string_value(source, value);
                match &*role {
                    "tool" => {
                        score.vote(
                            Format::OpenaiChat,
                            DetectionConfidence::Certain,
                            "tool messages",
                        );
                    }
                    // Obsolete, so blocks of another format count for more.
                    "function" => {
                        score.vote(
                            Format::OpenaiChat,
                            DetectionConfidence::Likely,
                            "messages of functions",
                        );
                    }
                    "developer" => {
                        score.vote(
                            Format::OpenaiChat,
                            DetectionConfidence::Likely,
                            "a developer message",
                        );
                    }
                    // The older form: a list of turns.
                    "model" if score.list == Some(INPUT_LIST) => {
                        score.vote(
                            Format::GeminiInteractions,
                            DetectionConfidence::Certain,
                            "turns of Interactions",
                        );
                    }
                    role => {
                        score.leading_system |= role == "system" && score.messages == 1;
                        score.vote(
                            Format::OpenaiChat,
                            DetectionConfidence::Guess,
                            "messages with a role",
                        );
                    }
                }
                message.role = Some(role);
                return Ok(());
            }
            b"content" => {
                message.has_content = true;
                if scan.shape()? == JsonShape::Array {
                    return inspect_blocks(scan, source, score);
                }
            }
            _ => {}
        }
        scan.skip().map(drop)
    });
    if message.is_unknown(score.list == Some(INPUT_LIST)) {
        score.has_unknown = true;
        score.library = score.library.or(message.library());
        return scanned.map(drop);
    }
    score.has_known = true;
    // Neither steps nor items with a `call_id` have a role.
    let certainty = match message.role {
        Some(_) => DetectionConfidence::Likely,
        None => DetectionConfidence::Certain,
    };
    let kind = message.kind.as_deref().unwrap_or_default();
    if is_interaction_step(kind) {
        score.vote(Format::GeminiInteractions, certainty, "steps of Interactions");
    }
    // Results of Interactions have a `call_id`, too; what they return is called `result`, as the result
    // of a `program_output` is.
    match (message.has_call_id, message.has_result && kind != "program_output") {
        (true, false) => score.vote(Format::OpenaiResponses, certainty, "items with a `call_id`"),
        (true, true) => score.vote(
            Format::GeminiInteractions,
            DetectionConfidence::Likely,
            "results with a `call_id`",
        ),
        (false, _) => {}
    }
    scanned.map(drop)
}

/// Whether a type is one that only Gemini Interactions uses.
fn is_interaction_step(kind: &str) -> bool {
    const TOOLS: [&str; 7] = [
        "code_execution",
        "google_search",
        "google_maps",
        "url_context",
        "mcp_server_tool",
        "retrieval",
        "processing",
    ];
    let tool = kind.strip_suffix("_call").or_else(|| kind.strip_suffix("_result"));
    matches!(kind, "user_input" | "model_output" | "thought" | "function_result")
        || kind == "file_search_result"
        || tool.is_some_and(|tool| TOOLS.contains(&tool))
}
