//! The conversation as a document: exported, weighed, checked, and shown again.

use std::path::{Path, PathBuf};

use anyhow::Context;
use foxwedge_core::{Kind, Policy, Profile, Question, RuleSet, Wire};
use foxwedge_dialect::{
    canon::{At, Bit, Pairs, Part, Speaker, decode},
    read, want,
};
use foxwedge_run::{Json, Status};
use foxwedge_tokens::Tokenizer;

use crate::{
    disk::create_private,
    export::{self, Title},
    runs::draw::about,
    say::{Trouble, clean},
};

/// The conversation as it would be sent, in Anthropic's format.
pub(crate) struct Paper(pub(crate) String);

/// What a conversation comes to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Size {
    pub(crate) messages: usize,
    pub(crate) calls: usize,
    /// About how many tokens.
    pub(crate) tokens: u64,
    /// What a provider would refuse; nothing, if all is well.
    pub(crate) findings: usize,
}

/// Something that was said before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Said {
    Prompt(String),
    Text(String),
    /// A call: its name, what it works on, and what its answer says about it.
    Call(String, String, Status),
}

const WIRE: Wire = Wire::Anthropic;

impl Paper {
    /// What it comes to, for a model.
    pub(crate) fn size(&self, model: &str) -> anyhow::Result<Size> {
        let profile = Profile::of(WIRE);
        let reading = read(&self.0, WIRE, want(profile)).context("the history cannot be read")?;
        let question = Question { profile, rules: RuleSet::of(profile), policy: Policy::default() };
        let mut counter = Tokenizer::for_model(Some(model));
        let weights = foxwedge_dialect::compact::weigh(&reading.draft, reading.frame, &mut counter);
        let is_call = |part: &&foxwedge_core::Part<'_>| matches!(part.kind, Kind::Call(_));
        Ok(Size {
            messages: reading.draft.messages.len(),
            calls: reading.draft.parts.iter().filter(is_call).count(),
            tokens: weights.total(),
            findings: foxwedge_core::check(&reading.draft, &question).total(),
        })
    }

    /// What was said, in order.
    pub(crate) fn said(&self) -> anyhow::Result<Vec<Said>> {
        let history = decode(&self.0, WIRE).context("the history cannot be read")?;
        let pairs = Pairs::of(&history);
        let answer = |at: At| {
            let at = pairs.partner(at)?;
            history.messages.get(at.message)?.parts.get(at.part)
        };
        let mut said = Vec::new();
        for (place, message) in history.messages.iter().enumerate() {
            for (part, one) in message.parts.iter().enumerate() {
                match (one.bit(), message.role) {
                    (Bit::Text(text), Speaker::User) => said.push(Said::Prompt(text.to_string())),
                    (Bit::Text(text), Speaker::Assistant) => {
                        said.push(Said::Text(text.to_string()))
                    }
                    (Bit::Call(call), _) => {
                        let about = about(None, Json::parse(&call.arguments).as_ref());
                        let answer = answer(At { message: place, part });
                        said.push(Said::Call(call.name.to_string(), about, status(answer)));
                    }
                    (Bit::Text(_), Speaker::System | Speaker::Developer)
                    | (Bit::Media(_) | Bit::Reasoning(_) | Bit::Answer(_) | Bit::Other(_), _) => {}
                }
            }
        }
        Ok(said)
    }

