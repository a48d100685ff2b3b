//! Byte ranges of the input text.

/// A half-open byte range of the input. Offsets have 32 bits: an input has at most four gigabytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The empty span of a value that is not in the input, for example one that a repair added.
    pub const NOWHERE: Span = Span { start: 0, end: 0 };

    /// A span from byte offsets. Offsets beyond four gigabytes saturate.
    #[inline]
    pub fn new(start: usize, end: usize) -> Span {
        Span {
            start: u32::try_from(start).unwrap_or(u32::MAX),
            end: u32::try_from(end).unwrap_or(u32::MAX),
        }
    }

    /// The text of the span. Empty if the span does not lie in `source` or cuts a character.
    #[inline]
    pub fn of(self, source: &str) -> &str {
        source.get(self.start as usize..self.end as usize).unwrap_or("")
    }

    /// Length in bytes.
    #[inline]
    pub fn len(self) -> usize {
        self.end.saturating_sub(self.start) as usize
    }

    /// Whether the span has no bytes.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }
}
