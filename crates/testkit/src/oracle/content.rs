//! Rules 301 to 303, 307 to 309, 311, 312 and 314 to 316: required and forbidden content of
//! messages.

use serde_json::Value;

use super::reading::{
    BlockPlace, OracleBlock, OracleBlockKind, OracleLayout, OracleMessage, OracleRole, id, text,
};
use super::{OracleProfile::*, OracleRule, RuleCase, chat_call, foreign, steps};
use crate::dialect::TestFormat;

pub(super) const RULES: &[OracleRule] = &[
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

fn empty_message(case: &RuleCase<'_>) -> Vec<String> {
    let last = case.reading.messages.len().checked_sub(1);
    case.messages(|index| {
        let message = &case.reading.messages[index];
        if foreign::whole(case.reading.format, message.value).is_some() {
            return false;
        }
        match case.reading.format {
            TestFormat::Chat => empty_chat_message(case, message),
            TestFormat::Anthropic | TestFormat::Bedrock => {
                let content = message.field("content");
                let prefill = case.under(&[Anthropic])
                    && Some(index) == last
                    && message.role == OracleRole::Assistant
                    && content.is_some();
                // Claude Code sends such instructions: empty content with other fields.
                let bare = case.under(&[Anthropic])
                    && message.role == OracleRole::System
                    && content.is_some_and(Value::is_array);
                let applies = case.under(&[Anthropic, Bedrock, Strict]) && !prefill && !bare;
                let blank = content.and_then(Value::as_str).is_some_and(|it| it.trim().is_empty());
                applies && (nothing(content) || blank)
            }
            TestFormat::Gemini => case.under(&[Gemini, Strict]) && no_list(message.field("parts")),
            TestFormat::Interactions => {
                case.under(&[OpenaiResponses, Strict]) && steps::says_nothing(message.value)
            }
            TestFormat::Responses => {
                let speaks = message.blocks.iter().any(|block| block.kind != OracleBlockKind::Text);
                let other = message.role == OracleRole::Other || speaks;
                let nothing = message.field("content").is_none();
                case.under(&[OpenaiResponses, Strict]) && !other && nothing
            }
        }
    })
}

fn empty_chat_message(case: &RuleCase<'_>, message: &OracleMessage<'_>) -> bool {
    let content = message.field("content");
    let blank = content.and_then(Value::as_str).is_some_and(|text| text.trim().is_empty());
    let says_otherwise =
        ["refusal", "audio", "function_call"].iter().any(|key| message.field(key).is_some());
    match message.role {
        OracleRole::Assistant if message.calls() => false,
        OracleRole::Assistant => {
            let nothing = nothing(content) && !says_otherwise;
            (nothing && case.under(&[OpenaiChat, Mistral, Strict]))
                || (content.is_none() && !says_otherwise && case.under(&[Deepseek]))
                || (blank && case.under(&[Strict]))
        }
        OracleRole::System => {
            let absent = content.is_none() && case.under(&[Mistral]);
            (absent || nothing(content) && case.under(&[OpenaiChat, Strict])) && !says_otherwise
        }
        OracleRole::User => {
            (content.is_none() && !says_otherwise && case.under(&[Mistral]))
                || (nothing(content) && case.under(&[OpenaiChat, Strict]))
                || (blank && case.under(&[Strict]))
        }
        OracleRole::Answer | OracleRole::Other => false,
    }
}

fn malformed_arguments(case: &RuleCase<'_>) -> Vec<String> {
    case.calls(|call| {
        let body = case.reading.messages[call.position.0].blocks[call.position.1].body;
        let objects = case.under(&[Anthropic, Gemini, Bedrock, GeminiInteractions, Strict]);
        match case.reading.format {
            TestFormat::Anthropic | TestFormat::Bedrock => {
                objects && !body.get("input").is_some_and(Value::is_object)
            }
            TestFormat::Interactions => {
                objects && !body.get("arguments").is_some_and(Value::is_object)
            }
            TestFormat::Gemini => objects && body.get("args").is_some_and(|args| !args.is_object()),
            TestFormat::Chat if is_unknown_call(body) => false,
            TestFormat::Chat => match chat_call(body) {
                (true, custom) => no_free_text(case, custom.and_then(|it| it.get("input"))),
                (false, function) => {
                    malformed_string(case, function.and_then(|it| it.get("arguments")))
                }
            },
            TestFormat::Responses => match call.family {
                "function_call" => malformed_string(case, body.get("arguments")),
                "custom_tool_call" => no_free_text(case, body.get("input")),
                _ => false,
            },
        }
    })
}

fn no_free_text(case: &RuleCase<'_>, input: Option<&Value>) -> bool {
    case.under(&[OpenaiChat, OpenaiResponses, Strict]) && !input.is_some_and(Value::is_string)
}

fn malformed_string(case: &RuleCase<'_>, arguments: Option<&Value>) -> bool {
    let Some(arguments) = arguments.and_then(Value::as_str) else {
        let object = arguments.is_some_and(Value::is_object);
        return case.under(&[OpenaiChat, Deepseek, OpenaiResponses, Strict])
            || (case.under(&[Mistral]) && !object);
    };
    let parsed = serde_json::from_str::<Value>(arguments);
    case.under(&[Strict]) && !parsed.is_ok_and(|value| value.is_object())
}

fn empty_answer(case: &RuleCase<'_>) -> Vec<String> {
    case.answers(|answer| {
        let body = case.reading.messages[answer.position.0].blocks[answer.position.1].body;
        let key = match (foreign::result(case.reading.format, body), case.reading.format) {
            (Some((_, key)), _) => key,
            (None, TestFormat::Responses) => "output",
            (None, TestFormat::Interactions) => "result",
            (None, _) => "content",
        };
        let content = body.get(key).filter(|content| !content.is_null());
        let says_nothing = |part: &Value| {
            text(part, "type") == Some("text") && text(part, "text").is_none_or(str::is_empty)
        };
        let silent =
            content.and_then(Value::as_array).is_some_and(|it| it.iter().all(says_nothing));
        let chat = case.reading.format == TestFormat::Chat;
        let empty = hollow(content) || content == Some(&Value::from("")) || (chat && silent);
        match case.reading.format {
            TestFormat::Chat => {
                let holes = silent && with_holes(content);
                let lacks =
                    (content.is_none() || holes) && case.under(&[OpenaiChat, Mistral, Strict]);
                lacks || (empty && case.under(&[Strict]))
            }
            TestFormat::Responses => {
                let applies = ["function_call", "custom_tool_call"].contains(&answer.family);
                let lacks = content.is_none() && case.under(&[OpenaiResponses, Strict]);
                applies && (lacks || (empty && case.under(&[Strict])))
            }
            TestFormat::Bedrock => {
                let failed = text(body, "status") == Some("error");
                let silent = failed && empty;
                let lacks = content.is_none() || content == Some(&Value::from(""));
                (lacks || silent) && case.under(&[Bedrock, Strict])
            }
            TestFormat::Interactions => {
                let lacks = content.is_none() && case.under(&[GeminiInteractions, Strict]);
                lacks || (empty && case.under(&[Strict]))
            }
            TestFormat::Anthropic => empty && case.under(&[Strict]),
            TestFormat::Gemini => false,
        }
    })
}

fn malformed_answer(case: &RuleCase<'_>) -> Vec<String> {
    case.answers(|answer| {
        let body = case.reading.messages[answer.position.0].blocks[answer.position.1].body;
        let get = |key: &str| body.get(key).filter(|content| !content.is_null());
        let is_list = |content: &Value| {
            content.as_array().is_some_and(|list| list.iter().all(Value::is_object))
        };
        let is_content = |content: &Value| content.is_string() || is_list(content);
        if foreign::result(case.reading.format, body).is_some() {
            return false;
        }
        match case.reading.format {
            TestFormat::Chat => {
                let content = get("content");
                let parts = content.and_then(Value::as_array);
                let says = |part: &Value| {
                    text(part, "type") != Some("text")
                        || text(part, "text").is_some_and(|value| !value.is_empty())
                };
                let torn = with_holes(content) && parts.into_iter().flatten().any(says);
                let odd = content.is_some_and(|content| !is_content(content)) || torn;
                odd && case.under(&[OpenaiChat, Mistral, Deepseek, Strict])
            }
            TestFormat::Responses => {
                let plain = ["function_call", "custom_tool_call"].contains(&answer.family);
                let odd = get("output").is_some_and(|output| !is_content(output));
                plain && odd && case.under(&[OpenaiResponses, Strict])
            }
            TestFormat::Interactions => {
                let odd =
                    get("result").is_some_and(|result| result.is_number() || result.is_boolean());
                odd && case.under(&[GeminiInteractions, Strict])
            }
            TestFormat::Anthropic => {
                let odd = get("content").is_some_and(|content| !is_content(content));
                odd && case.under(&[Anthropic, Strict])
            }
            TestFormat::Gemini => {
                let odd = get("response").is_some_and(|response| !response.is_object());
                odd && case.under(&[Gemini, Strict])
            }
            TestFormat::Bedrock => {
                let list = |content: &Value| is_list(content) || content == &Value::from("");
                let odd = get("content").is_some_and(|content| !list(content));
                odd && case.under(&[Bedrock, Strict])
            }
        }
    })
}

/// Whether a list has a text part without text.
fn with_holes(content: Option<&Value>) -> bool {
    let hole = |part: &Value| text(part, "type") == Some("text") && text(part, "text").is_none();
    content.and_then(Value::as_array).is_some_and(|parts| parts.iter().any(hole))
}

fn untyped_call(case: &RuleCase<'_>) -> Vec<String> {
    case.calls(|call| {
        let body = case.reading.messages[call.position.0].blocks[call.position.1].body;
        let typed = matches!(text(body, "type"), Some("function" | "custom"));
        let named = body.get("type").is_some() && case.under(&[Mistral]);
        let chat = case.reading.format == TestFormat::Chat && !is_unknown_call(body);
        chat && !typed && (named || case.under(&[OpenaiChat, Strict]))
    })
}

/// Whether a chat call has a type that is not known, with its tool in a field of its own.
pub(super) fn is_unknown_call(body: &Value) -> bool {
    let kind = text(body, "type").unwrap_or_default();
    let flat = kind == "tool_call" && text(body, "name").is_some_and(|name| !name.is_empty());
    let known = flat || ["", "function", "custom"].contains(&kind);
    !known && body.get("function").is_none() && body.get("custom").is_none()
}

fn media_in_answer(case: &RuleCase<'_>) -> Vec<String> {
    let applies = case.under(&[OpenaiChat, Mistral, Deepseek, Strict]);
    if !applies || case.reading.layout != OracleLayout::Chat {
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
        message.role == OracleRole::Answer && parts.into_iter().flatten().any(media)
    })
}

