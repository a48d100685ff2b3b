//! Asking a person in ACP: a request of the agent, which the client answers.

use super::{
    AcpEncoder, AcpRevision, ApprovalKind, ApprovalVerdict, TrackedTool, message, meta,
    notification,
};
use crate::{
    RawJson,
    encode::{common_fields, json::JsonObjectWriter, tracker::TrackedRequest},
};

/// The request. Its id is the name of what is asked.
pub(super) fn permission_request(
    voice: &AcpEncoder,
    tool: &TrackedTool,
    request: &TrackedRequest,
) -> String {
    let params = JsonObjectWriter::new().text("sessionId", &voice.session);
    let params = match voice.version {
        AcpRevision::V1 => params.object("toolCall", tool_call_fields(tool, request)),
        AcpRevision::V2 => {
            let subject = JsonObjectWriter::new()
                .text("type", "tool_call")
                .object("toolCall", JsonObjectWriter::new().text("toolCallId", &tool.id));
            let title = request.prompt.as_deref().filter(|prompt| !prompt.is_empty());
            params.text("title", title.unwrap_or(tool.display_title())).object("subject", subject)
        }
    };
    let about = JsonObjectWriter::new().text("kind", kind(request.kind));
    let about = about.optional_text("prompt", request.prompt.as_deref());
    let about = match &request.choices {
        Some(choices) => about.json("choices", choices),
        None => about,
    };
    let params = params.list("options", options(request)).object("_meta", meta(about));
    message()
        .text("id", &request.id)
        .text("method", "session/request_permission")
        .object("params", params)
        .finish()
}

/// The request needs no answer any more: it was given, here or elsewhere, or nobody will. Whoever
/// answered it already has nothing left to call off.
pub(super) fn cancel_request(request: &TrackedRequest, verdict: ApprovalVerdict) -> String {
    let about = JsonObjectWriter::new().text("verdict", common_fields::verdict_name(verdict));
    let params =
        JsonObjectWriter::new().text("requestId", &request.id).object("_meta", meta(about));
    notification("$/cancel_request", params)
}

/// Version 1 shows the call, and what it is asked with as its content.
fn tool_call_fields(tool: &TrackedTool, request: &TrackedRequest) -> JsonObjectWriter {
    let call =
        JsonObjectWriter::new().text("toolCallId", &tool.id).text("title", tool.display_title());
    match request.prompt.as_deref().filter(|prompt| !prompt.is_empty()) {
        Some(prompt) => {
            let text = JsonObjectWriter::new().text("type", "text").text("text", prompt);
            let block = JsonObjectWriter::new().text("type", "content").object("content", text);
            call.list("content", [block.finish()])
        }
        None => call,
    }
}

fn options(request: &TrackedRequest) -> Vec<String> {
    match request.kind {
        ApprovalKind::Approval => {
            vec![option("allow", "Allow", "allow_once"), option("deny", "Deny", "reject_once")]
        }
        ApprovalKind::Question => {
            let labels = request.choices.as_ref().map(labels).unwrap_or_default();
            let choices = labels.iter().map(|label| option(label, label, "allow_once"));
            choices.chain([option("none", "No answer", "reject_once")]).collect()
        }
    }
}

fn option(id: &str, name: &str, kind: &str) -> String {
    JsonObjectWriter::new().text("optionId", id).text("name", name).text("kind", kind).finish()
}

/// The choices that can be told in a word: texts, or objects with a label.
fn labels(choices: &RawJson) -> Vec<String> {
    let label = |choice: &serde_json::Value| {
        let named = ["label", "name", "title"].into_iter().find_map(|key| choice.get(key));
        Some(choice.as_str().or(named?.as_str())?.to_owned())
    };
    let mut labels: Vec<String> = Vec::new();
    for choice in choices.value().as_array().into_iter().flatten() {
        labels.extend(label(choice).filter(|label| label != "none" && !labels.contains(label)));
    }
    labels
}

fn kind(kind: ApprovalKind) -> &'static str {
    match kind {
        ApprovalKind::Approval => "approval",
        ApprovalKind::Question => "question",
    }
}
