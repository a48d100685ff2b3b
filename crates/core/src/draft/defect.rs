//! Defects of a session file around its conversation.

use crate::{
    Span,
    report::{Fix, MAX_LISTED, Severity},
};

/// A broken link between records, or an unreadable line. The parser of the file finds it; its rule
/// reports it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileDefect {
    /// The rule it breaks.
    pub code: u16,
    /// Whether the agent refuses the file, or only loses some of it.
    pub severity: Severity,
    /// What the agent loses by it.
    pub harm: DefectHarm,
    /// The message at or before it.
    pub message: u32,
    /// Its position in the input.
    pub span: Span,
    /// Description; only the first defects of a rule have one.
    pub text: Option<Box<DefectText>>,
    /// How it can be fixed.
    pub fix: Fix,
}

/// Description of a defect.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DefectText {
    /// The records or calls concerned.
    pub ids: Vec<String>,
    /// One sentence about this occurrence.
    pub problem: String,
    /// One sentence about what the repair does.
    pub repair: String,
}

impl FileDefect {
    /// A defect with its description, where `earlier` counts the defects of its rule before it.
    /// Every line of a file can have a defect: those that no report lists get no description.
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

/// What an agent loses by a defect that does not stop it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DefectHarm {
    /// No readable record.
    Nothing,
    /// Records that exist, but that it does not load.
    HidesHistory,
    /// The record that it writes next: the last line is not a complete record and has no line end.
    SwallowsNext,
}
