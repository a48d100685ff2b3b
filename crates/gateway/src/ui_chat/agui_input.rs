//! What `HttpAgent` of AG-UI posts: a `RunAgentInput`.

use foxwedge_core::Format;
use foxwedge_formats::model::{
    self, ContentPart, MediaKind, MediaPart, MediaSource, ModelHistory, ModelMessage, ModelPart,
    ModelRole,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{UiChatInput, chat_body::ChatBody};
use crate::{ApiError, error};

/// The input of a run. Fields that concern the client alone are ignored.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RunAgentInput {
    thread_id: Option<String>,
    run_id: Option<String>,
    messages: Vec<AgUiMessage>,
    #[serde(default)]
    tools: Vec<AgUiTool>,
    #[serde(default)]
    context: Vec<AgUiContext>,
    #[serde(default)]
    forwarded_props: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AgUiMessage {
    role: String,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    tool_calls: Vec<Value>,
    tool_call_id: Option<String>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct AgUiTool {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    parameters: Value,
}

#[derive(Deserialize)]
struct AgUiContext {
    #[serde(default)]
    description: String,
    #[serde(default)]
    value: Value,
}

/// Parses the body. `forwardedProps` are fields of the chat completion.
pub(super) fn parse(body: &[u8]) -> Result<UiChatInput, ApiError> {
    let input: RunAgentInput = serde_json::from_slice(body)
        .map_err(|error| error::bad_input(format!("the body is not a RunAgentInput: {error}")))?;
    let mut messages: Vec<Value> = context_message(&input.context).into_iter().collect();
    let mut losses = Vec::new();
    let converted = input.messages.into_iter();
    messages.extend(converted.filter_map(|message| chat_message(message, &mut losses)));
    let tools = input.tools.into_iter().map(chat_tool).collect();
    let mut body = ChatBody::with_fields(match input.forwarded_props {
        Value::Object(fields) => fields,
        _ => Map::new(),
    });
    body.set_messages(messages);
    body.set_tools(tools);
    let (conversation, run) = (input.thread_id, input.run_id);
    Ok(UiChatInput { conversation, run, message: None, body, losses })
}

/// What the application tells the agent about itself.
fn context_message(context: &[AgUiContext]) -> Option<Value> {
    let line = |item: &AgUiContext| match &item.value {
        Value::String(text) => format!("{}: {text}", item.description),
        value => format!("{}: {value}", item.description),
    };
    let lines: Vec<String> = context.iter().map(line).collect();
    (!lines.is_empty()).then(|| json!({ "role": "system", "content": lines.join("\n") }))
}

/// A message of a chat completion; `None` for what only the interface shows.
fn chat_message(message: AgUiMessage, losses: &mut Vec<String>) -> Option<Value> {
    let AgUiMessage { role, content, tool_calls, tool_call_id, error } = message;
    let mut plain_text = |content: &Value| plain_text(content, losses);
    Some(match role.as_str() {
        "system" | "developer" => json!({ "role": role, "content": plain_text(&content) }),
        "user" => json!({ "role": "user", "content": user_content(content, losses) }),
        "assistant" if tool_calls.is_empty() => {
            json!({ "role": "assistant", "content": plain_text(&content) })
        }
        "assistant" => {
            let text = plain_text(&content);
            let content = if text.is_empty() { Value::Null } else { text.into() };
            json!({ "role": "assistant", "content": content, "tool_calls": tool_calls })
        }
        "tool" => {
            let text = error.unwrap_or_else(|| plain_text(&content));
            json!({ "role": "tool", "tool_call_id": tool_call_id, "content": text })
        }
        // Reasoning and activities.
        _ => return None,
    })
}

/// The text of a message whose role holds nothing else.
fn plain_text(content: &Value, losses: &mut Vec<String>) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let mut texts = Vec::new();
            for part in parts {
                match read_part(part, losses) {
                    Some(ContentPart::Text(text)) => texts.push(text.to_string()),
                    Some(ContentPart::Media(media)) => losses.push(media_loss(media.kind)),
                    Some(_) | None => {}
                }
            }
            texts.join("\n")
        }
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The content of a user message, with media as Chat Completions have them.
fn user_content(content: Value, losses: &mut Vec<String>) -> Value {
    let Value::Array(parts) = &content else { return content };
    let parts = parts.iter().filter_map(|part| read_part(part, losses)).map(ModelPart::new);
    let message = ModelMessage::new(ModelRole::User, parts.collect());
    let history = ModelHistory { messages: vec![message] };
    let (messages, lost) = model::encode(&history, Format::OpenaiChat);
    losses.extend(lost.into_iter().map(|loss| loss.note));
    let mut messages: Value = serde_json::from_str(&messages).unwrap_or_default();
    match messages.pointer_mut("/0/content").map(Value::take) {
        Some(content) => content,
        None => Value::Array(Vec::new()),
    }
}

/// A part of a message; `None` for one of an unknown kind, which is lost.
fn read_part<'p>(part: &'p Value, losses: &mut Vec<String>) -> Option<ContentPart<'p>> {
    let kind = part["type"].as_str().unwrap_or_default();
    let found = match kind {
        "text" => part["text"].as_str().map(|text| ContentPart::Text(text.into())),
        _ => read_media(kind, part).map(ContentPart::Media),
    };
    if found.is_none() {
        losses.push(format!("parts `{kind}` of the content were left out"));
    }
    found
}

