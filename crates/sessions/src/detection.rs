//! Recognizes which agent wrote a session file.

use foxwedge_core::Span;

use super::{
    SessionAgent,
    lines::lines,
    message_list,
    read_only_agent::{AGENT_FIELD, ReadOnlyAgent},
};
use foxwedge_json::{JsonScanner, JsonShape, ScanResult, field_text, field_value};

/// Which agent wrote a session file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AgentDetection {
    /// No known agent.
    Unknown,
    /// A supported agent.
    Known(SessionAgent),
    /// A supported agent, but a version of its format that is not supported. The text gives the
    /// reason.
    UnknownVersion(SessionAgent, String),
    /// A known agent whose files are not supported.
    Unsupported(&'static str),
}

/// How many records are examined at most.
const MAX_RECORDS: usize = 64;

/// Recognizes the agent by the first records of a file.
pub fn detect_agent(source: &str) -> AgentDetection {
    let start = source.trim_start();
    if start.starts_with('[') {
        return match is_timed_list(source, 0) {
            true => AgentDetection::Known(SessionAgent::Cline),
            false => {
                message_list::detect(source).map_or(AgentDetection::Unknown, AgentDetection::Known)
            }
        };
    }
    if is_cline_session(source) {
        return AgentDetection::Known(SessionAgent::Cline);
    }
    if old_gemini_list(source).is_some() {
        return AgentDetection::Known(SessionAgent::GeminiCli);
    }
    if let Some(list) = message_list::detect(source) {
        return AgentDetection::Known(list);
    }
    // Torn records give a hint that counts only if no intact record is recognized.
    let mut hint = AgentDetection::Unknown;
    for raw in lines(source).take(MAX_RECORDS) {
        let mut scan = JsonScanner::within(source, raw.span);
        let whole = match scan.shape() {
            Ok(JsonShape::Object) => scan.skip().and_then(|span| scan.end().map(|()| span)),
            _ => continue,
        };
        match whole {
            Ok(object) => match detect_record(source, object) {
                AgentDetection::Unknown if hint == AgentDetection::Unknown => {
                    hint = detect_note(source, object)
                }
                AgentDetection::Unknown => {}
                known => return known,
            },
            Err(_) if hint == AgentDetection::Unknown => hint = detect_torn(raw.span.of(source)),
            Err(_) => {}
        }
    }
    hint
}

fn detect_record(source: &str, object: Span) -> AgentDetection {
    let has = |key: &str| field_value(source, object, key).is_some();
    if let Some(store) = field_text(source, object, "store").filter(|_| has("table")) {
        let agent = SessionAgent::parse(&store).filter(|agent| agent.is_in_database());
        return agent.map_or(AgentDetection::Unknown, AgentDetection::Known);
    }
    if let Some(name) = field_text(source, object, AGENT_FIELD) {
        let agent = ReadOnlyAgent::ALL.into_iter().find(|agent| agent.name() == name);
        return agent.map_or(AgentDetection::Unknown, |agent| {
            AgentDetection::Known(SessionAgent::ReadOnly(agent))
        });
    }
    let Some(kind) = field_text(source, object, "type") else {
        return detect_untyped(source, object);
    };
    match &*kind {
        "user" | "assistant" | "tool_result" if has("uuid") && has("parentUuid") => {
            let message = field_value(source, object, "message");
            let has = |key: &str| message.is_some_and(|at| field_value(source, at, key).is_some());
            match (has("parts"), has("content") && has("role")) {
                // The same links, but with messages in the Gemini format.
                (true, _) => AgentDetection::Known(SessionAgent::QwenCode),
                (false, true) => detect_claude_code(source, object),
                (false, false) => AgentDetection::Unknown,
            }
        }
        "session" if has("cwd") && has("id") && has("timestamp") => detect_pi(source, object),
        kind if kind.contains('.') && has("data") && has("parentId") => {
            detect_copilot(source, object)
        }
        "metadata" if has("protocol_version") => detect_kimi(source, object),
        "context.append_message" if has("message") && has("time") => {
            AgentDetection::Known(SessionAgent::KimiCode)
        }
        "context.append_loop_event" if has("event") && has("time") => {
            AgentDetection::Known(SessionAgent::KimiCode)
        }
        "message" if has("id") && has("parentId") && has("message") => {
            AgentDetection::Known(SessionAgent::Pi)
        }
        "message" if has("uuid") && has("parentUuid") && has("role") => {
            AgentDetection::Known(SessionAgent::Neovate)
        }
        "session_meta" | "response_item" | "turn_context" | "event_msg"
            if has("payload") && has("timestamp") =>
        {
            AgentDetection::Known(SessionAgent::Codex)
        }
        _ => AgentDetection::Unknown,
    }
}

