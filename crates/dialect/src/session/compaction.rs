//! Compactions written into session files, so that the agent goes on with the shorter history.
//!
//! Nothing that was said is taken out of a file: what is hidden stays in it, and comes back when
//! the compaction is taken back. Every agent has a way to do this, and each is done as the agent
//! does it; what we wrote carries a mark with the id of the compaction, by which it is found again.

mod ids;
mod mark;
mod verify;
mod call_index;
mod linked;
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
use crate::{
    compact::CompactedText,
    model::{ContentPart, ModelRole, decode_message},
};
use ids::CompactionIds;

/// What a compaction makes of the conversation of a file.
#[derive(Clone, Debug)]
pub struct CompactedFile<'c> {
    /// The messages that are left, in order.
    pub messages: Vec<CompactedFileMessage<'c>>,
    /// What the agent shows where the compaction stands.
    pub marker: &'c str,
    /// How many tokens the conversation took before.
    pub tokens_before: u64,
}

/// A message that is left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CompactedFileMessage<'c> {
    /// The message of the conversation it comes from; `None` if it is new.
    pub origin: Option<usize>,
    /// Whether it is that message, unchanged.
    pub kept: bool,
    /// The message in the wire format of the agent.
    pub json: &'c str,
}

impl<'c> CompactedFile<'c> {
    /// What a compaction of [`Session::history`] makes of the file.
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

/// Why a file stays as it is. Messages are counted from zero.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompactionError {
    /// Every message is left as it is.
    #[error("the compaction changes nothing")]
    NothingChanged,
    /// No message is left.
    #[error("the compaction leaves no message")]
    Empty,
    /// A message comes from one that is not there.
    #[error("message {0} of the compaction comes from no message of this conversation")]
    UnknownOrigin(usize),
    /// A message is no message.
    #[error("message {0} of the compaction is not a message of the agent's format")]
    Unreadable(usize),
    /// The file has to be repaired first.
    #[error("the file is torn or holds bytes that are no text")]
    Damaged,
    /// The file cannot hide anything.
    #[error("a file of this version of the agent cannot hide messages, only lose them")]
    TooOld,
    /// The agent would not see the history that the compaction made.
    #[error("the agent would not see message {0} of the compaction as it is")]
    NotVisible(usize),
}

impl<'a> ParsedSession<'a> {
    /// The file with a compaction of its conversation in it. What is hidden stays in the file.
    ///
    /// # Errors
    /// If the file cannot hold the compaction, or the compaction is not one of this conversation.
    pub fn write_compaction(
        &self,
        condensed: &CompactedFile<'_>,
    ) -> Result<RewrittenFile<'a>, CompactionError> {
        self.check_compaction(condensed)?;
        let mut fresh = CompactionIds::new(self, condensed);
        let rewritten = match self.agent {
            SessionAgent::ClaudeCode | SessionAgent::Neovate => {
                self.apply_edits(linked::write_compaction(self, condensed, &mut fresh))
            }
            SessionAgent::Codex => {
                self.apply_edits(codex::write_compaction(self, condensed, &mut fresh))
            }
            SessionAgent::Cline => cline::write_compaction(self, condensed, &mut fresh)?,
            SessionAgent::GeminiCli if gemini_cli::is_old(self) => {
                return Err(CompactionError::TooOld);
            }
            SessionAgent::GeminiCli => {
                self.apply_edits(gemini_cli::write_compaction(self, condensed, &mut fresh))
            }
        };
        verify::verify(self.agent, &rewritten, condensed)?;
        Ok(rewritten)
    }

    /// The file without the last compaction that was written into it; `None` if there is none, or
    /// if what it hid is not in the file any more. Messages that came later stay, and go on from
    /// what the compaction hid.
    pub fn remove_compaction(&self) -> Option<RewrittenFile<'a>> {
        let id = mark::last(self)?;
        Some(match self.agent {
            SessionAgent::ClaudeCode | SessionAgent::Neovate => {
                self.apply_edits(linked::remove_compaction(self, &id)?)
            }
            SessionAgent::Codex => self.apply_edits(codex::remove_compaction(self, &id)),
            SessionAgent::Cline => cline::remove_compaction(self, &id)?,
            SessionAgent::GeminiCli => self.apply_edits(gemini_cli::remove_compaction(self, &id)),
        })
    }

    fn apply_edits(&self, edits: FileEdits) -> RewrittenFile<'a> {
        emit_repairing_lines(self, Default::default(), edits)
    }

    /// Whether a compaction is one of this conversation.
    fn check_compaction(&self, condensed: &CompactedFile<'_>) -> Result<(), CompactionError> {
        let count = self.draft().messages.len();
        if condensed.messages.is_empty() {
            return Err(CompactionError::Empty);
        }
        for (at, shown) in condensed.messages.iter().enumerate() {
            match shown.origin {
                Some(origin) if origin < count => {}
                None if !shown.kept => {}
                Some(_) | None => return Err(CompactionError::UnknownOrigin(at)),
            }
            let said = decode_message(shown.json, self.agent.wire());
            said.map_err(|_| CompactionError::Unreadable(at))?;
        }
        let same = |(at, shown): (usize, &CompactedFileMessage<'_>)| {
            shown.kept && shown.origin == Some(at)
        };
        if condensed.messages.len() == count && condensed.messages.iter().enumerate().all(same) {
            return Err(CompactionError::NothingChanged);
        }
        Ok(())
    }

    /// The message that stays as its records spell it. Half characters are not copied: the
    /// compaction says what becomes of them.
    fn kept_origin(&self, shown: &CompactedFileMessage<'_>) -> Option<usize> {
        let origin = shown.origin.filter(|_| shown.kept)?;
        let own = self.draft().messages.get(origin)?.span;
        let records = self.chain.records_of(origin).iter().map(|record| self.span(*record));
        let halves = &self.draft().body.surrogates;
        let broken = |span: Span| {
            let first = halves.partition_point(|half| half.start < span.start);
            halves.get(first).is_some_and(|half| half.end <= span.end)
        };
        let whole = match self.agent {
            SessionAgent::ClaudeCode | SessionAgent::Neovate => !records.into_iter().any(broken),
            SessionAgent::Codex | SessionAgent::Cline | SessionAgent::GeminiCli => !broken(own),
        };
        whole.then_some(origin)
    }
}

/// All of a text.
fn whole_span(text: &str) -> Span {
    Span::new(0, text.len())
}

/// The first thing that a new message of the user's says.
fn summary_text(condensed: &CompactedFile<'_>, wire: Format) -> Option<String> {
    let new = condensed.messages.iter().filter(|shown| shown.origin.is_none());
    let said = new.filter_map(|shown| decode_message(shown.json, wire).ok());
    let summary = said.into_iter().find(|said| said.role == ModelRole::User)?;
    summary.parts.into_iter().find_map(|part| match part.into_content() {
        ContentPart::Text(text) => Some(text.into_owned()),
        _ => None,
    })
}
