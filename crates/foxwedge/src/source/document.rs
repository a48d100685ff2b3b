//! One conversation, in a provider's format or in an agent's session file.

use std::sync::Arc;

use foxwedge_core::{CheckOptions, Draft, EditLog, Finding, Report, Severity, check, repair};
use foxwedge_formats::OutlinedDocument;
use foxwedge_sessions::{FindingEffect, ParsedSession};

use crate::sessions::SessionHealth;

/// One conversation.
pub(crate) struct InputDocument<'a> {
    /// Where it begins in the text.
    pub(crate) offset: usize,
    /// Its line, if the file has several documents.
    pub(crate) line: Option<usize>,
    pub(crate) body: DocumentBody<'a>,
    pub(crate) check_options: CheckOptions,
    /// Findings that its agent tolerates and that are therefore not reported.
    pub(crate) tolerated: Vec<Finding>,
}

/// The parsed content.
pub(crate) enum DocumentBody<'a> {
    /// In a provider's format.
    Wire(Arc<OutlinedDocument<'a>>),
    /// An agent's session.
    Session(Box<ParsedSession<'a>>),
}

impl<'a> InputDocument<'a> {
    pub(crate) fn draft(&self) -> &Draft<'a> {
        match &self.body {
            DocumentBody::Wire(reading) => &reading.draft,
            DocumentBody::Session(session) => session.draft(),
        }
    }

    /// Its health as a session.
    pub(crate) fn health(&self) -> SessionHealth {
        match &self.body {
            DocumentBody::Session(session) => {
                SessionHealth::of(session.rate_findings(&self.check_options).worst())
            }
            DocumentBody::Wire(_) => {
                SessionHealth::of(self.report().counts.iter().map(|kind| match kind.severity {
                    Severity::Error => FindingEffect::Blocks,
                    Severity::Warning => FindingEffect::Tolerated,
                }))
            }
        }
    }

    /// The findings in it.
    pub(crate) fn report(&self) -> Report {
        check(self.draft(), &self.check_options)
    }

    /// The findings in it, and the edits of a repair.
    pub(crate) fn report_and_edits(&self) -> (Report, EditLog) {
        let repair = match &self.body {
            DocumentBody::Wire(reading) => repair(&reading.draft, &self.check_options),
            DocumentBody::Session(session) => session.fix(&self.check_options).1,
        };
        (repair.before, repair.edits)
    }
}
