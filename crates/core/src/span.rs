//! Places in the input text.

/// A half-open byte range of the input. Four gigabytes is the largest input we read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span of something that was invented and lies nowhere in the input.
    pub const NOWHERE: Span = Span { start: 0, end: 0 };

    /// A span from byte offsets; offsets beyond four gigabytes saturate.
    #[inline]
    pub fn new(start: usize, end: usize) -> Span {
        Span {
            start: u32::try_from(start).unwrap_or(u32::MAX),
            end: u32::try_from(end).unwrap_or(u32::MAX),
        }
    }

    /// The text under the span; empty where the span does not lie in `source`.
    #[inline]
    pub fn of(self, source: &str) -> &str {
        source.get(self.start as usize..self.end as usize).unwrap_or("")
    }

    /// Length in bytes.
    pub fn len(self) -> usize {
        self.end.saturating_sub(self.start) as usize
    }

    /// Whether it covers nothing.
    pub fn is_empty(self) -> bool {
        self.end <= self.start
    }
}
