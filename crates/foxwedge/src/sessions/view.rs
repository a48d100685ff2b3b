//! One view of a session: the file as it stands, or as a repair would leave it.

use std::{borrow::Cow, io};

use anyhow::{Context, bail};
use foxwedge_core::{EditLog, Finding, FixApplicability, Repair, Report};
use foxwedge_sessions::SessionText;

use super::{LoadedConversation, SessionHealth};
use crate::{
    cli::SessionViewMode,
    cli_output::{self, CliError, clean},
    source::{DocumentBody, InputDocument},
};

/// One view of a conversation: a whole file, and what was done to get there.
pub(crate) struct ConversationFileView<'l> {
    loaded: &'l LoadedConversation,
    content: Cow<'l, [u8]>,
    /// What is wrong with the file as it stands.
    pub(crate) report: Report,
    /// What its agent copes with.
    pub(crate) tolerated: Vec<Finding>,
    health: SessionHealth,
    /// What the repair did; nothing in the raw view.
    pub(crate) edits: EditLog,
}

impl LoadedConversation {
    /// The wanted view. A clean one is proven: nothing is left in it that could be repaired.
    pub(crate) fn view(&self) -> anyhow::Result<ConversationFileView<'_>> {
        let text = self.text(&self.content)?;
        let (document, notes) = self.read(&text)?;
        notes.iter().for_each(|note| cli_output::print_note(&clean(note)));
        if let crate::source::DocumentBody::Session(session) = &document.body {
            crate::diagnose::log_session(&self.display_name, session);
        }
        if self.strict {
            self.refuse_damaged(&document)?;
        }
        let mut viewed = ConversationFileView {
            loaded: self,
            content: Cow::Borrowed(&self.content),
            health: document.health(),
            tolerated: document.tolerated.clone(),
            report: Report::default(),
            edits: EditLog::default(),
        };
        if self.view == SessionViewMode::Raw {
            viewed.report = document.report();
            return Ok(viewed);
        }
        let (content, repair) = repair_document(&document)?;
        if let DocumentBody::Session(session) = &document.body {
            crate::diagnose::log_dropped(&self.display_name, session, &repair);
        }
        viewed.report = repair.before;
        if !repair.edits.is_empty() {
            viewed.content = Cow::Owned(content);
            viewed.edits = repair.edits;
            viewed.verify()?;
        }
        Ok(viewed)
    }
}

impl LoadedConversation {
    /// Refuses a session in which anything is wrong.
    fn refuse_damaged(&self, document: &InputDocument<'_>) -> Result<(), CliError> {
        let report = document.report();
        let Some(first) = report.findings.first() else { return Ok(()) };
        let more = match report.total() - 1 {
            0 => String::new(),
            more => format!(" (and {} more)", cli_output::pluralize(more, "finding")),
        };
        let (code, what) = (first.rule.label(), clean(&first.message));
        Err(CliError::new(format!("{}: {code}: {what}{more}", clean(&self.display_name)))
            .help("--strict refuses it; without it the session is repaired in memory"))
    }
}

impl ConversationFileView<'_> {
    /// The file of this view, readable.
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

    /// Reads the repaired file again: what could be repaired has to be gone.
    fn verify(&self) -> anyhow::Result<()> {
        let text = self.text()?;
        let again = self.document(&text).context("the repair did not hold")?;
        let Some(left) = again.report().findings.into_iter().find(is_safely_fixable) else {
            return Ok(());
        };
        bail!(
            CliError::new(format!(
                "{} is still there after the repair: {}",
                left.rule.label(),
                clean(&left.message)
            ))
            .help(
                "this is a defect of foxwedge; please report it with the shape of the history. \
                 `--view raw` shows the session as it stands"
            )
        )
    }

    /// How the file is as it stands.
    pub(crate) fn health(&self) -> SessionHealth {
        self.health
    }
}

/// What a repair makes of a document, and what was done.
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

/// Whether a repair takes care of a finding unasked.
pub(super) fn is_safely_fixable(finding: &Finding) -> bool {
    finding.fix.applicability == FixApplicability::Safe
}