/// Recognizes records that are not messages. Other agents write similar ones.
fn detect_note(source: &str, object: Span) -> AgentDetection {
    let has = |key: &str| field_value(source, object, key).is_some();
    match field_text(source, object, "type").as_deref() {
        Some("system") if has("systemPayload") && has("uuid") && has("provenance") => {
            AgentDetection::Known(SessionAgent::QwenCode)
        }
        Some("system" | "attachment" | "progress") if has("uuid") && has("parentUuid") => {
            detect_claude_code(source, object)
        }
        _ => AgentDetection::Unknown,
    }
}

/// Whether an object is recognizable as a record of this agent.
pub(super) fn is_record_of(source: &str, object: Span, agent: SessionAgent) -> bool {
    let is_agent = |known: AgentDetection| match known {
        AgentDetection::Known(other) | AgentDetection::UnknownVersion(other, _) => other == agent,
        AgentDetection::Unknown | AgentDetection::Unsupported(_) => false,
    };
    is_agent(detect_record(source, object)) || is_agent(detect_note(source, object))
}

/// Recognizes the beginning of a record that was cut off.
fn detect_torn(beginning: &str) -> AgentDetection {
    let has = |key: &str| beginning.contains(key);
    let own = has("\"isSidechain\":") || has("\"userType\":");
    if has("\"parentUuid\":") && own && !has("\"parts\":") {
        return AgentDetection::Known(SessionAgent::ClaudeCode);
    }
    if has("\"parentUuid\":") && has("\"provenance\":") {
        return AgentDetection::Known(SessionAgent::QwenCode);
    }
    if has("\"type\":\"message\"") && has("\"uuid\":") {
        return AgentDetection::Known(SessionAgent::Neovate);
    }
    if has("\"type\":\"session.start\"") && has("\"producer\":\"copilot-agent\"") {
        return AgentDetection::Known(SessionAgent::CopilotCli);
    }
    if has("\"type\":\"session_meta\"") && has("\"timestamp\":") {
        return AgentDetection::Known(SessionAgent::Codex);
    }
    AgentDetection::Unknown
}

/// Checks the version, which Claude Code writes into every record.
fn detect_claude_code(source: &str, object: Span) -> AgentDetection {
    let version = field_text(source, object, "version").unwrap_or_default();
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    match major {
        Some(major) if major > 2 => AgentDetection::UnknownVersion(
            SessionAgent::ClaudeCode,
            format!(
                "written by Claude Code {version}; only files of versions 1 and 2 are supported"
            ),
        ),
        _ => AgentDetection::Known(SessionAgent::ClaudeCode),
    }
}

/// Checks the version, which pi writes into the header.
fn detect_pi(source: &str, header: Span) -> AgentDetection {
    let version = field_value(source, header, "version").map_or("1", |version| version.of(source));
    match version.parse::<u32>() {
        Ok(number) if (2..=3).contains(&number) => AgentDetection::Known(SessionAgent::Pi),
        Ok(1) => AgentDetection::UnknownVersion(
            SessionAgent::Pi,
            "a session of version 1, which pi converts when it opens it".to_owned(),
        ),
        _ => AgentDetection::UnknownVersion(
            SessionAgent::Pi,
            format!("a session of version {version}; only versions 2 and 3 are supported"),
        ),
    }
}

/// Checks the version, which Copilot CLI writes into the first event.
fn detect_copilot(source: &str, event: Span) -> AgentDetection {
    let version =
        field_value(source, event, "data").and_then(|data| field_value(source, data, "version"));
    match version.map(|version| version.of(source)) {
        Some(version) if version != "1" => AgentDetection::UnknownVersion(
            SessionAgent::CopilotCli,
            format!("events of version {version}; only version 1 is supported"),
        ),
        _ => AgentDetection::Known(SessionAgent::CopilotCli),
    }
}

