//! What calls and answers have in common, and how they are changed.

use std::sync::Arc;

use super::{Answer, Call, Kind};

impl<'a> Kind<'a> {
    /// A call.
    pub fn call(call: Call<'a>) -> Kind<'a> {
        Kind::Call(Arc::new(call))
    }

    /// An answer.
    pub fn answer(answer: Answer<'a>) -> Kind<'a> {
        Kind::Answer(Arc::new(answer))
    }

    /// The id of a call or an answer.
    pub fn id(&self) -> Option<&str> {
        match self {
            Kind::Call(call) => call.id.as_deref(),
            Kind::Answer(answer) => answer.id.as_deref(),
            Kind::ServerCall(_) | Kind::ServerAnswer(_) => self.server_id(),
            Kind::Text(_) | Kind::Media | Kind::Reasoning(_) | Kind::Other => None,
        }
    }

    /// The tool's name of a call or an answer.
    pub fn tool(&self) -> Option<&str> {
        match self {
            Kind::Call(call) => call.name.as_deref(),
            Kind::Answer(answer) => answer.tool(),
            _ => None,
        }
    }

    /// The id of a call or an answer of the provider itself.
    pub fn server_id(&self) -> Option<&str> {
        match self {
            Kind::ServerCall(id) | Kind::ServerAnswer(id) => id.as_deref().map(AsRef::as_ref),
            _ => None,
        }
    }

    /// The call, to be changed.
    pub fn call_mut(&mut self) -> Option<&mut Call<'a>> {
        match self {
            Kind::Call(call) => Some(Arc::make_mut(call)),
            _ => None,
        }
    }

    /// The answer, to be changed.
    pub fn answer_mut(&mut self) -> Option<&mut Answer<'a>> {
        match self {
            Kind::Answer(answer) => Some(Arc::make_mut(answer)),
            _ => None,
        }
    }
}

impl Answer<'_> {
    /// The tool's name, where the format carries one.
    pub fn tool(&self) -> Option<&str> {
        self.name.as_deref().map(AsRef::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draft::{Message, Part};

    #[test]
    fn outlines_stay_small() {
        // A document may consist of nothing but parts of a few bytes each.
        assert!(size_of::<Message>() <= 20);
        assert!(size_of::<Part<'_>>() <= 24);
        assert!(size_of::<Answer<'_>>() <= 40);
        assert!(size_of::<Call<'_>>() <= 40);
    }
}
