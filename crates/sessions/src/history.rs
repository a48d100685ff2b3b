//! Writes the conversation of a session file in the API format of its agent.

use foxwedge_core::{ContentShape, Message, MessageFlags, Part, Role};

use super::{
    ParsedSession, SessionAgent, ai_sdk, ai_sdk::ClosedCall, chat_messages, codex, crush,
    gemini_cli, goose, neovate, opencode, pi, qwen_code,
};
use foxwedge_json::quote;

/// The list of messages, one per line, with the results of calls that it closes.
pub(super) fn history(session: &ParsedSession<'_>, mut closed: &[ClosedCall<'_>]) -> String {
    let draft = session.draft();
    let mut out = String::with_capacity(draft.source.len() / 2 + 2);
    let shells = match session.agent {
        SessionAgent::Codex => codex::shell_calls(draft),
        _ => Default::default(),
    };
    for (at, message) in draft.messages.iter().enumerate() {
        // They come behind the results that the list has for the same reply.
        if message.role != Role::User || message.flags.has(MessageFlags::NO_RESULTS) {
            ai_sdk::write_results(&mut out, &mut closed, at);
        }
        out.push_str(if at == 0 { "[\n" } else { ",\n" });
        let parts = draft.parts_of(message);
        match session.agent {
            SessionAgent::ClaudeCode | SessionAgent::Cline | SessionAgent::ReadOnly(_) => {
                write_block_message(&mut out, draft.source, message, parts)
            }
            SessionAgent::Neovate => {
                write_part_message(&mut out, draft.source, message, parts, neovate::write_block)
            }
            SessionAgent::Pi => {
                write_part_message(&mut out, draft.source, message, parts, pi::write_block)
            }
            SessionAgent::AiSdkUi | SessionAgent::AiSdkModel => {
                write_part_message(&mut out, draft.source, message, parts, ai_sdk::write_block)
            }
            SessionAgent::Opencode => {
                write_part_message(&mut out, draft.source, message, parts, opencode::write_block)
            }
            SessionAgent::Crush => {
                write_part_message(&mut out, draft.source, message, parts, crush::write_block)
            }
            SessionAgent::Goose => {
                write_part_message(&mut out, draft.source, message, parts, goose::write_block)
            }
            SessionAgent::Codex => {
                codex::write_item(&mut out, draft.source, message, parts, &shells)
            }
            SessionAgent::CopilotCli | SessionAgent::KimiCode => {
                chat_messages::write_message(&mut out, draft.source, message, parts)
            }
            SessionAgent::QwenCode => {
                qwen_code::write_content(&mut out, draft.source, message, parts)
            }
            SessionAgent::GeminiCli => {
                gemini_cli::write_content(&mut out, draft.source, message, parts)
            }
        }
    }
    ai_sdk::write_results(&mut out, &mut closed, usize::MAX);
    out.push_str(if draft.messages.is_empty() { "[]\n" } else { "\n]\n" });
    out
}

/// Writes a message whose blocks already have the provider's format.
fn write_block_message(out: &mut String, source: &str, message: &Message, parts: &[Part<'_>]) {
    out.push_str("{\"role\":");
    out.push_str(&quote(role_name(message.role)));
    out.push_str(",\"content\":");
    if let [only] = parts
        && message.content == ContentShape::Text
    {
        out.push_str(only.span.of(source));
    } else {
        for (at, part) in parts.iter().enumerate() {
            out.push(if at == 0 { '[' } else { ',' });
            let text = part.span.of(source);
            if text.starts_with('"') {
                out.push_str("{\"type\":\"text\",\"text\":");
                out.push_str(text);
                out.push('}');
            } else {
                out.push_str(text);
            }
        }
        out.push_str(if parts.is_empty() { "[]" } else { "]" });
    }
    out.push('}');
}

/// Writes a message whose parts have a format of the agent's own.
fn write_part_message(
    out: &mut String,
    source: &str,
    message: &Message,
    parts: &[Part<'_>],
    write_part: fn(&mut String, &str, &Part<'_>) -> bool,
) {
    out.push_str(&format!("{{\"role\":{},\"content\":", quote(role_name(message.role))));
    if let [only] = parts
        && message.content == ContentShape::Text
    {
        out.push_str(only.span.of(source));
    } else {
        let start = out.len();
        for part in parts {
            out.push(if out.len() == start { '[' } else { ',' });
            if !write_part(out, source, part) {
                out.pop();
            }
        }
        out.push_str(if out.len() == start { "[]" } else { "]" });
    }
    out.push('}');
}

/// The Anthropic name of a role.
fn role_name(role: Role) -> &'static str {
    match role {
        Role::Assistant => "assistant",
        Role::System | Role::Developer => "system",
        Role::User | Role::Answer | Role::Neutral | Role::Unknown => "user",
    }
}