/// Checks the version, which Kimi Code writes into the first record.
fn detect_kimi(source: &str, metadata: Span) -> AgentDetection {
    let version = field_text(source, metadata, "protocol_version").unwrap_or_default();
    match version.split('.').next() {
        Some("1") => AgentDetection::Known(SessionAgent::KimiCode),
        _ => AgentDetection::UnknownVersion(
            SessionAgent::KimiCode,
            format!("records of protocol {version}; only protocol 1 is supported"),
        ),
    }
}

/// Recognizes records without a type: old Codex, and Gemini CLI.
fn detect_untyped(source: &str, object: Span) -> AgentDetection {
    let has = |key: &str| field_value(source, object, key).is_some();
    if has("sessionId") && has("projectHash") {
        return AgentDetection::Known(SessionAgent::GeminiCli);
    }
    if has("sessionId") && has("history") && has("workspaceDirectory") {
        return AgentDetection::Unsupported("Continue");
    }
    if has("id") && has("timestamp") && has("instructions") {
        let why = "a Codex rollout from before September 2025, which Codex itself cannot resume";
        return AgentDetection::UnknownVersion(SessionAgent::Codex, why.to_owned());
    }
    AgentDetection::Unknown
}

/// Whether an object is a session of newer versions of Cline: the list, and who wrote it.
fn is_cline_session(source: &str) -> bool {
    let Some(list) = message_list::list_start(source) else { return false };
    let head = source.get(..list).unwrap_or_default();
    head.contains("\"sessionId\"") && head.contains("\"agent\"") && is_timed_list(source, list)
}

/// Whether the messages of a list have times: then Cline, Roo Code or Kilo Code wrote them.
fn is_timed_list(source: &str, start: usize) -> bool {
    let mut scan = JsonScanner::within(source, Span::new(start, source.len()));
    let mut found = false;
    let mut count = 0;
    // The result is ignored: a torn list is recognized by its beginning.
    let _: ScanResult<Span> = scan.array(|scan, _| {
        if found || count >= MAX_RECORDS || scan.shape()? != JsonShape::Object {
            return scan.fail("enough");
        }
        count += 1;
        let element = scan.skip()?;
        let number = field_value(source, element, "ts").is_some_and(|time| {
            time.of(source).bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        });
        found = number && field_value(source, element, "role").is_some();
        Ok(())
    });
    found
}

/// Where the list of messages begins in an older Gemini CLI file: one object over many lines.
pub(super) fn old_gemini_list(source: &str) -> Option<usize> {
    const LIST: &str = "\"messages\"";
    let first = lines(source).next()?.span;
    let mut scan = JsonScanner::within(source, first);
    if scan.skip().and_then(|_| scan.end()).is_ok() {
        return None;
    }
    // The head of such a file is short, so only the first 64 KiB are searched.
    let near = (0..=source.len().min(1 << 16)).rev().find(|&at| source.is_char_boundary(at))?;
    let at = source.get(..near)?.find(LIST)?;
    let (head, rest) = (source.get(..at)?, source.get(at + LIST.len()..)?);
    if !source.trim_start().starts_with('{')
        || !head.contains("\"sessionId\"")
        || !head.contains("\"projectHash\"")
    {
        return None;
    }
    // Newer files hold one record per line, intact or torn. The first record decides.
    if at >= first.end as usize && first.of(source).contains("\"projectHash\"") {
        return None;
    }
    let end = source.get(at..)?.find('\n').map_or(source.len(), |line_end| at + line_end);
    let is_record = |line: &str| {
        let mut scan = JsonScanner::new(line);
        scan.shape() == Ok(JsonShape::Object) && scan.skip().and_then(|_| scan.end()).is_ok()
    };
    if source.get(..end)?.lines().any(is_record) {
        return None;
    }
    let list = rest.find('[')?;
    let between = rest.get(..list)?.trim();
    (between == ":").then_some(head.len() + LIST.len() + list)
}