    /// Writes it to a file that is not there yet, and returns its name.
    pub(crate) fn export(&self, wish: Option<&str>, about: About<'_>) -> anyhow::Result<PathBuf> {
        let (format, path) = place(wish, about.session);
        let history = decode(&self.0, WIRE).context("the history cannot be read")?;
        let size = self.size(about.model)?;
        let title = Title {
            agent: format!("foxwedge chat ({})", about.model),
            session: about.session.to_owned(),
            project: Some(about.folder.to_owned()),
            messages: size.messages,
            calls: size.calls,
            ..Title::default()
        };
        let text = match format {
            Format::Markdown => export::markdown(&title, &history),
            Format::Html => export::html(&title, &history),
            Format::Json => export::json(&title, &history),
        };
        let shown = clean(&path.to_string_lossy());
        match create_private(&path, |out| out.write_all(text.as_bytes())) {
            Ok(()) => Ok(path),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                let trouble = Trouble::new(format!("`{shown}` is there already"));
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
fn status(answer: Option<&Part<'_>>) -> Status {
    let Some(Bit::Answer(answer)) = answer.map(Part::bit) else { return Status::Pending };
    let text = answer.parts.first().map(Part::bit);
    let ours = match text {
        Some(Bit::Text(text)) => text.strip_prefix("[foxwedge] ").unwrap_or_default(),
        Some(_) | None => "",
    };
    let words = [
        ("Not started", Status::Cancelled),
        ("Skipped", Status::Cancelled),
        ("Interrupted", Status::Interrupted),
        ("Lost", Status::Interrupted),
        ("Denied", Status::Denied),
    ];
    let known = words.iter().find(|(word, _)| answer.error && ours.starts_with(word));
    match known {
        Some((_, status)) => *status,
        None if answer.error => Status::Failed,
        None => Status::Succeeded,
    }
}

/// What stands above an exported conversation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About<'a> {
    pub(crate) session: &'a str,
    pub(crate) model: &'a str,
    pub(crate) folder: &'a str,
}

/// How it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Format {
    Markdown,
    Html,
    Json,
}

/// A format and a file: what is said names one of them, and the other follows.
fn place(wish: Option<&str>, session: &str) -> (Format, PathBuf) {
    let named = |ending: &str| PathBuf::from(format!("{session}.{ending}"));
    match wish {
        None | Some("md" | "markdown") => (Format::Markdown, named("md")),
        Some("html") => (Format::Html, named("html")),
        Some("json") => (Format::Json, named("json")),
        Some(file) => {
            let path = PathBuf::from(file);
            let ending = |path: &Path| Some(path.extension()?.to_str()?.to_ascii_lowercase());
            let format = match ending(&path).as_deref() {
                Some("html" | "htm") => Format::Html,
                Some("json") => Format::Json,
                Some(_) | None => Format::Markdown,
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
            (None, Format::Markdown, "s.md"),
            (Some("md"), Format::Markdown, "s.md"),
            (Some("html"), Format::Html, "s.html"),
            (Some("json"), Format::Json, "s.json"),
            (Some("a/b.HTML"), Format::Html, "a/b.HTML"),
            (Some("notes.json"), Format::Json, "notes.json"),
            (Some("notes"), Format::Markdown, "notes"),
        ];
        for (wish, format, path) in table {
            assert_eq!(place(wish, "s"), (format, PathBuf::from(path)), "{wish:?}");
        }
    }

    #[test]
    #[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
    fn a_conversation_is_weighed_checked_and_told_again() {
        let paper = Paper(
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
            Said::Prompt("look".to_owned()),
            Said::Text("I look.".to_owned()),
            Said::Call("read".to_owned(), "a.txt".to_owned(), Status::Succeeded),
            Said::Text("It says one.".to_owned()),
        ];
        assert_eq!(paper.said().unwrap(), expected);
        let table = [
            (r#""content":"one""#, Status::Succeeded),
            (r#""content":"one","is_error":true"#, Status::Failed),
            (r#""content":"[foxwedge] Interrupted: x","is_error":true"#, Status::Interrupted),
            (r#""content":"[foxwedge] Denied by the user","is_error":true"#, Status::Denied),
            (r#""content":"[foxwedge] Not started: x","is_error":true"#, Status::Cancelled),
        ];
        for (content, expected) in table {
            let paper = Paper(paper.0.replace(r#""content":"one""#, content));
            let calls = paper.said().unwrap().into_iter().find_map(|said| match said {
                Said::Call(_, _, status) => Some(status),
                Said::Prompt(_) | Said::Text(_) => None,
            });
            assert_eq!(calls, Some(expected), "{content}");
        }
        let broken = Paper(
            r#"{"messages":[{"role":"user","content":"x"},
            {"role":"assistant","content":[{"type":"tool_use","id":"t","name":"r","input":{}}]},
            {"role":"user","content":"y"}]}"#
                .to_owned(),
        );
        assert_eq!(broken.size("m").unwrap().findings, 1);
        assert!(Paper("[".to_owned()).size("m").is_err());
    }
}