fn empty_text(case: &RuleCase<'_>) -> Vec<String> {
    let breaks = |block: &OracleBlock<'_>| {
        if block.kind != OracleBlockKind::Text {
            return false;
        }
        let value = block.text().unwrap_or("");
        match case.profile {
            Anthropic | Bedrock | Strict => value.trim().is_empty(),
            Gemini => value.is_empty() && id(block.value, "thoughtSignature").is_none(),
            OpenaiChat | OpenaiResponses | GeminiInteractions | Mistral | Deepseek => false,
        }
    };
    match case.reading.layout {
        OracleLayout::Blocks => case.blocks(|message, at| {
            let block = &case.reading.messages[message].blocks[at];
            matches!(block.place, BlockPlace::Content(_)) && breaks(block)
        }),
        OracleLayout::Chat => case.messages(|index| {
            let message = &case.reading.messages[index];
            let content = message.field("content").and_then(Value::as_array);
            let content = content.filter(|_| message.role != OracleRole::Answer);
            content.into_iter().flatten().any(|part| {
                let blank = match text(part, "text") {
                    None => case.under(&[OpenaiChat, Mistral, Deepseek, Strict]),
                    Some(value) => value.trim().is_empty() && case.under(&[Strict]),
                };
                text(part, "type") == Some("text") && blank
            })
        }),
        OracleLayout::Items => Vec::new(),
    }
}

