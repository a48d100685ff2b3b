//! Rules 301 to 303, 307 to 309, 311, 312 and 314 to 316: what messages hold, and what they must not lack.

use serde_json::Value;

use super::reading::{Block, Kind, Layout, Message, Place, Role, id, text};
use super::{Case, Profile::*, Rule, chat_call};
use crate::dialect::Dialect;

pub(super) const RULES: &[Rule] = &[
    (301, empty_message),
    (302, malformed_arguments),
    (303, empty_answer),
    (307, media_in_answer),
    (308, empty_text),
    (309, empty_call_list),
    (311, null_content),
    (312, trailing_whitespace),
    (314, empty_history),
    (315, malformed_answer),
    (316, untyped_call),
];

fn empty_message(case: &Case<'_>) -> Vec<String> {
    let last = case.reading.messages.len().checked_sub(1);
    case.messages(|index| {
        let message = &case.reading.messages[index];
        match case.reading.dialect {
            Dialect::Chat => empty_chat_message(case, message),
            Dialect::Anthropic | Dialect::Bedrock => {
                let content = message.field("content");
                let prefill = case.under(&[Anthropic])
                    && Some(index) == last
                    && message.role == Role::Assistant
                    && content.is_some();
                // Claude Code sends such instructions, with fields beside their empty content.
                let bare = case.under(&[Anthropic])
                    && message.role == Role::System
                    && content.is_some_and(Value::is_array);
                let applies = case.under(&[Anthropic, Bedrock, Strict]) && !prefill && !bare;
                let blank = content.and_then(Value::as_str).is_some_and(|it| it.trim().is_empty());
                applies && (nothing(content) || blank)
            }
            Dialect::Gemini => case.under(&[Gemini, Strict]) && no_list(message.field("parts")),
            Dialect::Responses => {
                let speaks = message.blocks.iter().any(|block| block.kind != Kind::Text);
                let other = message.role == Role::Other || speaks;
                let nothing = message.field("content").is_none();
                case.under(&[OpenaiResponses, Strict]) && !other && nothing
            }
        }
    })
}

fn empty_chat_message(case: &Case<'_>, message: &Message<'_>) -> bool {
    let content = message.field("content");
    let blank = content.and_then(Value::as_str).is_some_and(|text| text.trim().is_empty());
    let says_otherwise =
        ["refusal", "audio", "function_call"].iter().any(|key| message.field(key).is_some());
    match message.role {
        Role::Assistant if message.calls() => false,
        Role::Assistant => {
            let nothing = nothing(content) && !says_otherwise;
            (nothing && case.under(&[OpenaiChat, Mistral, Strict]))
                || (content.is_none() && !says_otherwise && case.under(&[Deepseek]))
                || (blank && case.under(&[Strict]))
        }
        Role::System => {
            let absent = content.is_none() && case.under(&[Mistral]);
            (absent || nothing(content) && case.under(&[OpenaiChat, Strict])) && !says_otherwise
        }
        Role::User => {
            (content.is_none() && !says_otherwise && case.under(&[Mistral]))
                || (nothing(content) && case.under(&[OpenaiChat, Strict]))
                || (blank && case.under(&[Strict]))
        }
        Role::Answer | Role::Other => false,
    }
}

fn malformed_arguments(case: &Case<'_>) -> Vec<String> {
    case.calls(|call| {
        let body = case.reading.messages[call.position.0].blocks[call.position.1].body;
        let objects = case.under(&[Anthropic, Gemini, Bedrock, Strict]);
        match case.reading.dialect {
            Dialect::Anthropic | Dialect::Bedrock => {
                objects && !body.get("input").is_some_and(Value::is_object)
            }
            Dialect::Gemini => objects && body.get("args").is_some_and(|args| !args.is_object()),
            Dialect::Chat => match chat_call(body) {
                (true, custom) => no_free_text(case, custom.and_then(|it| it.get("input"))),
                (false, function) => {
                    malformed_string(case, function.and_then(|it| it.get("arguments")))
                }
            },
            Dialect::Responses => match call.family {
                "function_call" => malformed_string(case, body.get("arguments")),
                "custom_tool_call" => no_free_text(case, body.get("input")),
                _ => false,
            },
        }
    })
}

fn no_free_text(case: &Case<'_>, input: Option<&Value>) -> bool {
    case.under(&[OpenaiChat, OpenaiResponses, Strict]) && !input.is_some_and(Value::is_string)
}

