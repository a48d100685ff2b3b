//! Views of a session: the file as it is, or as a repair would leave it.

use std::{borrow::Cow, io};

use anyhow::{Context, bail};
use foxwedge_core::{EditLog, Finding, Repair, Report};
use foxwedge_sessions::{SessionReach, SessionText};

use super::LoadedConversation;
use crate::cli::SessionViewMode;
use foxwedge_local::{
    output::{self, HelpfulError, clean},
    source::{DocumentBody, InputDocument},
};
use foxwedge_local::{session_document::is_safely_fixable, session_health::SessionHealth};

/// One view of a conversation: the content of the file, and the edits of the repair.
pub(crate) struct ConversationFileView<'l> {
    loaded: &'l LoadedConversation,
    content: Cow<'l, [u8]>,
    /// The findings in the file as it is.
    pub(crate) report: Report,
    /// Findings that the agent tolerates.
    pub(crate) tolerated: Vec<Finding>,
    health: SessionHealth,
    /// How much of the file as it is reaches the model.
    pub(crate) reach: Option<SessionReach>,
    /// The edits of the repair; empty in the raw view.
    pub(crate) edits: EditLog,
}

impl LoadedConversation {
    /// The requested view. A clean view is verified: no repairable finding is left in it.
    pub(crate) fn view(&self) -> anyhow::Result<ConversationFileView<'_>> {
        let text = self.text(&self.content)?;
        let (document, notes) = self.read(&text)?;
        notes.iter().for_each(|note| output::print_note(&clean(note)));
        self.view_of(&document)
    }

    /// The same, without notes about how the conversation was read.
    pub(crate) fn view_without_notes(&self) -> anyhow::Result<ConversationFileView<'_>> {
        let text = self.text(&self.content)?;
        self.view_of(&self.read(&text)?.0)
    }

    fn view_of(&self, document: &InputDocument<'_>) -> anyhow::Result<ConversationFileView<'_>> {
        if let foxwedge_local::source::DocumentBody::Session(session) = &document.body {
            crate::diagnose::log_session(&self.display_name, session);
        }
        if self.strict {
            self.refuse_damaged(document)?;
        }
        let (health, reach) = document.rate();
        let mut view = ConversationFileView {
            loaded: self,
            content: Cow::Borrowed(&self.content),
            health,
            reach,
            tolerated: document.tolerated.clone(),
            report: Report::default(),
            edits: EditLog::default(),
        };
        if self.view == SessionViewMode::Raw {
            view.report = document.report();
            return Ok(view);
        }
        let (content, repair) = repair_document(document)?;
        if let DocumentBody::Session(session) = &document.body {
            crate::diagnose::log_dropped(&self.display_name, session, &repair);
        }
        view.report = repair.before;
        if !repair.edits.is_empty() {
            view.content = Cow::Owned(content);
            view.edits = repair.edits;
            view.verify()?;
        }
        Ok(view)
    }
}

impl LoadedConversation {
    /// Fails if the session has any finding.
    fn refuse_damaged(&self, document: &InputDocument<'_>) -> Result<(), HelpfulError> {
        let report = document.report();
        let Some(first) = report.findings.first() else { return Ok(()) };
        let more = match report.total() - 1 {
            0 => String::new(),
            more => format!(" (and {} more)", output::pluralize(more, "finding")),
        };
        let (code, message) = (first.rule.label(), clean(&first.message));
        Err(HelpfulError::new(format!("{}: {code}: {message}{more}", clean(&self.display_name)))
            .help("without --strict the session is repaired in memory"))
    }
}

impl ConversationFileView<'_> {
    /// The decoded text of this view.
    pub(crate) fn text(&self) -> anyhow::Result<SessionText<'_>> {
        self.loaded.text(&self.content)
    }

    /// The conversation of this view.
    pub(crate) fn document<'a>(
        &self,
        text: &'a SessionText<'_>,
    ) -> anyhow::Result<InputDocument<'a>> {
        Ok(self.loaded.read(text)?.0)
    }

    /// Parses the repaired file again. Fails if a repairable finding is left.
    fn verify(&self) -> anyhow::Result<()> {
        let text = self.text()?;
        let again = self.document(&text).context("the repair failed verification")?;
        let Some(left) = again.report().findings.into_iter().find(is_safely_fixable) else {
            return Ok(());
        };
        bail!(
            HelpfulError::new(format!(
                "{} remains after the repair: {}",
                left.rule.label(),
                clean(&left.message)
            ))
            .help(
                "this is a bug in foxwedge; please report it with the structure of the history. \
                 `--view raw` shows the session as it is"
            )
        )
    }

    /// The health of the file as it is.
    pub(crate) fn health(&self) -> SessionHealth {
        self.health
    }
}

/// The content of a document after its repair, and the repair.
fn repair_document<'a>(document: &InputDocument<'a>) -> io::Result<(Vec<u8>, Repair<'a>)> {
    let mut content = Vec::new();
    let repair = match &document.body {
        DocumentBody::Wire(reading) => {
            let (patched, repair) = reading.fix(&document.check_options);
            patched.write_to(&mut content)?;
            repair
        }
        DocumentBody::Session(session) => {
            let (rewritten, repair) = session.fix(&document.check_options);
            rewritten.write_to(&mut content)?;
            repair
        }
    };
    Ok((content, repair))
}
