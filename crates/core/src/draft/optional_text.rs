//! A text that may be missing.

use std::{borrow::Cow, fmt, sync::Arc};

/// A text that may be missing: borrowed from the input or, rarely, a new one. It takes two machine
/// words where an optional `Cow` takes three, and every call has two of them.
#[derive(Clone)]
pub enum OptionalText<'a> {
    /// Borrowed from the input.
    Borrowed(&'a str),
    /// New text, shared by call and answer; or missing.
    Owned(Option<Arc<NewName>>),
}

/// A new id or name. New ids are short, so most need no allocation of their own.
#[derive(Debug)]
pub enum NewName {
    /// A short text, and its length.
    Short(u8, [u8; NewName::MAX_SHORT]),
    /// Any other text.
    Long(Box<str>),
}

impl NewName {
    /// The longest text that is stored in place: longer than every id that a repair creates.
    pub const MAX_SHORT: usize = 38;

    fn as_str(&self) -> &str {
        match self {
            NewName::Short(length, bytes) => {
                let bytes = bytes.get(..usize::from(*length)).unwrap_or_default();
                std::str::from_utf8(bytes).unwrap_or_default()
            }
            NewName::Long(text) => text,
        }
    }
}

impl From<String> for NewName {
    fn from(text: String) -> NewName {
        let mut bytes = [0; NewName::MAX_SHORT];
        match (bytes.get_mut(..text.len()), u8::try_from(text.len())) {
            (Some(short), Ok(length)) => {
                short.copy_from_slice(text.as_bytes());
                NewName::Short(length, bytes)
            }
            _ => NewName::Long(text.into_boxed_str()),
        }
    }
}

impl<'a> OptionalText<'a> {
    /// No text.
    pub const NONE: OptionalText<'static> = OptionalText::Owned(None);

    /// The text, if there is one.
    pub fn as_deref(&self) -> Option<&str> {
        match self {
            OptionalText::Borrowed(text) => Some(text),
            OptionalText::Owned(text) => text.as_ref().map(|text| text.as_str()),
        }
    }

    /// The text as a `Cow`, if there is one.
    pub fn to_cow(&self) -> Option<Cow<'a, str>> {
        match self {
            OptionalText::Borrowed(text) => Some(Cow::Borrowed(text)),
            OptionalText::Owned(text) => {
                text.as_ref().map(|text| Cow::Owned(text.as_str().to_owned()))
            }
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

impl std::hash::Hash for OptionalText<'_> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.as_deref().hash(state);
    }
}

impl From<String> for OptionalText<'_> {
    fn from(text: String) -> Self {
        OptionalText::Owned(Some(Arc::new(text.into())))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_names_of_every_length_are_kept() {
        assert!(size_of::<OptionalText<'_>>() <= 16);
        assert!(size_of::<NewName>() <= 40);
        for length in [0, 1, NewName::MAX_SHORT - 1, NewName::MAX_SHORT, NewName::MAX_SHORT + 1] {
            let text = "é".repeat(length / 2) + &"x".repeat(length % 2);
            assert_eq!(OptionalText::from(text.clone()).as_deref(), Some(text.as_str()));
        }
    }
}
