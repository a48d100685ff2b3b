//! One conversation, as a provider takes it or as an agent keeps it.

use std::sync::Arc;

use foxwedge_core::{CheckOptions, Draft, EditLog, Finding, Report, Severity, check, repair};
use foxwedge_formats::OutlinedDocument;
use foxwedge_sessions::{FindingEffect, ParsedSession};

use crate::sessions::SessionHealth;

/// One conversation.
pub(crate) struct InputDocument<'a> {
    /// Where it begins in the text.
    pub(crate) offset: usize,
    /// Its line, where a file holds several.
    pub(crate) line: Option<usize>,
    pub(crate) body: DocumentBody<'a>,
    pub(crate) check_options: CheckOptions,
    /// What its agent copes with, and what is therefore not asked about.
    pub(crate) tolerated: Vec<Finding>,
}

/// What was read.
pub(crate) enum DocumentBody<'a> {
    /// As a provider takes it.
    Wire(Arc<OutlinedDocument<'a>>),
    /// As an agent keeps it.
    Session(Box<ParsedSession<'a>>),
}

impl<'a> InputDocument<'a> {
    /// The conversation in it.
    pub(crate) fn draft(&self) -> &Draft<'a> {
        match &self.body {
            DocumentBody::Wire(reading) => &reading.draft,
            DocumentBody::Session(session) => session.draft(),
        }
    }

    /// How it is, as a session.
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

    /// What is wrong with it.
    pub(crate) fn report(&self) -> Report {
        check(self.draft(), &self.check_options)
    }

    /// What is wrong with it, and what a repair would do.
    pub(crate) fn report_and_edits(&self) -> (Report, EditLog) {
        let repair = match &self.body {
            DocumentBody::Wire(reading) => repair(&reading.draft, &self.check_options),
            DocumentBody::Session(session) => session.fix(&self.check_options).1,
        };
        (repair.before, repair.edits)
    }
}