fn empty_call_list(case: &RuleCase<'_>) -> Vec<String> {
    if !case.under(&[OpenaiChat, Strict]) || case.reading.layout != OracleLayout::Chat {
        return Vec::new();
    }
    case.messages(|index| {
        let calls = case.reading.messages[index].field("tool_calls").and_then(Value::as_array);
        calls.is_some_and(Vec::is_empty)
    })
}

fn null_content(case: &RuleCase<'_>) -> Vec<String> {
    if !case.under(&[Strict]) || case.reading.layout != OracleLayout::Chat {
        return Vec::new();
    }
    case.messages(|index| {
        let message = &case.reading.messages[index];
        message.calls() && hollow(message.field("content"))
    })
}

fn trailing_whitespace(case: &RuleCase<'_>) -> Vec<String> {
    let last = case.reading.messages.len().checked_sub(1);
    if !case.under(&[Anthropic]) || case.reading.format != TestFormat::Anthropic {
        return Vec::new();
    }
    case.messages(|index| {
        let message = &case.reading.messages[index];
        let value = message
            .blocks
            .last()
            .filter(|block| block.kind == OracleBlockKind::Text)
            .and_then(OracleBlock::text);
        let ends_in_space = value.is_some_and(|value| value.ends_with(char::is_whitespace));
        Some(index) == last && message.role == OracleRole::Assistant && ends_in_space
    })
}

fn empty_history(case: &RuleCase<'_>) -> Vec<String> {
    let empty = case.reading.root.is_object()
        && !case.reading.stateful
        && case.reading.list.is_some_and(Vec::is_empty);
    if empty { vec!["[]".to_owned()] } else { Vec::new() }
}

/// Whether content is absent, null or an empty array.
fn hollow(content: Option<&Value>) -> bool {
    match content {
        None | Some(Value::Null) => true,
        Some(Value::Array(elements)) => elements.is_empty(),
        Some(_) => false,
    }
}

/// Whether content is neither text nor a non-empty list.
fn nothing(content: Option<&Value>) -> bool {
    hollow(content) || !content.is_some_and(|content| content.is_string() || content.is_array())
}

/// Whether parts are not a non-empty list.
fn no_list(parts: Option<&Value>) -> bool {
    // One part may stand in place of the list.
    !parts.is_some_and(Value::is_object) && (hollow(parts) || !parts.is_some_and(Value::is_array))
}
