//! Whose file it is.

use foxwedge_core::Span;

use super::{Agent, lines::lines};
use crate::json::{Scan, Scanner, Shape, field, says};

/// Whose file it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Recognised {
    /// Nobody's that we know.
    No,
    /// This agent's.
    Yes(Agent),
    /// This agent's, but in a form that we do not know.
    Newer(Agent, String),
    /// Of an agent by that name, whose files are not read.
    Unsupported(&'static str),
}

/// Records looked at before we give up.
const LOOK: usize = 64;

/// Says whose session file a text is, by its first records.
pub fn recognise(source: &str) -> Recognised {
    let start = source.trim_start();
    if start.starts_with('[') {
        return list(source);
    }
    if old_gemini(source).is_some() {
        return Recognised::Yes(Agent::GeminiCli);
    }
    // What is left of torn records tells where no whole one does.
    let mut hint = Recognised::No;
    for raw in lines(source).take(LOOK) {
        let mut scan = Scanner::within(source, raw.span);
        let whole = match scan.shape() {
            Ok(Shape::Object) => scan.skip().and_then(|span| scan.end().map(|()| span)),
            _ => continue,
        };
        match whole {
            Ok(object) => match record(source, object) {
                Recognised::No if hint == Recognised::No => hint = note(source, object),
                Recognised::No => {}
                known => return known,
            },
            Err(_) if hint == Recognised::No => hint = torn(raw.span.of(source)),
            Err(_) => {}
        }
    }
    hint
}

fn record(source: &str, object: Span) -> Recognised {
    let has = |key: &str| field(source, object, key).is_some();
    let Some(kind) = says(source, object, "type") else { return untyped(source, object) };
    match &*kind {
        "user" | "assistant" | "tool_result" if has("uuid") && has("parentUuid") => {
            let message = field(source, object, "message");
            let has = |key: &str| message.is_some_and(|at| field(source, at, key).is_some());
            match (has("parts"), has("content") && has("role")) {
                // The same links, around messages as Gemini spells them.
                (true, _) => Recognised::Unsupported("Qwen Code"),
                (false, true) => claude_code(source, object),
                (false, false) => Recognised::No,
            }
        }
        "session" if has("version") && has("cwd") && has("id") => Recognised::Unsupported("pi"),
        kind if kind.contains('.') && has("data") && has("parentId") => {
            Recognised::Unsupported("Copilot CLI")
        }
        "message" if has("uuid") && has("parentUuid") && has("role") => {
            Recognised::Yes(Agent::Neovate)
        }
        "session_meta" | "response_item" | "turn_context" | "event_msg"
            if has("payload") && has("timestamp") =>
        {
            Recognised::Yes(Agent::Codex)
        }
        _ => Recognised::No,
    }
}

/// A record that is no message, and that other agents write as well.
fn note(source: &str, object: Span) -> Recognised {
    let has = |key: &str| field(source, object, key).is_some();
    match says(source, object, "type").as_deref() {
        Some("system" | "attachment" | "progress") if has("uuid") && has("parentUuid") => {
            claude_code(source, object)
        }
        _ => Recognised::No,
    }
}

/// Whether an object says that it is a record of this agent.
pub(super) fn is_own(source: &str, object: Span, agent: Agent) -> bool {
    let says_so = |known: Recognised| match known {
        Recognised::Yes(other) | Recognised::Newer(other, _) => other == agent,
        Recognised::No | Recognised::Unsupported(_) => false,
    };
    says_so(record(source, object)) || says_so(note(source, object))
}

/// The beginning of a record that was cut off.
fn torn(beginning: &str) -> Recognised {
    let has = |key: &str| beginning.contains(key);
    let own = has("\"isSidechain\":") || has("\"userType\":");
    if has("\"parentUuid\":") && own && !has("\"parts\":") {
        return Recognised::Yes(Agent::ClaudeCode);
    }
    if has("\"type\":\"message\"") && has("\"uuid\":") {
        return Recognised::Yes(Agent::Neovate);
    }
    if has("\"type\":\"session_meta\"") && has("\"timestamp\":") {
        return Recognised::Yes(Agent::Codex);
    }
    Recognised::No
}

/// Claude Code writes its version into every record.
fn claude_code(source: &str, object: Span) -> Recognised {
    let version = says(source, object, "version").unwrap_or_default();
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    match major {
        Some(major) if major > 2 => Recognised::Newer(
            Agent::ClaudeCode,
            format!(
                "written by Claude Code {version}; only the files of versions 1 and 2 are known"
            ),
        ),
        _ => Recognised::Yes(Agent::ClaudeCode),
    }
}

/// Records without a type: old Codex, and Gemini CLI.
fn untyped(source: &str, object: Span) -> Recognised {
    let has = |key: &str| field(source, object, key).is_some();
    if has("sessionId") && has("projectHash") {
        return Recognised::Yes(Agent::GeminiCli);
    }
    if has("sessionId") && has("history") && has("workspaceDirectory") {
        return Recognised::Unsupported("Continue");
    }
    if has("id") && has("timestamp") && has("instructions") {
        let why =
            "a rollout of Codex from before September 2025, which Codex itself does not resume";
        return Recognised::Newer(Agent::Codex, why.to_owned());
    }
    Recognised::No
}

/// A list of messages is Cline's (or Roo's, or Kilo's) if its messages carry a time.
fn list(source: &str) -> Recognised {
    let mut scan = Scanner::new(source);
    let mut found = false;
    let mut seen = 0;
    // A torn list is told by its beginning.
    let _: Scan<Span> = scan.array(|scan, _| {
        if found || seen >= LOOK || scan.shape()? != Shape::Object {
            return scan.trouble("enough");
        }
        seen += 1;
        let element = scan.skip()?;
        let number = field(source, element, "ts").is_some_and(|time| {
            time.of(source).bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        });
        found = number && field(source, element, "role").is_some();
        Ok(())
    });
    if found { Recognised::Yes(Agent::Cline) } else { Recognised::No }
}

/// Where the list of messages begins in an older file of Gemini CLI: one object over many lines.
pub(super) fn old_gemini(source: &str) -> Option<usize> {
    const LIST: &str = "\"messages\"";
    let first = lines(source).next()?.span;
    let mut scan = Scanner::within(source, first);
    if scan.skip().and_then(|_| scan.end()).is_ok() {
        return None;
    }
    // The head of such a file is short; a large one is not searched through.
    let near = (0..=source.len().min(1 << 16)).rev().find(|&at| source.is_char_boundary(at))?;
    let at = source.get(..near)?.find(LIST)?;
    let (head, rest) = (source.get(..at)?, source.get(at + LIST.len()..)?);
    if !source.trim_start().starts_with('{')
        || !head.contains("\"sessionId\"")
        || !head.contains("\"projectHash\"")
    {
        return None;
    }
    // Newer files hold a record on each line, whole or torn: the first says whose it is.
    if at >= first.end as usize && first.of(source).contains("\"projectHash\"") {
        return None;
    }
    let start = head.rfind('\n').map_or(0, |at| at + 1);
    let end = source.get(start..)?.find('\n').map_or(source.len(), |at| start + at);
    let mut scan = Scanner::within(source, Span::new(start, end));
    if scan.shape() == Ok(Shape::Object) && scan.skip().and_then(|_| scan.end()).is_ok() {
        return None;
    }
    let list = rest.find('[')?;
    let between = rest.get(..list)?.trim();
    (between == ":").then_some(head.len() + LIST.len() + list)
}
