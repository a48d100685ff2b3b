//! Writes compactions into session files, so that the agent continues with the shorter history.
//!
//! No message is removed from a file: hidden messages stay in it and return when the compaction is
//! removed. Each compaction uses the agent's own mechanism. The records it writes carry a mark with
//! the id of the compaction, which is how they are found again.

mod ids;
mod mark;
mod verify;
mod call_index;
mod linked;
mod record_links;
mod claude_code;
mod neovate;
mod codex;
mod cline;
mod gemini_cli;

use foxwedge_core::{Format, Span};

use super::{
    ParsedSession, SessionAgent,
    emit::{FileEdits, emit_repairing_lines},
    rewritten_file::RewrittenFile,
};
use foxwedge_formats::{
    compact::CompactedText,
    model::{ContentPart, ModelRole, decode_message},
};
use ids::CompactionIds;

/// The result of compacting the conversation of a file.
#[derive(Clone, Debug)]
pub struct CompactedFile<'c> {
    /// The remaining messages, in order.
    pub messages: Vec<CompactedFileMessage<'c>>,
    /// The text that the agent shows at the place of the compaction.
    pub marker: &'c str,
    /// Size of the conversation before the compaction, in tokens.
    pub tokens_before: u64,
}

/// A remaining message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompactedFileMessage<'c> {
    /// The index of its message in the conversation; `None` if it is new.
    pub origin: Option<usize>,
    /// Whether it is that message, unchanged.
    pub kept: bool,
    /// The message as JSON in the API format of the agent.
    pub json: &'c str,
}

impl<'c> CompactedFile<'c> {
    /// Takes the result of compacting [`ParsedSession::history`].
    pub fn of(compacted: &'c CompactedText<'_>, marker: &'c str) -> CompactedFile<'c> {
        let messages = compacted.messages.iter().map(|line| CompactedFileMessage {
            origin: line.origin,
            kept: line.unchanged,
            json: line.span.of(&compacted.text),
        });
        let tokens_before = compacted.account.before.tokens;
        CompactedFile { messages: messages.collect(), marker, tokens_before }
    }
}

/// Why a compaction cannot be written. Messages are counted from zero.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompactionError {
    /// The compaction keeps every message unchanged.
    #[error("the compaction changes nothing")]
    NothingChanged,
    /// No message remains.
    #[error("the compaction leaves no messages")]
    Empty,
    /// A message has an origin that does not exist.
    #[error("message {0} of the compaction does not come from this conversation")]
    UnknownOrigin(usize),
    /// A message is not valid JSON in the agent's format.
    #[error("message {0} of the compaction is not in the agent's format")]
    Unreadable(usize),
    /// The file must be repaired first.
    #[error("the file is torn or is not valid UTF-8")]
    Damaged,
    /// The file format has no way to hide messages.
    #[error("session files of this agent version cannot hide messages without losing them")]
    TooOld,
    /// Its format has no way to hide messages at all.
    #[error("a message list of the AI SDK cannot hide messages without losing them")]
    NoHiding,
    /// Compactions are not written into the files of this agent.
    #[error("a compaction cannot be written into a session of {0}; its own command can compact it")]
    NotWritten(&'static str),
    /// The agent would load another history than the compacted one.
    #[error("the agent would not load message {0} of the compaction as written")]
    NotVisible(usize),
}

impl<'a> ParsedSession<'a> {
    /// Writes a compaction of the conversation into the file. Hidden messages stay in the file.
    ///
    /// # Errors
    /// Fails if the file cannot hold the compaction, or if the compaction belongs to another
    /// conversation.
    pub fn write_compaction(
        &self,
        compacted: &CompactedFile<'_>,
    ) -> Result<RewrittenFile<'a>, CompactionError> {
        self.check_compaction(compacted)?;
        let mut ids = CompactionIds::new(self, compacted);
        let rewritten = match self.agent {
            SessionAgent::ClaudeCode | SessionAgent::Neovate => {
                self.apply_edits(linked::write_compaction(self, compacted, &mut ids))
            }
            SessionAgent::Codex => {
                self.apply_edits(codex::write_compaction(self, compacted, &mut ids))
            }
            SessionAgent::Cline => cline::write_compaction(self, compacted, &mut ids)?,
            SessionAgent::Pi
            | SessionAgent::CopilotCli
            | SessionAgent::KimiCode
            | SessionAgent::QwenCode
            | SessionAgent::Opencode
            | SessionAgent::Crush
            | SessionAgent::Goose
            | SessionAgent::ReadOnly(_) => {
                return Err(CompactionError::NotWritten(self.agent.name()));
            }
            SessionAgent::AiSdkUi | SessionAgent::AiSdkModel => {
                return Err(CompactionError::NoHiding);
            }
            SessionAgent::GeminiCli if gemini_cli::is_old(self) => {
                return Err(CompactionError::TooOld);
            }
            SessionAgent::GeminiCli => {
                self.apply_edits(gemini_cli::write_compaction(self, compacted, &mut ids))
            }
        };
        verify::verify(self.agent, &rewritten, compacted)?;
        Ok(rewritten)
    }

