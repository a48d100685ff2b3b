//! The conversation as a document: exported, weighed, checked, and shown again.

use std::path::{Path, PathBuf};

use anyhow::Context;
use foxwedge_core::{CheckOptions, Format, PartKind, Policy, Profile, RuleSet};
use foxwedge_formats::{
    model::{CallPairs, ContentPart, ModelPart, ModelRole, PartIndex, decode},
    outline_options, read,
};
use foxwedge_run::{RawJson, ToolStatus};
use foxwedge_tokens::ModelTokenizer;

use crate::{
    cli_output::{CliError, clean},
    disk::create_private,
    export::{self, ExportHeader},
    runs::draw::call_subject,
};

/// The conversation as it would be sent, in Anthropic's format.
pub(crate) struct ChatHistory(pub(crate) String);

/// What a conversation comes to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ChatHistorySize {
    pub(crate) messages: usize,
    pub(crate) calls: usize,
    /// About how many tokens.
    pub(crate) tokens: u64,
    /// What a provider would refuse; nothing, if all is well.
    pub(crate) findings: usize,
}

/// Something that was said before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ChatHistoryItem {
    Prompt(String),
    Text(String),
    /// A call: its name, what it works on, and what its answer says about it.
    Call(String, String, ToolStatus),
}

const WIRE: Format = Format::Anthropic;

impl ChatHistory {
    /// What it comes to, for a model.
    pub(crate) fn size(&self, model: &str) -> anyhow::Result<ChatHistorySize> {
        let profile = Profile::for_format(WIRE);
        let reading =
            read(&self.0, WIRE, outline_options(profile)).context("the history cannot be read")?;
        let question =
            CheckOptions { profile, rules: RuleSet::of(profile), policy: Policy::default() };
        let mut counter = ModelTokenizer::for_model(Some(model));
        let weights = foxwedge_formats::compact::weigh(&reading.draft, reading.frame, &mut counter);
        let is_call = |part: &&foxwedge_core::Part<'_>| matches!(part.kind, PartKind::Call(_));
        Ok(ChatHistorySize {
            messages: reading.draft.messages.len(),
            calls: reading.draft.parts.iter().filter(is_call).count(),
            tokens: weights.total(),
            findings: foxwedge_core::check(&reading.draft, &question).total(),
        })
    }

    /// What was said, in order.
    pub(crate) fn items(&self) -> anyhow::Result<Vec<ChatHistoryItem>> {
        let history = decode(&self.0, WIRE).context("the history cannot be read")?;
        let pairs = CallPairs::of(&history);
        let answer = |at: PartIndex| {
            let at = pairs.partner(at)?;
            history.messages.get(at.message)?.parts.get(at.part)
        };
        let mut said = Vec::new();
        for (place, message) in history.messages.iter().enumerate() {
            for (part, one) in message.parts.iter().enumerate() {
                match (one.content(), message.role) {
                    (ContentPart::Text(text), ModelRole::User) => {
                        said.push(ChatHistoryItem::Prompt(text.to_string()))
                    }
                    (ContentPart::Text(text), ModelRole::Assistant) => {
                        said.push(ChatHistoryItem::Text(text.to_string()))
                    }
                    (ContentPart::ToolCall(call), _) => {
                        let about = call_subject(None, RawJson::parse(&call.arguments).as_ref());
                        let answer = answer(PartIndex { message: place, part });
                        said.push(ChatHistoryItem::Call(
                            call.name.to_string(),
                            about,
                            status_of_answer(answer),
                        ));
                    }
                    (ContentPart::Text(_), ModelRole::System | ModelRole::Developer)
                    | (
                        ContentPart::Media(_)
                        | ContentPart::Reasoning(_)
                        | ContentPart::ToolResult(_)
                        | ContentPart::Unknown(_),
                        _,
                    ) => {}
                }
            }
        }
        Ok(said)
    }

    /// Writes it to a file that is not there yet, and returns its name.
    pub(crate) fn export(
        &self,
        wish: Option<&str>,
        about: ChatExportHeader<'_>,
    ) -> anyhow::Result<PathBuf> {
        let (format, path) = export_target(wish, about.session);
        let history = decode(&self.0, WIRE).context("the history cannot be read")?;
        let size = self.size(about.model)?;
        let title = ExportHeader {
            agent: format!("foxwedge chat ({})", about.model),
            session: about.session.to_owned(),
            project: Some(about.folder.to_owned()),
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
                let trouble = CliError::new(format!("`{shown}` is there already"));
                Err(trouble
                    .help("nothing was written; give it another name: `/export FILE`")
                    .into())
            }
            Err(error) => {
                Err(anyhow::Error::from(error).context(format!("`{shown}` cannot be written")))
            }
        }
    }
}

