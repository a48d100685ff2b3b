//! What became shorter is kept: in its file, or on stdout. Proven before, either way.

use std::{borrow::Cow, path::PathBuf};

use anyhow::Context;
use foxwedge_core::EditLog;
use foxwedge_formats::compact::CompactedText;
use foxwedge_sessions::{CompactedFile, ParsedSession};

use super::{
    amount::format_spaced,
    compaction_target::{CompactionTarget, ProviderConversation},
};
use crate::{
    cli_output::{self, CliError, clean},
    disk::check_idle,
    findings::ReportDetail,
    repair_plan::{replace_file, verify},
    source::{DocumentBody, FileCompression, InputDocument, decode_text, parse_input},
};

/// A document that became shorter, ready to take the place of the old one.
pub(crate) struct CompactedOutput<'s> {
    target: &'s CompactionTarget,
    conversation: &'s ProviderConversation<'s>,
    /// The whole file, unpacked.
    content: Vec<u8>,
}

impl<'s> CompactedOutput<'s> {
    /// Puts a shorter conversation where the old one stood; `plain` are all bytes, unpacked.
    pub(crate) fn new(
        subject: &'s CompactionTarget,
        conversation: &'s ProviderConversation<'s>,
        document: &InputDocument<'_>,
        plain: &[u8],
        compacted: &CompactedText<'_>,
    ) -> anyhow::Result<CompactedOutput<'s>> {
        let content = match &document.body {
            DocumentBody::Session(session) => compacted_session_file(session, compacted, subject)?,
            DocumentBody::Wire(reading) => {
                // A byte-order mark stands before the text.
                let mark = if plain.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
                let start = mark + document.offset;
                let end = start + reading.draft.source.len();
                let before = plain.get(..start).unwrap_or_default();
                let behind = plain.get(end..).unwrap_or_default();
                [before, compacted.text.as_bytes(), behind].concat()
            }
        };
        Ok(CompactedOutput { target: subject, conversation, content })
    }

    /// A session file with other records in it.
    pub(super) fn from_session_content(
        subject: &'s CompactionTarget,
        conversation: &'s ProviderConversation<'s>,
        content: Vec<u8>,
    ) -> CompactedOutput<'s> {
        CompactedOutput { target: subject, conversation, content }
    }

    /// Writes it into its file; says where the old one lies.
    pub(crate) fn write_file(self) -> anyhow::Result<Option<PathBuf>> {
        let CompactedOutput { target: subject, conversation, content } = self;
        let content = FileCompression::of(subject.content()).compress(content);
        let ask = subject.settings.clone().with_format(conversation.format);
        let judged = replace_file(
            subject.snapshot()?,
            conversation.session.as_ref(),
            |out| out.write_all(&content),
            subject.hint,
            &ask,
            ReportDetail::default(),
        );
        Ok(judged.with_context(|| clean(&subject.display_name))?.backup)
    }

    /// Prints it.
    pub(crate) fn print(self) -> anyhow::Result<()> {
        let CompactedOutput { target: subject, conversation, content } = self;
        let content = FileCompression::of(subject.content()).compress(content);
        let ask = subject.settings.clone().with_format(conversation.format);
        verify(&content, subject.hint, &ask, ReportDetail::default())
            .context("the compaction did not hold")?;
        cli_output::write_stdout_raw(|out| out.write_all(&content))
    }
}

/// Fails early where the file could not be replaced: nobody should wait for a summary in vain.
pub(crate) fn check_replaceable(
    subject: &CompactionTarget,
    conversation: &ProviderConversation<'_>,
) -> anyhow::Result<()> {
    let snapshot = subject.snapshot()?;
    snapshot.check_writable()?;
    check_idle(&snapshot.path, &snapshot.metadata, conversation.session.as_ref())?;
    Ok(())
}

/// The file of a session after a compaction, as its agent would have written it.
fn compacted_session_file(
    session: &ParsedSession<'_>,
    compacted: &CompactedText<'_>,
    subject: &CompactionTarget,
) -> anyhow::Result<Vec<u8>> {
    let account = &compacted.account;
    let (before, after) =
        (format_spaced(account.before.tokens), format_spaced(account.after.tokens));
    let marker = format!("[foxwedge] Compacted from {before} to {after} tokens");
    let condensed = CompactedFile::of(compacted, &marker);
    let rewritten = session.write_compaction(&condensed).map_err(|error| {
        let word = crate::check_settings::shell_quote(&clean(&subject.display_name));
        CliError::new(format!("{}: {error}", clean(&subject.display_name))).help(format!(
            "nothing was changed; `foxwedge resume {word} | foxwedge compact -` prints a shorter \
             history"
        ))
    })?;
    let mut content = Vec::new();
    rewritten.write_to(&mut content)?;
    Ok(content)
}

/// The file of a session, repaired first if it is not sound: a compaction hides what it does not
/// understand, and a repair may need it. Anything else is repaired on the way.
pub(crate) fn repair_session_file<'p>(
    subject: &CompactionTarget,
    plain: Cow<'p, [u8]>,
) -> anyhow::Result<(Cow<'p, [u8]>, EditLog)> {
    let text = decode_text(&plain).map_err(|failure| subject.failure_error(&failure))?;
    let opened = parse_input(&text, subject.hint, &subject.settings);
    let document = subject.single_document(&opened)?;
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
