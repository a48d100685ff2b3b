//! One conversation, in a provider's format or in an agent's session file.

use std::sync::Arc;

use foxwedge_core::{CheckOptions, Draft, EditLog, Finding, Report, Severity, check, repair};
use foxwedge_formats::OutlinedDocument;
use foxwedge_sessions::{FindingEffect, ParsedSession, SessionReach};

use crate::{session_document::is_safely_fixable, session_health::SessionHealth};

/// One conversation.
pub struct InputDocument<'a> {
    /// Where it begins in the text.
    pub offset: usize,
    /// Its line, if the file has several documents.
    pub line: Option<usize>,
    /// The parsed conversation.
    pub body: DocumentBody<'a>,
    /// The options for its check.
    pub check_options: CheckOptions,
    /// Findings that its agent tolerates and that are therefore not reported.
    pub tolerated: Vec<Finding>,
}

/// The parsed content.
pub enum DocumentBody<'a> {
    /// In a provider's format.
    Wire(Arc<OutlinedDocument<'a>>),
    /// An agent's session.
    Session(Box<ParsedSession<'a>>),
}

impl<'a> InputDocument<'a> {
    /// The outline.
    pub fn draft(&self) -> &Draft<'a> {
        match &self.body {
            DocumentBody::Wire(reading) => &reading.draft,
            DocumentBody::Session(session) => session.draft(),
        }
    }

    /// Its health as a session, and how much of it reaches the model.
    pub fn rate(&self) -> (SessionHealth, Option<SessionReach>) {
        match &self.body {
            DocumentBody::Session(session) => {
                let rated = session.rate_findings(&self.check_options);
                let reach = session.reach(&rated, is_safely_fixable);
                (SessionHealth::of(rated.worst()), Some(reach))
            }
            DocumentBody::Wire(_) => {
                let report = self.report();
                let effects = report.counts.iter().map(|kind| match kind.severity {
                    Severity::Error => FindingEffect::Blocks,
                    Severity::Warning => FindingEffect::Tolerated,
                });
                (SessionHealth::of(effects), None)
            }
        }
    }

    /// The findings in it.
    pub fn report(&self) -> Report {
        check(self.draft(), &self.check_options)
    }

    /// The findings in it, and the edits of a repair.
    pub fn report_and_edits(&self) -> (Report, EditLog) {
        let repair = match &self.body {
            DocumentBody::Wire(reading) => repair(&reading.draft, &self.check_options),
            DocumentBody::Session(session) => session.fix(&self.check_options).1,
        };
        (repair.before, repair.edits)
    }
}
