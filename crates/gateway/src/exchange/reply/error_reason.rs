//! What a provider says about an error or an unreadable reply, in one short line for people.

use foxwedge_upstream::UpstreamConfig;
use serde_json::{Map, Value};

/// Longer reasons are shortened.
const MAX_CHARACTERS: usize = 500;

/// How many entries of a list are quoted.
const MAX_ENTRIES: usize = 5;

/// Where errors have their text, by priority.
const TEXT_FIELDS: [&str; 11] = [
    "error",
    "error_description",
    "message",
    "Message",
    "detail",
    "details",
    "errors",
    "msg",
    "error_message",
    "reason",
    "title",
];

/// The reason that the body of an error gives, without the keys of its upstream; `None` if there is
/// none that people can read. Of web pages it is the title.
pub(super) fn error_reason(body: &str, upstream: &UpstreamConfig) -> Option<String> {
    let body = body.trim_start_matches('\u{feff}').trim();
    let reason = match serde_json::from_str::<Value>(body) {
        Ok(value) => {
            json_reason(&value).or_else(|| has_content(&value).then(|| body.to_owned()))?
        }
        Err(_) if body.starts_with('<') => page_title(body)?.to_owned(),
        // Not a text.
        Err(_) if body.contains(char::REPLACEMENT_CHARACTER) => return None,
        Err(_) => body.to_owned(),
    };
    let reason = upstream.redact_secrets(one_line(&reason));
    let end = reason.char_indices().nth(MAX_CHARACTERS).map(|(at, _)| at);
    let short = match end.and_then(|end| reason.get(..end)) {
        Some(start) => format!("{}…", start.trim_end()),
        None => reason,
    };
    (!short.is_empty()).then_some(short)
}

/// The title of a web page.
pub(super) fn page_title(page: &str) -> Option<&str> {
    let lower = page.to_ascii_lowercase();
    let tag = lower.find("<title")?;
    let start = tag + lower.get(tag..)?.find('>')? + 1;
    let end = start + lower.get(start..)?.find("</title")?;
    page.get(start..end).map(str::trim).filter(|title| !title.is_empty())
}

/// The text of an error in JSON, whatever the provider.
fn json_reason(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => (!text.trim().is_empty()).then(|| text.clone()),
        Value::Array(entries) => {
            let reasons = entries.iter().filter_map(json_reason).take(MAX_ENTRIES);
            let reasons = reasons.collect::<Vec<_>>().join("; ");
            (!reasons.is_empty()).then_some(reasons)
        }
        Value::Object(fields) => {
            let reason = TEXT_FIELDS.iter().find_map(|name| json_reason(fields.get(*name)?))?;
            Some(match field_path(fields) {
                Some(path) => format!("{path}: {reason}"),
                None => reason,
            })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

/// The place in the request that an entry of FastAPI is about.
fn field_path(entry: &Map<String, Value>) -> Option<String> {
    let parts = entry.get("loc")?.as_array()?.iter().filter_map(|part| match part {
        Value::String(name) => Some(name.clone()),
        Value::Number(index) => Some(index.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    });
    let path = parts.collect::<Vec<_>>().join(".");
    (!path.is_empty()).then_some(path)
}

fn has_content(value: &Value) -> bool {
    match value {
        Value::Null | Value::String(_) => false,
        Value::Bool(_) | Value::Number(_) => true,
        Value::Array(entries) => !entries.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
    }
}

/// A text without line breaks and control characters.
fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use foxwedge_core::Format;
    use foxwedge_upstream::{SecretText, UpstreamKey, single_upstream};

    use super::*;

    fn reason(body: &str) -> Option<String> {
        let key = UpstreamKey::Configured(SecretText::new("sk-canary-1"));
        let upstream = single_upstream("test", Format::OpenaiChat, None, key).expect("an upstream");
        error_reason(body, &upstream)
    }

    #[test]
    fn the_reason_of_every_provider_is_found() {
        let table = [
            ("Invalid tool schema: foo", "Invalid tool schema: foo"),
            ("  a\r\n\tb\u{7}\u{1b}[31mc\u{85} ", "a b [31mc"),
            (r#"{"detail":"Not Found"}"#, "Not Found"),
            (
                r#"{"detail":[{"type":"missing","loc":["body","messages",0],"msg":"Field required",
                    "input":{"content":"private"}},{"msg":"And more"}]}"#,
                "body.messages.0: Field required; And more",
            ),
            (
                r#"{"object":"error","message":{"detail":[{"loc":["body"],"msg":"Bad"}]}}"#,
                "body: Bad",
            ),
            (r#"{"error":"model `x` is not loaded"}"#, "model `x` is not loaded"),
            (r#"[{"error":{"code":400,"message":"No such field."}}]"#, "No such field."),
            (r#"{"error":"invalid_client","error_description":"Expired"}"#, "invalid_client"),
            (r#""Internal Server Error""#, "Internal Server Error"),
            (r#"{"code":17}"#, r#"{"code":17}"#),
            ("<!DOCTYPE html><HTML><Title lang=en>502\nBad Gateway</TITLE>", "502 Bad Gateway"),
            ("bad key sk-canary-1", "bad key [secret]"),
            (r#"{"error":{"message":"bad key sk\u002dcanary-1"}}"#, "bad key [secret]"),
        ];
        for (body, expected) in table {
            assert_eq!(reason(body).as_deref(), Some(expected), "{body}");
        }
        for body in ["", " \n", "{}", "null", "[]", "\"\"", "<html><p>x", "\u{fffd}\u{fffd}a"] {
            assert_eq!(reason(body), None, "{body:?}");
        }
    }

    #[test]
    fn a_long_reason_is_shortened_and_no_part_of_a_key_is_left() {
        let long = reason(&"ä ".repeat(600)).expect("a reason");
        assert!(long.chars().count() <= 501 && long.ends_with("ä…"), "{long}");
        let at_the_end = format!("{} sk-canary-1 more", "x".repeat(495));
        let short = reason(&at_the_end).expect("a reason");
        assert!(short.ends_with("[sec…"), "{short}");
    }
}
