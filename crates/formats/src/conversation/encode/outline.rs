//! Outlines a document while it is written.
//!
//! The encoder knows the calls, results and texts that it writes, and their spans. Recording these
//! is cheaper than reading the document again, and gives the same outline (debug builds compare the
//! two). If original JSON is copied or rare content is written, the recorder gives up and the
//! document is read.

use std::borrow::Cow;

use foxwedge_core::{
    AnswerShape, ArgumentsShape, CallFamily, ContentShape, Draft, DraftAnswer, DraftBody,
    DraftBuilder, DraftCall, Format, MessageFlags, PartKind, Role, Span, TextShape,
};

use crate::{
    conversation::{JsonText, call_id_map::CallIdentity},
    outline::text_fullness,
};
use foxwedge_json::StringSpan;

/// Records what is written.
pub(crate) struct OutlineRecorder<'h> {
    builder: DraftBuilder<'h>,
    exact: bool,
}

impl<'h> OutlineRecorder<'h> {
    pub(crate) fn new(format: Format) -> OutlineRecorder<'h> {
        OutlineRecorder { builder: DraftBuilder::new("", format), exact: true }
    }

    /// Marks the outline as incomplete; the document must be read.
    pub(crate) fn mark_inexact(&mut self) {
        self.exact = false;
    }

    /// Records a text.
    pub(crate) fn record_text(&mut self, span: Span, text: &JsonText<'_>) {
        self.builder.push_part(span, PartKind::Text(json_text_fullness(text)));
    }

    /// Records an image, a file, audio or video.
    pub(crate) fn record_media(&mut self, span: Span) {
        self.builder.push_part(span, PartKind::Media);
    }

    /// Records content that does not affect pairing.
    pub(crate) fn record_other(&mut self, span: Span) {
        self.builder.push_part(span, PartKind::Other);
    }

    /// Records a tool call.
    pub(crate) fn record_call(
        &mut self,
        span: Span,
        identity: &CallIdentity<'h>,
        family: CallFamily,
        signed: bool,
    ) {
        let call = DraftCall {
            id: non_empty(identity.id.clone()).into(),
            name: non_empty(Some(identity.name.clone())).into(),
            family,
            arguments: ArgumentsShape::Valid,
            signed,
            typed: true,
        };
        self.builder.push_part(span, PartKind::call(call));
    }

    /// Records a tool result.
    pub(crate) fn record_result(
        &mut self,
        span: Span,
        identity: &CallIdentity<'h>,
        outline: ResultOutline,
    ) {
        let answer = DraftAnswer {
            id: non_empty(identity.id.clone()).into(),
            name: non_empty(outline.names_tool.then(|| identity.name.clone())).map(Box::new),
            family: outline.family,
            output: if outline.empty { AnswerShape::Empty } else { AnswerShape::Full },
            content: outline.content,
            media: false,
            foreign: false,
        };
        self.builder.push_part(span, PartKind::answer(answer));
    }

    /// Records the end of a message.
    pub(crate) fn record_message(&mut self, role: Role, span: Span, content: ContentShape) {
        self.builder.push_message(role, span, content, MessageFlags::default());
    }

    /// The outline of the whole document; `None` if it is incomplete.
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

/// Facts about a written tool result.
pub(crate) struct ResultOutline {
    /// Span of its content.
    pub(crate) content: Span,
    /// Whether the content is empty.
    pub(crate) empty: bool,
    /// Whether the result names its tool.
    pub(crate) names_tool: bool,
    /// The kind of tool.
    pub(crate) family: CallFamily,
}

/// The text, unless it is empty.
fn non_empty(text: Option<Cow<'_, str>>) -> Option<Cow<'_, str>> {
    text.filter(|text| !text.is_empty())
}

/// The shape of a text: the same as [`fullness`] of its source.
fn json_text_fullness(text: &JsonText<'_>) -> TextShape {
    if let Some(raw) = text.escaped_source() {
        return text_fullness(raw, StringSpan { span: Span::new(0, raw.len()), escaped: true });
    }
    let mut characters = text.chars();
    match (characters.next(), characters.next_back()) {
        (None, _) => TextShape::Empty,
        (Some(first), _) if first.is_whitespace() && text.trim().is_empty() => TextShape::Blank,
        (Some(last), None) | (_, Some(last)) if last.is_whitespace() => TextShape::Trailing,
        _ => TextShape::Full,
    }
}
