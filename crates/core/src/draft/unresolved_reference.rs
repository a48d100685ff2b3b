//! References to tools that are gone.

use foxwedge_json::{Span, TextReplacement};

/// A reference, inside a tool result, to tools that the request does not declare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnresolvedReference {
    /// The name of the first tool, without its quotes.
    pub tool: Span,
    /// The number of further tools.
    pub more: u32,
    /// Its place, and what stands there without the reference.
    pub replacement: TextReplacement,
}