    /// Removes the last compaction that was written into the file. Returns `None` if there is none,
    /// or if the messages it hid are no longer in the file. Later messages stay and continue from
    /// the hidden ones.
    pub fn remove_compaction(&self) -> Option<RewrittenFile<'a>> {
        let id = mark::last(self)?;
        Some(match self.agent {
            SessionAgent::ClaudeCode | SessionAgent::Neovate => {
                self.apply_edits(linked::remove_compaction(self, &id)?)
            }
            SessionAgent::Codex => self.apply_edits(codex::remove_compaction(self, &id)),
            SessionAgent::Cline => cline::remove_compaction(self, &id)?,
            SessionAgent::GeminiCli => self.apply_edits(gemini_cli::remove_compaction(self, &id)),
            SessionAgent::Opencode
            | SessionAgent::Crush
            | SessionAgent::Goose
            | SessionAgent::Pi
            | SessionAgent::CopilotCli
            | SessionAgent::KimiCode
            | SessionAgent::QwenCode
            | SessionAgent::AiSdkUi
            | SessionAgent::AiSdkModel
            | SessionAgent::ReadOnly(_) => return None,
        })
    }

    fn apply_edits(&self, edits: FileEdits) -> RewrittenFile<'a> {
        emit_repairing_lines(self, &Default::default(), edits)
    }

    /// Checks that a compaction belongs to this conversation.
    fn check_compaction(&self, compacted: &CompactedFile<'_>) -> Result<(), CompactionError> {
        let count = self.draft().messages.len();
        if compacted.messages.is_empty() {
            return Err(CompactionError::Empty);
        }
        for (at, message) in compacted.messages.iter().enumerate() {
            match message.origin {
                Some(origin) if origin < count => {}
                None if !message.kept => {}
                Some(_) | None => return Err(CompactionError::UnknownOrigin(at)),
            }
            let decoded = decode_message(message.json, self.agent.wire());
            decoded.map_err(|_| CompactionError::Unreadable(at))?;
        }
        let same = |(at, message): (usize, &CompactedFileMessage<'_>)| {
            message.kept && message.origin == Some(at)
        };
        if compacted.messages.len() == count && compacted.messages.iter().enumerate().all(same) {
            return Err(CompactionError::NothingChanged);
        }
        Ok(())
    }

    /// The origin of a message whose records can be copied. Records with lone surrogates are not
    /// copied, because the compaction has repaired them.
    fn kept_origin(&self, message: &CompactedFileMessage<'_>) -> Option<usize> {
        let origin = message.origin.filter(|_| message.kept)?;
        let own = self.draft().messages.get(origin)?.span;
        let records = self.chain.records_of(origin).iter().map(|record| self.span(*record));
        let surrogates = &self.draft().body.surrogates;
        let broken = |span: Span| {
            let first = surrogates.partition_point(|surrogate| surrogate.start < span.start);
            surrogates.get(first).is_some_and(|surrogate| surrogate.end <= span.end)
        };
        let whole = match self.agent {
            SessionAgent::ClaudeCode | SessionAgent::Neovate => !records.into_iter().any(broken),
            SessionAgent::Codex
            | SessionAgent::Cline
            | SessionAgent::GeminiCli
            | SessionAgent::Pi
            | SessionAgent::CopilotCli
            | SessionAgent::KimiCode
            | SessionAgent::QwenCode
            | SessionAgent::Opencode
            | SessionAgent::Crush
            | SessionAgent::Goose
            | SessionAgent::AiSdkUi
            | SessionAgent::AiSdkModel
            | SessionAgent::ReadOnly(_) => !broken(own),
        };
        whole.then_some(origin)
    }
}

/// The span of a whole text.
fn whole_span(text: &str) -> Span {
    Span::new(0, text.len())
}

/// The first text of a new user message.
fn summary_text(compacted: &CompactedFile<'_>, format: Format) -> Option<String> {
    let new = compacted.messages.iter().filter(|message| message.origin.is_none());
    let decoded = new.filter_map(|message| decode_message(message.json, format).ok());
    let summary = decoded.into_iter().find(|decoded| decoded.role == ModelRole::User)?;
    summary.parts.into_iter().find_map(|part| match part.into_content() {
        ContentPart::Text(text) => Some(text.into_owned()),
        _ => None,
    })
}
