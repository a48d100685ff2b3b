//! The conversation as a request: exporting, measuring, checking and showing it.

use std::path::{Path, PathBuf};

use anyhow::Context;
use foxwedge_core::{CheckOptions, Format, PartKind, Policy, Profile, RuleSet};
use foxwedge_formats::{
    model::{ContentPart, ModelPart, ModelRole, ToolResultPart, decode},
    outline_options, read,
};
use foxwedge_run::{RawJson, ToolStatus};
use foxwedge_tokens::ModelTokenizer;

use super::attachments::is_attachment;
use foxwedge_local::{
    disk::create_private,
    export::{self, ExportHeader, ExportTurn, ExportTurnItem, split_turns},
    output::{HelpfulError, clean},
    runs::draw::call_subject,
};

/// The conversation as it would be sent, in Anthropic's format.
pub(crate) struct ChatHistory(pub(crate) String);

/// Size and findings of a conversation.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ChatHistorySize {
    pub(crate) messages: usize,
    pub(crate) calls: usize,
    /// Estimated number of tokens.
    pub(crate) tokens: u64,
    /// Number of findings; zero if a provider would accept the history.
    pub(crate) findings: usize,
}

/// An earlier message or tool call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ChatHistoryItem {
    Prompt(String),
    Text(String),
    /// A tool call: its name, its subject, and the status that its result implies.
    Call(String, String, ToolStatus),
}

const FORMAT: Format = Format::Anthropic;

impl ChatHistory {
    /// Measures the history for a model.
    pub(crate) fn size(&self, model: &str) -> anyhow::Result<ChatHistorySize> {
        let profile = Profile::for_format(FORMAT);
        let reading = read(&self.0, FORMAT, outline_options(profile))
            .context("the history cannot be read")?;
        let options =
            CheckOptions { profile, rules: RuleSet::of(profile), policy: Policy::default() };
        let mut counter = ModelTokenizer::for_model(Some(model));
        let weights = foxwedge_formats::compact::weigh(&reading.draft, reading.frame, &mut counter);
        let is_call = |part: &&foxwedge_core::Part<'_>| matches!(part.kind, PartKind::Call(_));
        Ok(ChatHistorySize {
            messages: reading.draft.messages.len(),
            calls: reading.draft.parts.iter().filter(is_call).count(),
            tokens: weights.total(),
            findings: foxwedge_core::check(&reading.draft, &options).total(),
        })
    }

    /// The messages and tool calls, in order.
    pub(crate) fn items(&self) -> anyhow::Result<Vec<ChatHistoryItem>> {
        let history = decode(&self.0, FORMAT).context("the history cannot be read")?;
        let turns = split_turns(&history);
        let items = turns.into_iter().flat_map(|ExportTurn { role, items }| {
            items.into_iter().filter_map(move |item| match (item, role) {
                (ExportTurnItem::Text(text), ModelRole::User) if is_attachment(text) => None,
                (ExportTurnItem::Text(text), ModelRole::User) => {
                    Some(ChatHistoryItem::Prompt(text.to_owned()))
                }
                (ExportTurnItem::Text(text), ModelRole::Assistant) => {
                    Some(ChatHistoryItem::Text(text.to_owned()))
                }
                (ExportTurnItem::Call(call, result), _) => {
                    let subject = call_subject(None, RawJson::parse(&call.arguments).as_ref());
                    let status = result.map_or(ToolStatus::Pending, status_of_result);
                    Some(ChatHistoryItem::Call(call.name.to_string(), subject, status))
                }
                _ => None,
            })
        });
        Ok(items.collect())
    }

    /// Writes the conversation to a new file. Returns its path.
    pub(crate) fn export(
        &self,
        target: Option<&str>,
        header: ChatExportHeader<'_>,
    ) -> anyhow::Result<PathBuf> {
        let (format, path) = export_target(target, header.session);
        let history = decode(&self.0, FORMAT).context("the history cannot be read")?;
        let size = self.size(header.model)?;
        let title = ExportHeader {
            agent: format!("foxwedge chat ({})", header.model),
            session: header.session.to_owned(),
            project: Some(header.folder.to_owned()),
            messages: size.messages,
            calls: size.calls,
            ..ExportHeader::default()
        };
        let text = match format {
            ChatExportFormat::Markdown => export::markdown(&title, &history),
            ChatExportFormat::Html => export::html(&title, &history),
            ChatExportFormat::Json => export::json(&title, &history),
        };
        let shown = clean(&path.to_string_lossy());
        match create_private(&path, |out| out.write_all(text.as_bytes())) {
            Ok(()) => Ok(path),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                let error = HelpfulError::new(format!("`{shown}` already exists"));
                Err(error.help("nothing was written; choose another name: `/export FILE`").into())
            }
            Err(error) => {
                Err(anyhow::Error::from(error).context(format!("`{shown}` cannot be written")))
            }
        }
    }
}

