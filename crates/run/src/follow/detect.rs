//! Detects the source of a stream from its lines.

use crate::{
    follow::{StreamSource, fields::LineFields},
    wire,
};

/// The source of a line; `None` if it is ambiguous. The first lines of a stream are enough.
pub fn detect_source(line: &str) -> Option<StreamSource> {
    let fields = LineFields::read(line)?;
    let kind = fields.text("type")?;
    let has = |name: &str| fields.raw(name).is_some();
    let source = match kind.as_str() {
        _ if has("runId") => wire::read(line).is_ok().then_some(StreamSource::Events)?,
        "system" | "result" if has("subtype") => StreamSource::ClaudeCode,
        "assistant" | "user" if has("message") => StreamSource::ClaudeCode,
        "stream_event" if has("event") => StreamSource::ClaudeCode,
        "control_request" | "control_response" | "control_cancel_request"
            if has("request_id") || has("response") =>
        {
            StreamSource::ClaudeCode
        }
        "command_lifecycle" | "tool_progress" => StreamSource::ClaudeCode,
        "init" if has("session_id") => StreamSource::GeminiCli,
        "message" if has("role") => StreamSource::GeminiCli,
        "tool_use" | "tool_result" if has("tool_id") => StreamSource::GeminiCli,
        "error" if has("severity") => StreamSource::GeminiCli,
        "result" if has("status") => StreamSource::GeminiCli,
        "error" if has("message") => StreamSource::Codex,
        kind if ["thread.", "turn.", "item."].iter().any(|head| kind.starts_with(head)) => {
            StreamSource::Codex
        }
        _ => return None,
    };
    Some(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_identifies_its_source() {
        let table = [
            (r#"{"type":"system","subtype":"init"}"#, Some(StreamSource::ClaudeCode)),
            (r#"{"type":"assistant","message":{}}"#, Some(StreamSource::ClaudeCode)),
            (r#"{"type":"result","subtype":"success"}"#, Some(StreamSource::ClaudeCode)),
            (r#"{"type":"control_response","response":{}}"#, Some(StreamSource::ClaudeCode)),
            (r#"{"type":"thread.started","thread_id":"x"}"#, Some(StreamSource::Codex)),
            (r#"{"type":"item.completed","item":{}}"#, Some(StreamSource::Codex)),
            (r#"{"type":"error","message":"x"}"#, Some(StreamSource::Codex)),
            (r#"{"type":"init","session_id":"x"}"#, Some(StreamSource::GeminiCli)),
            (r#"{"type":"result","status":"success"}"#, Some(StreamSource::GeminiCli)),
            (
                r#"{"type":"error","severity":"warning","message":"x"}"#,
                Some(StreamSource::GeminiCli),
            ),
            (r#"{"type":"run-started","runId":"r"}"#, Some(StreamSource::Events)),
            (r#"{"type":"error","runId":"r","message":"x"}"#, Some(StreamSource::Events)),
            (r#"{"type":"system"}"#, None),
            (r#"{"type":7}"#, None),
            ("npm warn", None),
            ("", None),
        ];
        for (line, expected) in table {
            assert_eq!(detect_source(line), expected, "{line}");
        }
    }

    #[test]
    fn sources_keep_their_names() {
        for source in StreamSource::ALL {
            assert_eq!(StreamSource::from_name(source.name()), Some(source));
        }
        assert_eq!(StreamSource::from_name("qwen-code"), Some(StreamSource::ClaudeCode));
        assert_eq!(StreamSource::from_name("aider"), None);
    }
}