/// What an answer says about its call. Words of ours stand for answers that never came.
fn status_of_answer(answer: Option<&ModelPart<'_>>) -> ToolStatus {
    let Some(ContentPart::ToolResult(answer)) = answer.map(ModelPart::content) else {
        return ToolStatus::Pending;
    };
    let text = answer.parts.first().map(ModelPart::content);
    let ours = match text {
        Some(ContentPart::Text(text)) => text.strip_prefix("[foxwedge] ").unwrap_or_default(),
        Some(_) | None => "",
    };
    let words = [
        ("Not started", ToolStatus::Cancelled),
        ("Skipped", ToolStatus::Cancelled),
        ("Interrupted", ToolStatus::Interrupted),
        ("Lost", ToolStatus::Interrupted),
        ("Denied", ToolStatus::Denied),
    ];
    let known = words.iter().find(|(word, _)| answer.error && ours.starts_with(word));
    match known {
        Some((_, status)) => *status,
        None if answer.error => ToolStatus::Failed,
        None => ToolStatus::Succeeded,
    }
}

/// What stands above an exported conversation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChatExportHeader<'a> {
    pub(crate) session: &'a str,
    pub(crate) model: &'a str,
    pub(crate) folder: &'a str,
}

/// How it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ChatExportFormat {
    Markdown,
    Html,
    Json,
}

/// A format and a file: what is said names one of them, and the other follows.
fn export_target(wish: Option<&str>, session: &str) -> (ChatExportFormat, PathBuf) {
    let named = |ending: &str| PathBuf::from(format!("{session}.{ending}"));
    match wish {
        None | Some("md" | "markdown") => (ChatExportFormat::Markdown, named("md")),
        Some("html") => (ChatExportFormat::Html, named("html")),
        Some("json") => (ChatExportFormat::Json, named("json")),
        Some(file) => {
            let path = PathBuf::from(file);
            let ending = |path: &Path| Some(path.extension()?.to_str()?.to_ascii_lowercase());
            let format = match ending(&path).as_deref() {
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
    fn a_wish_is_a_format_or_a_file() {
        let table = [
            (None, ChatExportFormat::Markdown, "s.md"),
            (Some("md"), ChatExportFormat::Markdown, "s.md"),
            (Some("html"), ChatExportFormat::Html, "s.html"),
            (Some("json"), ChatExportFormat::Json, "s.json"),
            (Some("a/b.HTML"), ChatExportFormat::Html, "a/b.HTML"),
            (Some("notes.json"), ChatExportFormat::Json, "notes.json"),
            (Some("notes"), ChatExportFormat::Markdown, "notes"),
        ];
        for (wish, format, path) in table {
            assert_eq!(export_target(wish, "s"), (format, PathBuf::from(path)), "{wish:?}");
        }
    }

    #[test]
    #[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
    fn a_conversation_is_weighed_checked_and_told_again() {
        let paper = ChatHistory(
            r#"{"model":"m","max_tokens":9,"system":"Be brief.","messages":[
            {"role":"user","content":"look"},
            {"role":"assistant","content":[{"type":"text","text":"I look."},
             {"type":"tool_use","id":"t","name":"read","input":{"path":"a.txt"}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"one"}]},
            {"role":"assistant","content":"It says one."}]}"#
                .to_owned(),
        );
        let size = paper.size("m").unwrap();
        assert_eq!((size.messages, size.calls, size.findings), (4, 1, 0));
        assert!(size.tokens > 10, "{size:?}");
        let expected = [
            ChatHistoryItem::Prompt("look".to_owned()),
            ChatHistoryItem::Text("I look.".to_owned()),
            ChatHistoryItem::Call("read".to_owned(), "a.txt".to_owned(), ToolStatus::Succeeded),
            ChatHistoryItem::Text("It says one.".to_owned()),
        ];
        assert_eq!(paper.items().unwrap(), expected);
        let table = [
            (r#""content":"one""#, ToolStatus::Succeeded),
            (r#""content":"one","is_error":true"#, ToolStatus::Failed),
            (r#""content":"[foxwedge] Interrupted: x","is_error":true"#, ToolStatus::Interrupted),
            (r#""content":"[foxwedge] Denied by the user","is_error":true"#, ToolStatus::Denied),
            (r#""content":"[foxwedge] Not started: x","is_error":true"#, ToolStatus::Cancelled),
        ];
        for (content, expected) in table {
            let paper = ChatHistory(paper.0.replace(r#""content":"one""#, content));
            let calls = paper.items().unwrap().into_iter().find_map(|said| match said {
                ChatHistoryItem::Call(_, _, status) => Some(status),
                ChatHistoryItem::Prompt(_) | ChatHistoryItem::Text(_) => None,
            });
            assert_eq!(calls, Some(expected), "{content}");
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
