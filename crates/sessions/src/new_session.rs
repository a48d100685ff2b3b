//! Writes a conversation as a new session of an agent, from nothing but its messages.

use foxwedge_formats::model::{Loss, LossKind, LossLocation};
use foxwedge_json::{Span, array_elements, compact, field_text, field_value, quote};

use super::SessionAgent;

/// The version that a new session of Claude Code names: the files of this version are known.
const CLAUDE_VERSION: &str = "2.1.112";
/// The same for Codex.
const CODEX_VERSION: &str = "0.155.0";

/// What a new session needs beside its messages.
#[derive(Clone, Copy, Debug)]
pub struct NewSessionFacts<'n> {
    /// The id of the session, in the notation of its agent.
    pub id: &'n str,
    /// The project folder.
    pub folder: &'n str,
    /// When it is written: UTC, with milliseconds, as `2026-01-02T03:04:05.678Z`.
    pub time: &'n str,
    /// The same in milliseconds since 1970.
    pub milliseconds: u64,
}

/// A new session, and what its format cannot hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewSessionFile {
    /// The content of the file.
    pub text: String,
    /// Parts that were left out.
    pub losses: Vec<Loss>,
}

impl SessionAgent {
    /// Whether a conversation can be written as a new session of this agent.
    ///
    /// # Errors
    /// The reason why not.
    pub fn accepts_new_sessions(self) -> Result<(), &'static str> {
        match self {
            SessionAgent::ClaudeCode | SessionAgent::Codex | SessionAgent::Pi => Ok(()),
            agent if agent.is_in_database() => {
                Err("its sessions are rows of a database, and new ones are not written")
            }
            SessionAgent::Cline | SessionAgent::KimiCode => {
                Err("it finds sessions through its own index, so it would not find a new one")
            }
            _ => Err("new sessions of this agent are not written"),
        }
    }
}

/// Writes a list of messages, in the format of the agent's provider, as a new session. `None` if the
/// agent [does not accept](SessionAgent::accepts_new_sessions) one, or if it is not
/// a list with messages.
pub fn write_new_session(
    agent: SessionAgent,
    history: &str,
    new: &NewSessionFacts<'_>,
) -> Option<NewSessionFile> {
    agent.accepts_new_sessions().ok()?;
    let start = history.len() - history.trim_start().len();
    if !history.trim_start().starts_with('[') {
        return None;
    }
    // A record is one line.
    let list = compact(history, Span::new(start, history.trim_end().len()));
    let messages = array_elements(&list, Span::new(0, list.len()));
    if messages.is_empty() {
        return None;
    }
    let mut writer = NewSessionWriter {
        source: &list,
        new,
        text: String::new(),
        losses: Vec::new(),
        message: 0,
        records: 0,
    };
    match agent {
        SessionAgent::ClaudeCode => writer.write_claude_code(&messages),
        SessionAgent::Codex => writer.write_codex(&messages),
        SessionAgent::Pi => writer.write_pi(&messages),
        _ => return None,
    }
    Some(NewSessionFile { text: writer.text, losses: writer.losses })
}

struct NewSessionWriter<'w> {
    source: &'w str,
    new: &'w NewSessionFacts<'w>,
    text: String,
    losses: Vec<Loss>,
    /// The message that is being written.
    message: usize,
    /// Records with an id so far.
    records: u64,
}

