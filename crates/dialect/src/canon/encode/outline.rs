//! The outline of what is being written.
//!
//! Whoever writes a document knows what is in it: calls, answers, texts and where they lie. Noting
//! that on the way is cheaper than reading it all again, and comes to the same (debug builds compare
//! the two). Where the format's own spelling is copied, or something rare is written, the outline is
//! given up and the document is read.

use std::borrow::Cow;

use foxwedge_core::{
    Answer, Arguments, Body, Builder, Call, Content, Draft, Family, Kind, Marks, Output, Role,
    Span, Text, Wire,
};

use crate::{
    canon::{Words, ledger::Entry},
    json::Str,
    outline::fullness,
};

/// Notes what is written.
pub(crate) struct Outline<'h> {
    builder: Builder<'h>,
    exact: bool,
}

impl<'h> Outline<'h> {
    pub(super) fn new(wire: Wire) -> Outline<'h> {
        Outline { builder: Builder::new("", wire), exact: true }
    }

    /// Something is written that only a reader can tell.
    pub(super) fn give_up(&mut self) {
        self.exact = false;
    }

    /// A text is written.
    pub(super) fn text(&mut self, span: Span, words: &Words<'_>) {
        self.builder.part(span, Kind::Text(says(words)));
    }

    /// An image, a file, a sound is written.
    pub(super) fn media(&mut self, span: Span) {
        self.builder.part(span, Kind::Media);
    }

    /// Something without a meaning for pairs is written.
    pub(super) fn other(&mut self, span: Span) {
        self.builder.part(span, Kind::Other);
    }

    /// A call is written.
    pub(super) fn call(&mut self, span: Span, entry: &Entry<'h>, family: Family, signed: bool) {
        let call = Call {
            id: some(entry.id.clone()).into(),
            name: some(Some(entry.name.clone())).into(),
            family,
            arguments: Arguments::Good,
            signed,
            typed: true,
        };
        self.builder.part(span, Kind::call(call));
    }

    /// An answer is written.
    pub(super) fn answer(&mut self, span: Span, entry: &Entry<'h>, written: Told) {
        let answer = Answer {
            id: some(entry.id.clone()).into(),
            name: some(written.named.then(|| entry.name.clone())).map(Box::new),
            family: written.family,
            output: if written.empty { Output::Empty } else { Output::Full },
            content: written.content,
            media: false,
        };
        self.builder.part(span, Kind::answer(answer));
    }

    /// A message ends.
    pub(super) fn message(&mut self, role: Role, span: Span, content: Content) {
        self.builder.message(role, span, content, Marks::default());
    }

    /// The outline of a whole document, if nothing was given up.
    pub(crate) fn finish<'d>(mut self, source: &'d str, body: Body<'d>) -> Option<Draft<'d>>
    where
        'h: 'd,
    {
        if !self.exact {
            return None;
        }
        *self.builder.body() = Body::default();
        let mut draft: Draft<'d> = self.builder.finish();
        draft.source = source;
        draft.body = body;
        Some(draft)
    }
}

/// What an answer turned out to be.
pub(super) struct Told {
    /// Where its content lies.
    pub(super) content: Span,
    /// It says nothing.
    pub(super) empty: bool,
    /// It names its tool.
    pub(super) named: bool,
    /// The kind of tool.
    pub(super) family: Family,
}

/// A word that says something.
fn some(word: Option<Cow<'_, str>>) -> Option<Cow<'_, str>> {
    word.filter(|word| !word.is_empty())
}

/// How much a text says: what [`fullness`] makes of its spelling.
fn says(words: &Words<'_>) -> Text {
    if let Some(raw) = words.escaped() {
        return fullness(raw, Str { span: Span::new(0, raw.len()), escaped: true });
    }
    let mut characters = words.chars();
    match (characters.next(), characters.next_back()) {
        (None, _) => Text::Empty,
        (Some(first), _) if first.is_whitespace() && words.trim().is_empty() => Text::Blank,
        (Some(last), None) | (_, Some(last)) if last.is_whitespace() => Text::Trailing,
        _ => Text::Full,
    }
}
