//! Calls that were not made by the model itself, and calls that another model left behind.

use super::{Draft, DraftFeatures, Message, OptionalText, Part, PartKind};
use foxwedge_json::Span;

/// A call that another call made, or that belongs to a toolset.
#[derive(Clone, Debug)]
pub struct OwnedCall<'a> {
    /// Where the call begins in the input.
    pub start: u32,
    /// The id of the call that made it: a program, or code that the provider runs.
    pub owner: OptionalText<'a>,
    /// The value that the result has to repeat; [`Span::NOWHERE`] if there is none.
    pub repeated: Span,
}

impl<'a> Draft<'a> {
    /// What made a call, if it was not the model itself.
    pub fn owned_call(&self, call: &Part<'_>) -> Option<&OwnedCall<'a>> {
        let calls = &self.body.owned_calls;
        let at = calls.binary_search_by_key(&call.span.start, |owned| owned.start).ok()?;
        calls.get(at).filter(|_| !call.span.is_empty())
    }

    /// Whether a part stands before the last fallback of its message: another model took over.
    pub fn precedes_fallback(&self, message: &Message, part: usize) -> bool {
        let is_fallback = |part: &Part<'_>| matches!(part.kind, PartKind::Fallback);
        self.features.intersects(DraftFeatures::FALLBACK)
            && self.parts.slice(part..message.last as usize).iter().any(is_fallback)
    }
}
