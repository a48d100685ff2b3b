//! One conversation, as a provider takes it or as an agent keeps it.

use foxwedge_core::{Draft, EditLog, Question, Report, check, repair};
use foxwedge_dialect::{Reading, session::Session};

/// One conversation.
pub(crate) struct Document<'a> {
    /// Where it begins in the text.
    pub(crate) base: usize,
    /// Its line, where a file holds several.
    pub(crate) line: Option<usize>,
    pub(crate) body: Body<'a>,
    pub(crate) question: Question,
}

/// What was read.
pub(crate) enum Body<'a> {
    /// As a provider takes it.
    Wire(Box<Reading<'a>>),
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
