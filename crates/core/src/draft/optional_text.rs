//! A text that may be missing.

use std::{borrow::Cow, fmt, sync::Arc};

/// A text that may be missing: borrowed from the input or, rarely, a new one. It takes two machine
/// words where an optional `Cow` takes three, and every call has two of them.
#[derive(Clone)]
pub enum OptionalText<'a> {
    /// Borrowed from the input.
    Borrowed(&'a str),
    /// New text, shared by call and answer; or missing.
    Owned(Option<Arc<Box<str>>>),
}

impl<'a> OptionalText<'a> {
    /// No text.
    pub const NONE: OptionalText<'static> = OptionalText::Owned(None);

    /// The text, if there is one.
    pub fn as_deref(&self) -> Option<&str> {
        match self {
            OptionalText::Borrowed(text) => Some(text),
            OptionalText::Owned(text) => text.as_ref().map(|text| &***text),
        }
    }

    /// The text as a `Cow`, if there is one.
    pub fn to_cow(&self) -> Option<Cow<'a, str>> {
        match self {
            OptionalText::Borrowed(text) => Some(Cow::Borrowed(text)),
            OptionalText::Owned(text) => text.as_ref().map(|text| Cow::Owned(text.to_string())),
        }
    }

    /// Whether there is one.
    pub fn is_some(&self) -> bool {
        self.as_deref().is_some()
    }

    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        self.as_deref().is_none()
    }
}

impl fmt::Debug for OptionalText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_deref().fmt(f)
    }
}

impl Default for OptionalText<'_> {
    fn default() -> Self {
        OptionalText::NONE
    }
}

impl PartialEq for OptionalText<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.as_deref() == other.as_deref()
    }
}

impl Eq for OptionalText<'_> {}

impl From<String> for OptionalText<'_> {
    fn from(text: String) -> Self {
        OptionalText::Owned(Some(Arc::new(text.into_boxed_str())))
    }
}

impl<'a> From<Cow<'a, str>> for OptionalText<'a> {
    fn from(text: Cow<'a, str>) -> Self {
        match text {
            Cow::Borrowed(text) => OptionalText::Borrowed(text),
            Cow::Owned(text) => text.into(),
        }
    }
}

impl<'a> From<Option<Cow<'a, str>>> for OptionalText<'a> {
    fn from(text: Option<Cow<'a, str>>) -> Self {
        text.map_or(OptionalText::NONE, OptionalText::from)
    }
}
