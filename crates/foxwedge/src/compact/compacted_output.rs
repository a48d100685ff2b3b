//! Writes a compacted conversation to its file or to stdout. It is verified first.

use std::{borrow::Cow, path::PathBuf};

use anyhow::Context;
use foxwedge_core::EditLog;
use foxwedge_formats::compact::CompactedText;
use foxwedge_sessions::{CompactedFile, CompactionError, ParsedSession};

use super::{amount::format_spaced, compaction_target::CompactionTarget};
use foxwedge_local::{
    check_settings::shell_argument,
    disk::check_idle,
    findings::ReportDetail,
    output::{self, HelpfulError, clean},
    provider_conversation::ProviderConversation,
    repair_plan::{replace_file, verify},
    source::{DocumentBody, FileCompression, InputDocument, decode_text, parse_input},
    user_folders::UserFolders,
};

/// A compacted document, ready to replace the original.
pub(crate) struct CompactedOutput<'s> {
    target: &'s CompactionTarget,
    conversation: &'s ProviderConversation<'s>,
    /// The whole file, uncompressed.
    content: Vec<u8>,
}

impl<'s> CompactedOutput<'s> {
    /// Replaces the conversation in its file. `plain` is the whole file, uncompressed.
    pub(crate) fn new(
        target: &'s CompactionTarget,
        conversation: &'s ProviderConversation<'s>,
        document: &InputDocument<'_>,
        plain: &[u8],
        compacted: &CompactedText<'_>,
    ) -> anyhow::Result<CompactedOutput<'s>> {
        let content = match &document.body {
            DocumentBody::Session(session) => compacted_session_file(session, compacted, target)?,
            DocumentBody::Wire(reading) => {
                // The text starts after a byte-order mark.
                let mark = if plain.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
                let start = mark + document.offset;
                let end = start + reading.draft.source.len();
                let before = plain.get(..start).unwrap_or_default();
                let after = plain.get(end..).unwrap_or_default();
                [before, compacted.text.as_bytes(), after].concat()
            }
        };
        Ok(CompactedOutput { target, conversation, content })
    }

    /// A session file with new content.
    pub(super) fn from_session_content(
        target: &'s CompactionTarget,
        conversation: &'s ProviderConversation<'s>,
        content: Vec<u8>,
    ) -> CompactedOutput<'s> {
        CompactedOutput { target, conversation, content }
    }

    /// Replaces the file. Returns the path of the backup.
    pub(crate) fn write_file(self) -> anyhow::Result<Option<PathBuf>> {
        let CompactedOutput { target, conversation, content } = self;
        let content = FileCompression::of(target.content()).compress(content);
        let settings = target.settings.clone().with_format(conversation.format);
        let report = replace_file(
            &UserFolders::Environment,
            target.snapshot()?,
            conversation.session.as_ref(),
            |out| out.write_all(&content),
            target.hint,
            &settings,
            ReportDetail::default(),
        );
        Ok(report.with_context(|| clean(&target.display_name))?.backup)
    }

    /// Writes it to stdout.
    pub(crate) fn print(self) -> anyhow::Result<()> {
        let CompactedOutput { target, conversation, content } = self;
        let content = FileCompression::of(target.content()).compress(content);
        let settings = target.settings.clone().with_format(conversation.format);
        verify(&content, target.hint, &settings, ReportDetail::default())
            .context("the compaction failed verification")?;
        output::write_stdout_raw(|out| out.write_all(&content))
    }
}

/// Fails early if the file cannot be replaced, before a summary is requested.
pub(crate) fn check_replaceable(
    target: &CompactionTarget,
    conversation: &ProviderConversation<'_>,
) -> anyhow::Result<()> {
    let snapshot = target.snapshot()?;
    snapshot.check_writable()?;
    let session = conversation.session.as_ref();
    check_idle(&UserFolders::Environment, &snapshot.path, &snapshot.metadata, session)?;
    Ok(())
}

/// The session file after a compaction, as its agent would have written it.
fn compacted_session_file(
    session: &ParsedSession<'_>,
    compacted: &CompactedText<'_>,
    target: &CompactionTarget,
) -> anyhow::Result<Vec<u8>> {
    let account = &compacted.account;
    let (before, after) =
        (format_spaced(account.before.tokens), format_spaced(account.after.tokens));
    let marker = format!("[foxwedge] Compacted from {before} to {after} tokens");
    let compacted_file = CompactedFile::of(compacted, &marker);
    let rewritten = session
        .write_compaction(&compacted_file)
        .map_err(|error| unwritable_compaction(target, &error))?;
    let mut content = Vec::new();
    rewritten.write_to(&mut content)?;
    Ok(content)
}

/// The error for a session whose file cannot hold a compaction.
fn unwritable_compaction(target: &CompactionTarget, error: &CompactionError) -> HelpfulError {
    let name = shell_argument(&target.display_name);
    HelpfulError::new(format!("{}: {error}", clean(&target.display_name))).help(format!(
        "nothing was changed; `foxwedge resume {name} | foxwedge compact -` prints a shorter \
         history"
    ))
}

/// Refuses a message list of the AI SDK: whatever the budget, a compaction cannot be written there.
pub(crate) fn check_holds_compactions(
    target: &CompactionTarget,
    document: &InputDocument<'_>,
) -> Result<(), HelpfulError> {
    match &document.body {
        DocumentBody::Session(session) if session.agent.is_ai_sdk() => {
            Err(unwritable_compaction(target, &CompactionError::NoHiding))
        }
        DocumentBody::Session(_) | DocumentBody::Wire(_) => Ok(()),
    }
}

/// Repairs a session file before its compaction if it is invalid: a compaction hides records that
/// it does not understand, and a repair may need them. Other inputs are repaired later.
pub(crate) fn repair_session_file<'p>(
    target: &CompactionTarget,
    plain: Cow<'p, [u8]>,
) -> anyhow::Result<(Cow<'p, [u8]>, EditLog)> {
    let text = decode_text(&plain).map_err(|failure| target.failure_error(&failure))?;
    let input = parse_input(&text, target.hint, &target.settings);
    let document = target.single_document(&input)?;
    let DocumentBody::Session(session) = &document.body else {
        return Ok((plain, EditLog::default()));
    };
    let (rewritten, repair) = session.fix(&document.check_options);
    if repair.is_untouched() {
        return Ok((plain, EditLog::default()));
    }
    let mut content = Vec::new();
    rewritten.write_to(&mut content)?;
    Ok((Cow::Owned(content), repair.edits))
}