impl NewSessionWriter<'_> {
    /// Notes that a block is left out.
    fn lose(&mut self, kind: &str) {
        let location = LossLocation::Message(self.message);
        let (kind, note) = match kind {
            "thinking" | "redacted_thinking" => {
                (LossKind::Reasoning, "reasoning of another agent is left out".to_owned())
            }
            "image" => (LossKind::Media, "an image without its data is left out".to_owned()),
            "document" => (LossKind::Media, "a document is left out".to_owned()),
            other => (LossKind::Unknown, format!("a block of the type `{other}` is left out")),
        };
        self.losses.push(Loss { kind, location, note });
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn value(&self, object: Span, key: &str) -> Option<&str> {
        field_value(self.source, object, key).map(|value| value.of(self.source))
    }

    fn kind(&self, object: Span) -> String {
        field_text(self.source, object, "type").unwrap_or_default().into_owned()
    }

    fn role(&self, message: Span) -> String {
        field_text(self.source, message, "role").unwrap_or_default().into_owned()
    }

    /// The blocks of an Anthropic message; `None` if its content is a string.
    fn blocks(&self, message: Span) -> Option<Vec<Span>> {
        let content = field_value(self.source, message, "content")?;
        let is_list = content.of(self.source).starts_with('[');
        is_list.then(|| array_elements(self.source, content))
    }

    /// The id of the next record, and that of the one before it as JSON.
    fn next_ids(&mut self, id_of: fn(&str, u64) -> String) -> (String, String) {
        let parent = match self.records {
            0 => "null".to_owned(),
            before => quote(&id_of(self.new.id, before)),
        };
        self.records += 1;
        (id_of(self.new.id, self.records), parent)
    }

    /// One record for each message, each linked to the one before.
    fn write_claude_code(&mut self, messages: &[Span]) {
        let NewSessionFacts { id: session, folder, time, .. } = *self.new;
        for &message in messages {
            let (id, parent) = self.next_ids(numbered_uuid);
            let content = self.value(message, "content").unwrap_or("\"\"").to_owned();
            let (kind, head) = match self.role(message).as_str() {
                "assistant" => (
                    "assistant",
                    format!(
                        "\"id\":{},\"type\":\"message\",\"model\":\"<synthetic>\",",
                        quote(&id)
                    ),
                ),
                _ => ("user", String::new()),
            };
            self.line(&format!(
                "{{\"parentUuid\":{parent},\"isSidechain\":false,\"userType\":\"external\",\
                 \"cwd\":{},\"sessionId\":{},\"version\":\"{CLAUDE_VERSION}\",\"type\":\"{kind}\",\
                 \"message\":{{{head}\"role\":\"{kind}\",\"content\":{content}}},\"uuid\":{},\
                 \"timestamp\":{}}}",
                quote(folder),
                quote(session),
                quote(&id),
                quote(time),
            ));
        }
    }

    /// A header, and one line for each item. Codex shows the events, and sends the items.
    fn write_codex(&mut self, items: &[Span]) {
        let NewSessionFacts { id, folder, time, .. } = *self.new;
        let time = quote(time);
        self.line(&format!(
            "{{\"timestamp\":{time},\"type\":\"session_meta\",\"payload\":{{\"id\":{},\
             \"timestamp\":{time},\"cwd\":{},\"originator\":\"foxwedge\",\
             \"cli_version\":\"{CODEX_VERSION}\",\"source\":\"cli\"}}}}",
            quote(id),
            quote(folder),
        ));
        for &item in items {
            let payload = self.codex_item(item);
            self.line(&format!(
                "{{\"timestamp\":{time},\"type\":\"response_item\",\"payload\":{payload}}}"
            ));
            if let Some(event) = self.codex_event(item) {
                self.line(&format!(
                    "{{\"timestamp\":{time},\"type\":\"event_msg\",\"payload\":{event}}}"
                ));
            }
        }
    }

    /// An item as Codex stores it: a message has a type, and its content is a list.
    fn codex_item(&self, item: Span) -> String {
        let whole = item.of(self.source);
        let content = self.value(item, "content").unwrap_or("[]");
        let kind = self.kind(item);
        if !(kind.is_empty() || kind == "message") {
            return whole.to_owned();
        }
        let role = self.role(item);
        let content = match content.starts_with('"') {
            true => {
                let kind = if role == "assistant" { "output_text" } else { "input_text" };
                format!("[{{\"type\":\"{kind}\",\"text\":{content}}}]")
            }
            false => content.to_owned(),
        };
        format!("{{\"type\":\"message\",\"role\":{},\"content\":{content}}}", quote(&role))
    }

    /// The event that shows a message.
    fn codex_event(&self, item: Span) -> Option<String> {
        let kind = self.kind(item);
        if !(kind.is_empty() || kind == "message") {
            return None;
        }
        let event = match self.role(item).as_str() {
            "user" => "user_message",
            "assistant" => "agent_message",
            _ => return None,
        };
        let content = field_value(self.source, item, "content")?;
        let text = if content.of(self.source).starts_with('"') {
            content.of(self.source).to_owned()
        } else {
            let texts = array_elements(self.source, content);
            let texts = texts.iter().filter_map(|&part| field_text(self.source, part, "text"));
            quote(&texts.collect::<Vec<_>>().join("\n"))
        };
        Some(format!("{{\"type\":\"{event}\",\"message\":{text}}}"))
    }

    /// A header, and one record for each message. A tool result is a message of its own.
    fn write_pi(&mut self, messages: &[Span]) {
        let NewSessionFacts { id, folder, time, .. } = *self.new;
        self.line(&format!(
            "{{\"type\":\"session\",\"version\":3,\"id\":{},\"timestamp\":{},\"cwd\":{}}}",
            quote(id),
            quote(time),
            quote(folder),
        ));
        let mut names: Vec<(String, String)> = Vec::new();
        for (at, &message) in messages.iter().enumerate() {
            self.message = at;
            let is_reply = self.role(message) == "assistant";
            let Some(blocks) = self.blocks(message) else {
                let text = self.value(message, "content").unwrap_or("\"\"");
                let text = format!("[{{\"type\":\"text\",\"text\":{text}}}]");
                self.pi_message(is_reply, &text, false);
                continue;
            };
            let mut content = Vec::new();
            let mut calls = false;
            for block in blocks {
                match self.kind(block).as_str() {
                    "tool_result" => self.pi_result(block, &names),
                    "tool_use" => {
                        calls = true;
                        let text = |key| {
                            field_text(self.source, block, key).unwrap_or_default().into_owned()
                        };
                        let (id, name) = (text("id"), text("name"));
                        content.push(format!(
                            "{{\"type\":\"toolCall\",\"id\":{},\"name\":{},\"arguments\":{}}}",
                            quote(&id),
                            quote(&name),
                            self.value(block, "input").unwrap_or("{}"),
                        ));
                        names.push((id, name));
                    }
                    "text" => content.push(format!(
                        "{{\"type\":\"text\",\"text\":{}}}",
                        self.value(block, "text").unwrap_or("\"\"")
                    )),
                    "image" => content.extend(self.pi_image(block)),
                    other => self.lose(other),
                }
            }
            if !content.is_empty() {
                self.pi_message(is_reply, &format!("[{}]", content.join(",")), calls);
            }
        }
    }

    fn pi_message(&mut self, is_reply: bool, content: &str, calls: bool) {
        let time = self.new.milliseconds;
        let stop = if calls { "toolUse" } else { "stop" };
        let message = match is_reply {
            true => format!(
                "{{\"role\":\"assistant\",\"content\":{content},\"api\":\"foxwedge\",\
                 \"provider\":\"foxwedge\",\"model\":\"foxwedge\",\"usage\":{{\"input\":0,\
                 \"output\":0,\"cacheRead\":0,\"cacheWrite\":0,\"totalTokens\":0,\"cost\":{{\
                 \"input\":0,\"output\":0,\"cacheRead\":0,\"cacheWrite\":0,\"total\":0}}}},\
                 \"stopReason\":\"{stop}\",\"timestamp\":{time}}}"
            ),
            false => format!("{{\"role\":\"user\",\"content\":{content},\"timestamp\":{time}}}"),
        };
        self.pi_record(&message);
    }

    fn pi_record(&mut self, message: &str) {
        let (id, parent) = self.next_ids(|_, number| format!("{number:08x}"));
        let time = quote(self.new.time);
        self.line(&format!(
            "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":{time},\
             \"message\":{message}}}"
        ));
    }

    fn pi_result(&mut self, block: Span, names: &[(String, String)]) {
        let call = field_text(self.source, block, "tool_use_id").unwrap_or_default().into_owned();
        let name = names.iter().rev().find(|(id, _)| *id == call).map_or("", |(_, name)| name);
        let text = |text: &str| format!("{{\"type\":\"text\",\"text\":{text}}}");
        let content = match field_value(self.source, block, "content") {
            Some(content) if content.of(self.source).starts_with('[') => {
                let mut parts = Vec::new();
                for one in array_elements(self.source, content) {
                    match self.kind(one).as_str() {
                        "text" => parts.push(text(self.value(one, "text").unwrap_or("\"\""))),
                        "image" => parts.extend(self.pi_image(one)),
                        other => self.lose(other),
                    }
                }
                parts.join(",")
            }
            Some(content) => text(content.of(self.source)),
            None => text("\"\""),
        };
        let failed = self.value(block, "is_error") == Some("true");
        let message = format!(
            "{{\"role\":\"toolResult\",\"toolCallId\":{},\"toolName\":{},\"content\":[{content}],\
             \"isError\":{failed},\"timestamp\":{}}}",
            quote(&call),
            quote(name),
            self.new.milliseconds,
        );
        self.pi_record(&message);
    }

    /// An image with its data; an address is a loss.
    fn pi_image(&mut self, block: Span) -> Option<String> {
        let image = field_value(self.source, block, "source");
        let data = image.and_then(|image| self.value(image, "data"));
        let kind = image.and_then(|image| self.value(image, "media_type"));
        match (data, kind) {
            (Some(data), Some(kind)) => {
                Some(format!("{{\"type\":\"image\",\"data\":{data},\"mimeType\":{kind}}}"))
            }
            _ => {
                self.lose("image");
                None
            }
        }
    }
}

/// A UUID for a record of a session: the end of the session's id, replaced by a number.
fn numbered_uuid(session: &str, number: u64) -> String {
    let head = session.get(..24).unwrap_or("00000000-0000-4000-8000-");
    format!("{head}{number:012x}")
}
