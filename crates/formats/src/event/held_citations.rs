//! Citations that point at the whole text of their block, which is known when the block ends.

use super::loss_notes::{LossNotes, NAMELESS, UNQUOTED};
use crate::conversation::{JsonText, LossKind, TextCitation};

/// The citations of the open block without a place, until its text is complete.
#[derive(Default)]
pub(crate) struct HeldCitations {
    list: Vec<TextCitation<'static>>,
    bytes: usize,
}

impl HeldCitations {
    /// Holds a citation, or returns it if it names its place and can be written at once. Its quote
    /// is lost.
    pub(crate) fn accept<'c, 'a>(
        &mut self,
        citation: &'c TextCitation<'a>,
        notes: &mut LossNotes,
    ) -> Option<&'c TextCitation<'a>> {
        let TextCitation { url: Some(url), title, quote, span } = citation else {
            notes.add(LossKind::Citation, NAMELESS);
            return None;
        };
        if quote.as_ref().is_some_and(|quote| !quote.is_empty()) {
            notes.add(LossKind::Citation, UNQUOTED);
        }
        if span.is_some() {
            return Some(citation);
        }
        let title = title.as_ref().map(JsonText::to_static);
        let texts = url.len() + title.as_ref().map_or(0, |title| title.len());
        self.bytes += size_of::<TextCitation<'_>>() + texts;
        let url = Some(url.to_static());
        self.list.push(TextCitation { url, title, quote: None, span: None });
        None
    }

    /// Takes the citations: the block has ended.
    pub(crate) fn take(&mut self) -> Vec<TextCitation<'static>> {
        self.bytes = 0;
        std::mem::take(&mut self.list)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}