fn read_media<'p>(kind: &str, part: &'p Value) -> Option<MediaPart<'p>> {
    // Version 1 has the media in `source`, earlier versions beside the type.
    let source = if part["source"].is_object() { &part["source"] } else { part };
    let media_type = source["mimeType"].as_str().filter(|name| !name.is_empty());
    let type_of = |name: &str| media_type.is_some_and(|it| it.starts_with(name));
    let kind = match kind {
        "image" => MediaKind::Image,
        "audio" => MediaKind::Audio,
        "video" => MediaKind::Video,
        "document" => MediaKind::File,
        "binary" if type_of("image/") => MediaKind::Image,
        "binary" if type_of("audio/") => MediaKind::Audio,
        "binary" if type_of("video/") => MediaKind::Video,
        "binary" => MediaKind::File,
        _ => return None,
    };
    let is_link = source["type"] == "url" || source["url"].is_string();
    let address = source["url"].as_str().or_else(|| source["value"].as_str().filter(|_| is_link));
    let data = || source["data"].as_str().or_else(|| source["value"].as_str());
    let source = match address {
        Some(address) => MediaSource::Url(address.into()),
        None => MediaSource::Data(data()?.into()),
    };
    let name = part["filename"].as_str().map(Into::into);
    Some(MediaPart { kind, media_type: media_type.map(Into::into), source, name })
}

fn media_loss(kind: MediaKind) -> String {
    format!("the {} is not supported in this format", kind.name())
}

fn chat_tool(tool: AgUiTool) -> Value {
    let AgUiTool { name, description, parameters } = tool;
    let mut function = json!({ "name": name, "description": description });
    if parameters.is_object() {
        function["parameters"] = parameters;
    }
    json!({ "type": "function", "function": function })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_becomes_a_chat_completion() {
        let input = json!({
            "threadId": "t", "runId": "r", "state": {}, "forwardedProps": { "model": "m", "stream": false },
            "context": [{ "description": "Page", "value": "/home" }],
            "tools": [{ "name": "now", "description": "The time", "parameters": { "type": "object" } }],
            "messages": [
                { "id": "1", "role": "user", "content": [
                    { "type": "text", "text": "hi" },
                    { "type": "image", "source": { "type": "data", "value": "QQ==", "mimeType": "image/png" } },
                    { "type": "binary", "mimeType": "image/png", "url": "https://host/a.png" },
                ] },
                { "id": "2", "role": "assistant", "toolCalls": [
                    { "id": "c", "type": "function", "function": { "name": "now", "arguments": "{}" } },
                ] },
                { "id": "3", "role": "tool", "toolCallId": "c", "content": "12:00" },
                { "id": "4", "role": "reasoning", "content": "hm" },
            ],
        });
        let UiChatInput { conversation, run, body, losses, message: _ } =
            parse(input.to_string().as_bytes()).unwrap_or_else(|_| panic!("refused"));
        assert_eq!((conversation.as_deref(), run.as_deref()), (Some("t"), Some("r")));
        assert!(losses.is_empty(), "{losses:?}");
        let body = body.finish().unwrap_or_else(|_| panic!("refused"));
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        let image = |url: &str| json!({ "type": "image_url", "image_url": { "url": url } });
        let call = &input["messages"][1]["toolCalls"];
        assert_eq!(
            body,
            json!({
                "model": "m", "stream": true, "stream_options": { "include_usage": true },
                "tools": [{ "type": "function", "function": {
                    "name": "now", "description": "The time", "parameters": { "type": "object" },
                } }],
                "messages": [
                    { "role": "system", "content": "Page: /home" },
                    { "role": "user", "content": [
                        { "type": "text", "text": "hi" },
                        image("data:image/png;base64,QQ=="),
                        image("https://host/a.png"),
                    ] },
                    { "role": "assistant", "content": null, "tool_calls": call },
                    { "role": "tool", "tool_call_id": "c", "content": "12:00" },
                ],
            })
        );
    }
}
