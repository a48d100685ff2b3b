//! Whose lines they are, by what is in them.

use crate::{
    follow::{Source, fields::Fields},
    wire,
};

/// Whose line this is; nothing if it could be anybody's. The first lines of a stream are enough.
pub fn detect(line: &str) -> Option<Source> {
    let fields = Fields::read(line)?;
    let kind = fields.text("type")?;
    let has = |name: &str| fields.raw(name).is_some();
    let source = match kind.as_str() {
        _ if has("runId") => wire::read(line).is_ok().then_some(Source::Events)?,
        "system" | "result" if has("subtype") => Source::ClaudeCode,
        "assistant" | "user" if has("message") => Source::ClaudeCode,
        "stream_event" if has("event") => Source::ClaudeCode,
        "control_request" | "control_response" | "control_cancel_request"
            if has("request_id") || has("response") =>
        {
            Source::ClaudeCode
        }
        "command_lifecycle" | "tool_progress" => Source::ClaudeCode,
        "init" if has("session_id") => Source::GeminiCli,
        "message" if has("role") => Source::GeminiCli,
        "tool_use" | "tool_result" if has("tool_id") => Source::GeminiCli,
        "error" if has("severity") => Source::GeminiCli,
        "result" if has("status") => Source::GeminiCli,
        "error" if has("message") => Source::Codex,
        kind if ["thread.", "turn.", "item."].iter().any(|head| kind.starts_with(head)) => {
            Source::Codex
        }
        _ => return None,
    };
    Some(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_whose_it_is() {
        let table = [
            (r#"{"type":"system","subtype":"init"}"#, Some(Source::ClaudeCode)),
            (r#"{"type":"assistant","message":{}}"#, Some(Source::ClaudeCode)),
            (r#"{"type":"result","subtype":"success"}"#, Some(Source::ClaudeCode)),
            (r#"{"type":"control_response","response":{}}"#, Some(Source::ClaudeCode)),
            (r#"{"type":"thread.started","thread_id":"x"}"#, Some(Source::Codex)),
            (r#"{"type":"item.completed","item":{}}"#, Some(Source::Codex)),
            (r#"{"type":"error","message":"x"}"#, Some(Source::Codex)),
            (r#"{"type":"init","session_id":"x"}"#, Some(Source::GeminiCli)),
            (r#"{"type":"result","status":"success"}"#, Some(Source::GeminiCli)),
            (r#"{"type":"error","severity":"warning","message":"x"}"#, Some(Source::GeminiCli)),
            (r#"{"type":"run-started","runId":"r"}"#, Some(Source::Events)),
            (r#"{"type":"error","runId":"r","message":"x"}"#, Some(Source::Events)),
            (r#"{"type":"system"}"#, None),
            (r#"{"type":7}"#, None),
            ("npm warn", None),
            ("", None),
        ];
        for (line, expected) in table {
            assert_eq!(detect(line), expected, "{line}");
        }
    }

    #[test]
    fn sources_keep_their_names() {
        for source in Source::ALL {
            assert_eq!(Source::from_name(source.name()), Some(source));
        }
        assert_eq!(Source::from_name("qwen-code"), Some(Source::ClaudeCode));
        assert_eq!(Source::from_name("aider"), None);
    }
}
