//! What is wrong with a session file around its conversation.

use crate::{
    report::{Fix, Severity},
    span::Span,
};

/// A broken link between records, or a line that cannot be read. Whoever reads the file finds it;
/// its rule reports it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flaw {
    /// The rule it breaks.
    pub code: u16,
    /// Whether the agent refuses the file, or only loses some of it.
    pub severity: Severity,
    /// The message at or before it.
    pub message: usize,
    /// Where it lies.
    pub span: Span,
    /// The records or calls concerned.
    pub ids: Vec<String>,
    /// One sentence about this very place.
    pub what: String,
    /// One sentence about what a repair does.
    pub mend: String,
    /// How it can be repaired.
    pub fix: Fix,
}