fn malformed_string(case: &Case<'_>, arguments: Option<&Value>) -> bool {
    let Some(arguments) = arguments.and_then(Value::as_str) else {
        let object = arguments.is_some_and(Value::is_object);
        return case.under(&[OpenaiChat, Deepseek, OpenaiResponses, Strict])
            || (case.under(&[Mistral]) && !object);
    };
    let parsed = serde_json::from_str::<Value>(arguments);
    case.under(&[Strict]) && !parsed.is_ok_and(|value| value.is_object())
}

fn empty_answer(case: &Case<'_>) -> Vec<String> {
    case.answers(|answer| {
        let body = case.reading.messages[answer.position.0].blocks[answer.position.1].body;
        let key = if case.reading.layout == Layout::Items { "output" } else { "content" };
        let content = body.get(key).filter(|content| !content.is_null());
        let says_nothing = |part: &Value| {
            text(part, "type") == Some("text") && text(part, "text").is_none_or(str::is_empty)
        };
        let silent =
            content.and_then(Value::as_array).is_some_and(|it| it.iter().all(says_nothing));
        let chat = case.reading.dialect == Dialect::Chat;
        let empty = hollow(content) || content == Some(&Value::from("")) || (chat && silent);
        match case.reading.dialect {
            Dialect::Chat => {
                let holes = silent && with_holes(content);
                let lacks =
                    (content.is_none() || holes) && case.under(&[OpenaiChat, Mistral, Strict]);
                lacks || (empty && case.under(&[Strict]))
            }
            Dialect::Responses => {
                let applies = ["function_call", "custom_tool_call"].contains(&answer.family);
                let lacks = content.is_none() && case.under(&[OpenaiResponses, Strict]);
                applies && (lacks || (empty && case.under(&[Strict])))
            }
            Dialect::Bedrock => {
                let failed = text(body, "status") == Some("error");
                let silent = failed && empty;
                let lacks = content.is_none() || content == Some(&Value::from(""));
                (lacks || silent) && case.under(&[Bedrock, Strict])
            }
            Dialect::Anthropic => empty && case.under(&[Strict]),
            Dialect::Gemini => false,
        }
    })
}

fn malformed_answer(case: &Case<'_>) -> Vec<String> {
    case.answers(|answer| {
        let body = case.reading.messages[answer.position.0].blocks[answer.position.1].body;
        let get = |key: &str| body.get(key).filter(|content| !content.is_null());
        let told = |content: &Value| content.is_string() || content.is_array();
        match case.reading.dialect {
            Dialect::Chat => {
                let content = get("content");
                let parts = content.and_then(Value::as_array);
                let says = |part: &Value| {
                    text(part, "type") != Some("text")
                        || text(part, "text").is_some_and(|words| !words.is_empty())
                };
                let torn = with_holes(content) && parts.into_iter().flatten().any(says);
                let odd = content.is_some_and(|content| !told(content)) || torn;
                odd && case.under(&[OpenaiChat, Mistral, Deepseek, Strict])
            }
            Dialect::Responses => {
                let plain = ["function_call", "custom_tool_call"].contains(&answer.family);
                let odd = get("output").is_some_and(|output| !told(output));
                plain && odd && case.under(&[OpenaiResponses, Strict])
            }
            Dialect::Anthropic => {
                let odd = get("content").is_some_and(|content| !told(content));
                odd && case.under(&[Anthropic, Strict])
            }
            Dialect::Gemini => {
                let odd = get("response").is_some_and(|response| !response.is_object());
                odd && case.under(&[Gemini, Strict])
            }
            Dialect::Bedrock => {
                let list = |content: &Value| content.is_array() || content == &Value::from("");
                let odd = get("content").is_some_and(|content| !list(content));
                odd && case.under(&[Bedrock, Strict])
            }
        }
    })
}

/// A list with a part of text that has no text.
fn with_holes(content: Option<&Value>) -> bool {
    let hole = |part: &Value| text(part, "type") == Some("text") && text(part, "text").is_none();
    content.and_then(Value::as_array).is_some_and(|parts| parts.iter().any(hole))
}

fn untyped_call(case: &Case<'_>) -> Vec<String> {
    case.calls(|call| {
        let body = case.reading.messages[call.position.0].blocks[call.position.1].body;
        let typed = matches!(text(body, "type"), Some("function" | "custom"));
        let named = body.get("type").is_some() && case.under(&[Mistral]);
        let chat = case.reading.dialect == Dialect::Chat;
        chat && !typed && (named || case.under(&[OpenaiChat, Strict]))
    })
}

