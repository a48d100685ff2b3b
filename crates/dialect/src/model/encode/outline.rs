//! The outline of what is being written.
//!
//! Whoever writes a document knows what is in it: calls, answers, texts and where they lie. Noting
//! that on the way is cheaper than reading it all again, and comes to the same (debug builds compare
//! the two). Where the format's own spelling is copied, or something rare is written, the outline is
//! given up and the document is read.

use std::borrow::Cow;

use foxwedge_core::{
    AnswerShape, ArgumentsShape, CallFamily, ContentShape, Draft, DraftAnswer, DraftBody,
    DraftBuilder, DraftCall, Format, MessageFlags, PartKind, Role, Span, TextShape,
};

use crate::{
    json::StringSpan,
    model::{JsonText, call_id_map::CallIdentity},
    outline::text_fullness,
};

/// Notes what is written.
pub(crate) struct OutlineRecorder<'h> {
    builder: DraftBuilder<'h>,
    exact: bool,
}

impl<'h> OutlineRecorder<'h> {
    pub(super) fn new(wire: Format) -> OutlineRecorder<'h> {
        OutlineRecorder { builder: DraftBuilder::new("", wire), exact: true }
    }

    /// Something is written that only a reader can tell.
    pub(super) fn mark_inexact(&mut self) {
        self.exact = false;
    }

    /// A text is written.
    pub(super) fn record_text(&mut self, span: Span, words: &JsonText<'_>) {
        self.builder.push_part(span, PartKind::Text(json_text_fullness(words)));
    }

    /// An image, a file, a sound is written.
    pub(super) fn record_media(&mut self, span: Span) {
        self.builder.push_part(span, PartKind::Media);
    }

    /// Something without a meaning for pairs is written.
    pub(super) fn record_other(&mut self, span: Span) {
        self.builder.push_part(span, PartKind::Other);
    }

    /// A call is written.
    pub(super) fn record_call(
        &mut self,
        span: Span,
        entry: &CallIdentity<'h>,
        family: CallFamily,
        signed: bool,
    ) {
        let call = DraftCall {
            id: non_empty(entry.id.clone()).into(),
            name: non_empty(Some(entry.name.clone())).into(),
            family,
            arguments: ArgumentsShape::Valid,
            signed,
            typed: true,
        };
        self.builder.push_part(span, PartKind::call(call));
    }

    /// An answer is written.
    pub(super) fn record_result(
        &mut self,
        span: Span,
        entry: &CallIdentity<'h>,
        written: ResultOutline,
    ) {
        let answer = DraftAnswer {
            id: non_empty(entry.id.clone()).into(),
            name: non_empty(written.names_tool.then(|| entry.name.clone())).map(Box::new),
            family: written.family,
            output: if written.empty { AnswerShape::Empty } else { AnswerShape::Full },
            content: written.content,
            media: false,
        };
        self.builder.push_part(span, PartKind::answer(answer));
    }

    /// A message ends.
    pub(super) fn record_message(&mut self, role: Role, span: Span, content: ContentShape) {
        self.builder.push_message(role, span, content, MessageFlags::default());
    }

    /// The outline of a whole document, if nothing was given up.
    pub(crate) fn finish<'d>(mut self, source: &'d str, body: DraftBody<'d>) -> Option<Draft<'d>>
    where
        'h: 'd,
    {
        if !self.exact {
            return None;
        }
        *self.builder.body_mut() = DraftBody::default();
        let mut draft: Draft<'d> = self.builder.finish();
        draft.source = source;
        draft.body = body;
        Some(draft)
    }
}

/// What an answer turned out to be.
pub(super) struct ResultOutline {
    /// Where its content lies.
    pub(super) content: Span,
    /// It says nothing.
    pub(super) empty: bool,
    /// It names its tool.
    pub(super) names_tool: bool,
    /// The kind of tool.
    pub(super) family: CallFamily,
}

/// A word that says something.
fn non_empty(word: Option<Cow<'_, str>>) -> Option<Cow<'_, str>> {
    word.filter(|word| !word.is_empty())
}

/// How much a text says: what [`fullness`] makes of its spelling.
fn json_text_fullness(words: &JsonText<'_>) -> TextShape {
    if let Some(raw) = words.escaped_source() {
        return text_fullness(raw, StringSpan { span: Span::new(0, raw.len()), escaped: true });
    }
    let mut characters = words.chars();
    match (characters.next(), characters.next_back()) {
        (None, _) => TextShape::Empty,
        (Some(first), _) if first.is_whitespace() && words.trim().is_empty() => TextShape::Blank,
        (Some(last), None) | (_, Some(last)) if last.is_whitespace() => TextShape::Trailing,
        _ => TextShape::Full,
    }
}
