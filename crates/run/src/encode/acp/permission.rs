//! Asking a person in ACP: a request of the agent, which the client answers.

use super::{Acp, AskKind, Tool, Verdict, Voice, message, meta, notification};
use crate::{
    Json,
    encode::{json::Object, tracker::Request, words},
};

/// The request. Its id is the name of what is asked.
pub(super) fn request(voice: &Voice, tool: &Tool, request: &Request) -> String {
    let params = Object::new().text("sessionId", &voice.session);
    let params = match voice.version {
        Acp::V1 => params.object("toolCall", asked_about(tool, request)),
        Acp::V2 => {
            let subject = Object::new()
                .text("type", "tool_call")
                .object("toolCall", Object::new().text("toolCallId", &tool.id));
            let title = request.prompt.as_deref().filter(|prompt| !prompt.is_empty());
            params.text("title", title.unwrap_or(tool.shown())).object("subject", subject)
        }
    };
    let about = Object::new().text("kind", kind(request.kind));
    let about = about.maybe("prompt", request.prompt.as_deref());
    let about = match &request.choices {
        Some(choices) => about.json("choices", choices),
        None => about,
    };
    let params = params.list("options", options(request)).object("_meta", meta(about));
    message()
        .text("id", &request.id)
        .text("method", "session/request_permission")
        .object("params", params)
        .end()
}

/// The request needs no answer any more: it was given, here or elsewhere, or nobody will. Whoever
/// answered it already has nothing left to call off.
pub(super) fn withdrawn(request: &Request, verdict: Verdict) -> String {
    let about = Object::new().text("verdict", words::verdict(verdict));
    let params = Object::new().text("requestId", &request.id).object("_meta", meta(about));
    notification("$/cancel_request", params)
}

/// Version 1 shows the call, and what it is asked with as its content.
fn asked_about(tool: &Tool, request: &Request) -> Object {
    let call = Object::new().text("toolCallId", &tool.id).text("title", tool.shown());
    match request.prompt.as_deref().filter(|prompt| !prompt.is_empty()) {
        Some(prompt) => {
            let text = Object::new().text("type", "text").text("text", prompt);
            let block = Object::new().text("type", "content").object("content", text);
            call.list("content", [block.end()])
        }
        None => call,
    }
}

fn options(request: &Request) -> Vec<String> {
    match request.kind {
        AskKind::Approval => {
            vec![option("allow", "Allow", "allow_once"), option("deny", "Deny", "reject_once")]
        }
        AskKind::Question => {
            let labels = request.choices.as_ref().map(labels).unwrap_or_default();
            let choices = labels.iter().map(|label| option(label, label, "allow_once"));
            choices.chain([option("none", "No answer", "reject_once")]).collect()
        }
    }
}

fn option(id: &str, name: &str, kind: &str) -> String {
    Object::new().text("optionId", id).text("name", name).text("kind", kind).end()
}

/// The choices that can be told in a word: texts, or objects with a label.
fn labels(choices: &Json) -> Vec<String> {
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

fn kind(kind: AskKind) -> &'static str {
    match kind {
        AskKind::Approval => "approval",
        AskKind::Question => "question",
    }
}
