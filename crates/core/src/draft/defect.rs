//! What is wrong with a session file around its conversation.

use crate::{
    report::{Fix, MAX_LISTED, Severity},
    span::Span,
};

/// A broken link between records, or a line that cannot be read. Whoever reads the file finds it;
/// its rule reports it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileDefect {
    /// The rule it breaks.
    pub code: u16,
    /// Whether the agent refuses the file, or only loses some of it.
    pub severity: Severity,
    /// What the agent makes of it.
    pub harm: DefectHarm,
    /// The message at or before it.
    pub message: u32,
    /// Where it lies.
    pub span: Span,
    /// What is said about it; only the first flaws of a rule have any.
    pub text: Option<Box<DefectText>>,
    /// How it can be repaired.
    pub fix: Fix,
}

/// What is said about a flaw.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DefectText {
    /// The records or calls concerned.
    pub ids: Vec<String>,
    /// One sentence about this very place.
    pub problem: String,
    /// One sentence about what a repair does.
    pub repair: String,
}

impl FileDefect {
    /// A flaw with what is said about it, where `earlier` flaws of its rule were noted before it.
    /// A file can be flawed in every line: those that no report lists say nothing.
    pub fn new(
        code: u16,
        severity: Severity,
        harm: DefectHarm,
        span: Span,
        fix: Fix,
        earlier: usize,
        text: impl FnOnce() -> DefectText,
    ) -> FileDefect {
        let text = (earlier < MAX_LISTED).then(|| Box::new(text()));
        FileDefect { code, severity, harm, message: 0, span, text, fix }
    }
}

/// What an agent loses by a flaw that it does not stop at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DefectHarm {
    /// Nothing that could be read.
    Nothing,
    /// Records that are there, and that it does not see.
    HidesHistory,
    /// The record that it writes next: the last line has no end, and is not a whole record.
    SwallowsNext,
}