fn media_in_answer(case: &Case<'_>) -> Vec<String> {
    let asked = case.under(&[OpenaiChat, Mistral, Deepseek, Strict]);
    if !asked || case.reading.layout != Layout::Chat {
        return Vec::new();
    }
    let live = super::pairing::running_turn(case);
    case.messages(|index| {
        let message = &case.reading.messages[index];
        if live.is_some_and(|end| index >= end) {
            return false;
        }
        let parts = message.field("content").and_then(Value::as_array);
        let media = |part: &Value| {
            let kind = text(part, "type").unwrap_or_default();
            ["image_url", "input_audio", "file", "image", "video_url", "audio_url", "document_url"]
                .contains(&kind)
        };
        message.role == Role::Answer && parts.into_iter().flatten().any(media)
    })
}

fn empty_text(case: &Case<'_>) -> Vec<String> {
    let breaks = |block: &Block<'_>| {
        if block.kind != Kind::Text {
            return false;
        }
        let words = block.text().unwrap_or("");
        match case.profile {
            Anthropic | Bedrock | Strict => words.trim().is_empty(),
            Gemini => words.is_empty() && id(block.value, "thoughtSignature").is_none(),
            OpenaiChat | OpenaiResponses | Mistral | Deepseek => false,
        }
    };
    match case.reading.layout {
        Layout::Blocks => case.blocks(|message, at| {
            let block = &case.reading.messages[message].blocks[at];
            matches!(block.place, Place::Content(_)) && breaks(block)
        }),
        Layout::Chat => case.messages(|index| {
            let message = &case.reading.messages[index];
            let content = message.field("content").and_then(Value::as_array);
            let content = content.filter(|_| message.role != Role::Answer);
            content.into_iter().flatten().any(|part| {
                let blank = match text(part, "text") {
                    None => case.under(&[OpenaiChat, Mistral, Deepseek, Strict]),
                    Some(words) => words.trim().is_empty() && case.under(&[Strict]),
                };
                text(part, "type") == Some("text") && blank
            })
        }),
        Layout::Items => Vec::new(),
    }
}

fn empty_call_list(case: &Case<'_>) -> Vec<String> {
    if !case.under(&[OpenaiChat, Strict]) || case.reading.layout != Layout::Chat {
        return Vec::new();
    }
    case.messages(|index| {
        let calls = case.reading.messages[index].field("tool_calls").and_then(Value::as_array);
        calls.is_some_and(Vec::is_empty)
    })
}

fn null_content(case: &Case<'_>) -> Vec<String> {
    if !case.under(&[Strict]) || case.reading.layout != Layout::Chat {
        return Vec::new();
    }
    case.messages(|index| {
        let message = &case.reading.messages[index];
        message.calls() && hollow(message.field("content"))
    })
}

fn trailing_whitespace(case: &Case<'_>) -> Vec<String> {
    let last = case.reading.messages.len().checked_sub(1);
    if !case.under(&[Anthropic]) || case.reading.dialect != Dialect::Anthropic {
        return Vec::new();
    }
    case.messages(|index| {
        let message = &case.reading.messages[index];
        let words =
            message.blocks.last().filter(|block| block.kind == Kind::Text).and_then(Block::text);
        let ends_in_space = words.is_some_and(|words| words.ends_with(char::is_whitespace));
        Some(index) == last && message.role == Role::Assistant && ends_in_space
    })
}

fn empty_history(case: &Case<'_>) -> Vec<String> {
    let empty = case.reading.root.is_object()
        && !case.reading.stateful
        && case.reading.list.is_some_and(Vec::is_empty);
    if empty { vec!["[]".to_owned()] } else { Vec::new() }
}

/// Absent, null or an empty array.
fn hollow(content: Option<&Value>) -> bool {
    match content {
        None | Some(Value::Null) => true,
        Some(Value::Array(elements)) => elements.is_empty(),
        Some(_) => false,
    }
}

/// Content that is neither words nor a list with something in it.
fn nothing(content: Option<&Value>) -> bool {
    hollow(content) || !content.is_some_and(|content| content.is_string() || content.is_array())
}

/// Parts that are not a list with something in it.
fn no_list(parts: Option<&Value>) -> bool {
    hollow(parts) || !parts.is_some_and(Value::is_array)
}
