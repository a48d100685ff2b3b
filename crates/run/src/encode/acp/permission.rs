//! Permission requests in ACP: the agent sends a request, the client responds.

use super::{
    AcpEncoder, AcpRevision, ApprovalKind, ApprovalVerdict, TrackedTool, message, meta,
    notification,
};
use crate::{
    RawJson,
    encode::{common_fields, json::JsonObjectWriter, tracker::TrackedRequest},
};

/// The permission request. Its id is the unique name of the tracked request.
pub(super) fn permission_request(
    encoder: &AcpEncoder,
    tool: &TrackedTool,
    request: &TrackedRequest,
) -> String {
    let params = JsonObjectWriter::new().text("sessionId", &encoder.session);
    let params = match encoder.version {
        AcpRevision::V1 => params.object("toolCall", tool_call_fields(tool, request)),
        AcpRevision::V2 => {
            let subject = JsonObjectWriter::new()
                .text("type", "tool_call")
                .object("toolCall", JsonObjectWriter::new().text("toolCallId", &tool.id));
            let title = request.prompt.as_deref().filter(|prompt| !prompt.is_empty());
            params.text("title", title.unwrap_or(tool.display_title())).object("subject", subject)
        }
    };
    let fields = JsonObjectWriter::new().text("kind", kind(request.kind));
    let fields = fields.optional_text("prompt", request.prompt.as_deref());
    let fields = match &request.choices {
        Some(choices) => fields.json("choices", choices),
        None => fields,
    };
    let params = params.list("options", options(request)).object("_meta", meta(fields));
    message()
        .text("id", &request.id)
        .text("method", "session/request_permission")
        .object("params", params)
        .finish()
}

/// Cancels a request that needs no response any more: it was answered, here or elsewhere, or was
/// cancelled. A client that has already responded ignores it.
pub(super) fn cancel_request(request: &TrackedRequest, verdict: ApprovalVerdict) -> String {
    let fields = JsonObjectWriter::new().text("verdict", common_fields::verdict_name(verdict));
    let params =
        JsonObjectWriter::new().text("requestId", &request.id).object("_meta", meta(fields));
    notification("$/cancel_request", params)
}

/// In version 1 the request shows the call, with the prompt as its content.
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

/// The labels of the choices that have one: strings, or objects with a label.
fn labels(choices: &RawJson) -> Vec<String> {
    let label = |choice: &serde_json::Value| {
        let value = ["label", "name", "title"].into_iter().find_map(|key| choice.get(key));
        Some(choice.as_str().or(value?.as_str())?.to_owned())
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
