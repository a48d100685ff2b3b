//! What became shorter is kept: in its file, or on stdout. Proven before, either way.

use std::{borrow::Cow, path::PathBuf};

use anyhow::Context;
use foxwedge_core::EditLog;
use foxwedge_dialect::{
    compact::Compacted,
    session::{Condensed, Session},
};

use super::{
    amount::spaced,
    subject::{Conversation, Subject},
};
use crate::{
    disk::check_idle,
    judge::Look,
    mend::{exchange, verify},
    say::{self, Trouble, clean},
    source::{Body, Document, Packing, open, text},
};

/// A document that became shorter, ready to take the place of the old one.
pub(crate) struct Shorter<'s> {
    subject: &'s Subject,
    conversation: &'s Conversation<'s>,
    /// The whole file, unpacked.
    content: Vec<u8>,
}

impl<'s> Shorter<'s> {
    /// Puts a shorter conversation where the old one stood; `plain` are all bytes, unpacked.
    pub(crate) fn new(
        subject: &'s Subject,
        conversation: &'s Conversation<'s>,
        document: &Document<'_>,
        plain: &[u8],
        compacted: &Compacted<'_>,
    ) -> anyhow::Result<Shorter<'s>> {
        let content = match &document.body {
            Body::Session(session) => session_file(session, compacted, subject)?,
            Body::Wire(reading) => {
                // A byte-order mark stands before the text.
                let mark = if plain.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
                let start = mark + document.base;
                let end = start + reading.draft.source.len();
                let before = plain.get(..start).unwrap_or_default();
                let behind = plain.get(end..).unwrap_or_default();
                [before, compacted.text.as_bytes(), behind].concat()
            }
        };
        Ok(Shorter { subject, conversation, content })
    }

    /// A session file with other records in it.
    pub(super) fn of_session(
        subject: &'s Subject,
        conversation: &'s Conversation<'s>,
        content: Vec<u8>,
    ) -> Shorter<'s> {
        Shorter { subject, conversation, content }
    }

    /// Writes it into its file; says where the old one lies.
    pub(crate) fn keep(self) -> anyhow::Result<Option<PathBuf>> {
        let Shorter { subject, conversation, content } = self;
        let content = Packing::of(subject.content()).pack(content);
        let ask = subject.ask.clone().with_format(conversation.format);
        let judged = exchange(
            subject.snapshot()?,
            conversation.session.as_ref(),
            |out| out.write_all(&content),
            subject.manner,
            &ask,
            Look::default(),
        );
        Ok(judged.with_context(|| clean(&subject.shown))?.backup)
    }

    /// Prints it.
    pub(crate) fn print(self) -> anyhow::Result<()> {
        let Shorter { subject, conversation, content } = self;
        let content = Packing::of(subject.content()).pack(content);
        let ask = subject.ask.clone().with_format(conversation.format);
        verify(&content, subject.manner, &ask, Look::default())
            .context("the compaction did not hold")?;
        say::plain(|out| out.write_all(&content))
    }
}

/// Fails early where the file could not be replaced: nobody should wait for a summary in vain.
pub(crate) fn check_replaceable(
    subject: &Subject,
    conversation: &Conversation<'_>,
) -> anyhow::Result<()> {
    let snapshot = subject.snapshot()?;
    snapshot.check_writable()?;
    check_idle(&snapshot.path, &snapshot.metadata, conversation.session.as_ref())?;
    Ok(())
}

/// The file of a session after a compaction, as its agent would have written it.
fn session_file(
    session: &Session<'_>,
    compacted: &Compacted<'_>,
    subject: &Subject,
) -> anyhow::Result<Vec<u8>> {
    let account = &compacted.account;
    let (before, after) = (spaced(account.before.tokens), spaced(account.after.tokens));
    let marker = format!("[foxwedge] Compacted from {before} to {after} tokens");
    let condensed = Condensed::of(compacted, &marker);
    let rewritten = session.compacted(&condensed).map_err(|error| {
        let word = crate::ask::quoted(&clean(&subject.shown));
        Trouble::new(format!("{}: {error}", clean(&subject.shown))).help(format!(
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
pub(crate) fn mended<'p>(
    subject: &Subject,
    plain: Cow<'p, [u8]>,
) -> anyhow::Result<(Cow<'p, [u8]>, EditLog)> {
    let text = text(&plain).map_err(|failure| subject.trouble(&failure))?;
    let opened = open(&text, subject.manner, &subject.ask);
    let document = subject.only(&opened)?;
    let Body::Session(session) = &document.body else { return Ok((plain, EditLog::default())) };
    let (rewritten, repair) = session.fix(&document.question);
    if repair.is_untouched() {
        return Ok((plain, EditLog::default()));
    }
    let mut content = Vec::new();
    rewritten.write_to(&mut content)?;
    Ok((Cow::Owned(content), repair.edits))
}