/// The status that a tool result implies. Placeholders stand for results that never arrived.
pub(crate) fn status_of_result(result: &ToolResultPart<'_>) -> ToolStatus {
    let text = result.parts.first().map(ModelPart::content);
    let placeholder = match text {
        Some(ContentPart::Text(text)) => text.strip_prefix("[foxwedge] ").unwrap_or_default(),
        Some(_) | None => "",
    };
    let prefixes = [
        ("Not started", ToolStatus::Cancelled),
        ("Skipped", ToolStatus::Cancelled),
        ("Interrupted", ToolStatus::Interrupted),
        ("Lost", ToolStatus::Interrupted),
        ("Denied", ToolStatus::Denied),
    ];
    let known = prefixes.iter().find(|(prefix, _)| result.error && placeholder.starts_with(prefix));
    match known {
        Some((_, status)) => *status,
        None if result.error => ToolStatus::Failed,
        None => ToolStatus::Succeeded,
    }
}

/// The header of an exported conversation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChatExportHeader<'a> {
    pub(crate) session: &'a str,
    pub(crate) model: &'a str,
    pub(crate) folder: &'a str,
}

/// Format of an exported conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ChatExportFormat {
    Markdown,
    Html,
    Json,
}

/// The format and file of an export. `target` is either; the other follows from it.
fn export_target(target: Option<&str>, session: &str) -> (ChatExportFormat, PathBuf) {
    let default_path = |extension: &str| PathBuf::from(format!("{session}.{extension}"));
    match target {
        None | Some("md" | "markdown") => (ChatExportFormat::Markdown, default_path("md")),
        Some("html") => (ChatExportFormat::Html, default_path("html")),
        Some("json") => (ChatExportFormat::Json, default_path("json")),
        Some(file) => {
            let path = PathBuf::from(file);
            let extension = |path: &Path| Some(path.extension()?.to_str()?.to_ascii_lowercase());
            let format = match extension(&path).as_deref() {
                Some("html" | "htm") => ChatExportFormat::Html,
                Some("json") => ChatExportFormat::Json,
                Some(_) | None => ChatExportFormat::Markdown,
            };
            (format, path)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn export_target_is_a_format_or_a_file() {
        let table = [
            (None, ChatExportFormat::Markdown, "s.md"),
            (Some("md"), ChatExportFormat::Markdown, "s.md"),
            (Some("html"), ChatExportFormat::Html, "s.html"),
            (Some("json"), ChatExportFormat::Json, "s.json"),
            (Some("a/b.HTML"), ChatExportFormat::Html, "a/b.HTML"),
            (Some("notes.json"), ChatExportFormat::Json, "notes.json"),
            (Some("notes"), ChatExportFormat::Markdown, "notes"),
        ];
        for (target, format, path) in table {
            assert_eq!(export_target(target, "s"), (format, PathBuf::from(path)), "{target:?}");
        }
    }

    #[test]
    #[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
    fn conversation_is_measured_checked_and_listed() {
        let history = ChatHistory(
            r#"{"model":"m","max_tokens":9,"system":"Be brief.","messages":[
            {"role":"user","content":"look"},
            {"role":"assistant","content":[{"type":"text","text":"I look."},
             {"type":"tool_use","id":"t","name":"read","input":{"path":"a.txt"}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"one"}]},
            {"role":"assistant","content":"It says one."}]}"#
                .to_owned(),
        );
        let size = history.size("m").unwrap();
        assert_eq!((size.messages, size.calls, size.findings), (4, 1, 0));
        assert!(size.tokens > 10, "{size:?}");
        let expected = [
            ChatHistoryItem::Prompt("look".to_owned()),
            ChatHistoryItem::Text("I look.".to_owned()),
            ChatHistoryItem::Call("read".to_owned(), "a.txt".to_owned(), ToolStatus::Succeeded),
            ChatHistoryItem::Text("It says one.".to_owned()),
        ];
        assert_eq!(history.items().unwrap(), expected);
        let table = [
            (r#""content":"one""#, ToolStatus::Succeeded),
            (r#""content":"one","is_error":true"#, ToolStatus::Failed),
            (r#""content":"[foxwedge] Interrupted: x","is_error":true"#, ToolStatus::Interrupted),
            (r#""content":"[foxwedge] Denied by the user","is_error":true"#, ToolStatus::Denied),
            (r#""content":"[foxwedge] Not started: x","is_error":true"#, ToolStatus::Cancelled),
        ];
        for (content, expected) in table {
            let history = ChatHistory(history.0.replace(r#""content":"one""#, content));
            let status = history.items().unwrap().into_iter().find_map(|item| match item {
                ChatHistoryItem::Call(_, _, status) => Some(status),
                ChatHistoryItem::Prompt(_) | ChatHistoryItem::Text(_) => None,
            });
            assert_eq!(status, Some(expected), "{content}");
        }
        let broken = ChatHistory(
            r#"{"messages":[{"role":"user","content":"x"},
            {"role":"assistant","content":[{"type":"tool_use","id":"t","name":"r","input":{}}]},
            {"role":"user","content":"y"}]}"#
                .to_owned(),
        );
        assert_eq!(broken.size("m").unwrap().findings, 1);
        assert!(ChatHistory("[".to_owned()).size("m").is_err());
    }
}
