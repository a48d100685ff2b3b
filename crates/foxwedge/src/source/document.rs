//! One conversation, as a provider takes it or as an agent keeps it.

use std::sync::Arc;

use foxwedge_core::{Draft, EditLog, Finding, Question, Report, Severity, check, repair};
use foxwedge_dialect::{
    Reading,
    session::{FindingEffect, Session},
};

use crate::sessions::Health;

/// One conversation.
pub(crate) struct Document<'a> {
    /// Where it begins in the text.
    pub(crate) base: usize,
    /// Its line, where a file holds several.
    pub(crate) line: Option<usize>,
    pub(crate) body: Body<'a>,
    pub(crate) question: Question,
    /// What its agent copes with, and what is therefore not asked about.
    pub(crate) coped: Vec<Finding>,
}

/// What was read.
pub(crate) enum Body<'a> {
    /// As a provider takes it.
    Wire(Arc<Reading<'a>>),
    /// As an agent keeps it.
    Session(Box<Session<'a>>),
}

impl<'a> Document<'a> {
    /// The conversation in it.
    pub(crate) fn draft(&self) -> &Draft<'a> {
        match &self.body {
            Body::Wire(reading) => &reading.draft,
            Body::Session(session) => session.draft(),
        }
    }

    /// How it is, as a session.
    pub(crate) fn health(&self) -> Health {
        match &self.body {
            Body::Session(session) => Health::of(session.rated(&self.question).worst()),
            Body::Wire(_) => {
                Health::of(self.report().counts.iter().map(|kind| match kind.severity {
                    Severity::Error => FindingEffect::Blocks,
                    Severity::Warning => FindingEffect::Coped,
                }))
            }
        }
    }

    /// What is wrong with it.
    pub(crate) fn report(&self) -> Report {
        check(self.draft(), &self.question)
    }

    /// What is wrong with it, and what a repair would do.
    pub(crate) fn report_and_edits(&self) -> (Report, EditLog) {
        let repair = match &self.body {
            Body::Wire(reading) => repair(&reading.draft, &self.question),
            Body::Session(session) => session.fix(&self.question).1,
        };
        (repair.before, repair.edits)
    }
}
