//! A token counter without a vocabulary.

use foxwedge_core::compact::TokenCounter;

/// Counts one token for every four bytes of text, and a fixed number for every image.
#[derive(Clone, Copy, Debug, Default)]
pub struct ByteTokenCounter;

impl ByteTokenCounter {
    /// Tokens of an image.
    pub const MEDIA: u32 = 700;
}

impl TokenCounter for ByteTokenCounter {
    fn count_text(&mut self, text: &str) -> u32 {
        u32::try_from(text.len().div_ceil(4)).unwrap_or(u32::MAX)
    }

    fn count_media(&mut self, _: &str) -> u32 {
        ByteTokenCounter::MEDIA
    }

    fn is_exact(&self) -> bool {
        false
    }
}
