//! Encodes a flat list of items: each call and each result is an item, and so is the text between
//! them. The order of the history is kept, except for results that must follow their calls.

use std::collections::HashSet;

use super::{
    history_encoder::{ContentPiece, HistoryEncoder},
    json_writer::{compact_json, write_comma, write_compact},
    system,
};
use crate::conversation::{
    ContentPart, MediaPart, ModelMessage, ModelPart, ModelRole, PartIndex, PartPlacement,
    ToolCallPart, ToolResultPart, call_id_map::part_at,
};
use foxwedge_core::sorting::sort_by_key;

/// How one such format encodes its items.
pub(crate) struct ItemEncodeFormat {
    /// The start of a refusal block, up to its text; `None` if a refusal is written as text.
    pub(crate) refusal: Option<&'static str>,
    /// Whether results directly follow the turn of their calls; otherwise they stay in place.
    pub(crate) results_follow: bool,
    /// Writes media in a message.
    pub(crate) media: fn(&ModelPart<'_>, &MediaPart<'_>) -> Option<String>,
    /// Writes an item with texts and media.
    pub(crate) message: fn(
        &mut HistoryEncoder<'_, '_>,
        &ModelMessage<'_>,
        ModelRole,
        &[ContentPiece<'_>],
        &mut String,
    ),
    /// Writes a call.
    pub(crate) call: fn(&mut HistoryEncoder<'_, '_>, PartIndex, &ToolCallPart<'_>, &mut String),
    /// Writes a result.
    pub(crate) result:
        for<'h, 'a> fn(&mut HistoryEncoder<'h, 'a>, PartIndex, &'h ToolResultPart<'a>, &mut String),
}

/// Writes every message as one or more items.
pub(crate) fn write_items(
    encoder: &mut HistoryEncoder<'_, '_>,
    style: &ItemEncodeFormat,
    out: &mut String,
) {
    let history = encoder.history;
    let mut results = PendingResults::default();
    for (index, message) in history.messages.iter().enumerate() {
        encoder.record_field_losses(index, message);
        if system::is_top_level(encoder, index, message) {
            continue;
        }
        let role = system::effective_role(encoder, index, message);
        if role != ModelRole::Assistant {
            results.write(encoder, style, index, out);
        }
        let mut pieces = Vec::new();
        for (part_index, part) in message.parts.iter().enumerate() {
            let at = PartIndex { message: index, part: part_index };
            if results.written.contains(&at) || !encoder.accepts_part(at, role, part) {
                continue;
            }
            match (part.content(), encoder.reusable_origin(at, part)) {
                (_, Some(original)) if original.placement != PartPlacement::Message => {
                    pieces.push(ContentPiece::Block(compact_json(original.json)));
                    continue;
                }
                (ContentPart::Text(text), None) => {
                    let refusal =
                        style.refusal.filter(|_| part.notes().is_some_and(|notes| notes.refusal));
                    // An empty text beside other parts is dropped.
                    if let Some(refusal) = refusal {
                        let mut block = refusal.to_owned();
                        text.write(&mut block);
                        block.push('}');
                        pieces.push(ContentPiece::Block(block.into()));
                    } else if !text.is_empty() || message.parts.len() == 1 {
                        pieces.push(ContentPiece::Text(text));
                    }
                    continue;
                }
                (ContentPart::Media(media), None) => {
                    pieces.push(match (style.media)(part, &encoder.with_valid_name(at, media)) {
                        Some(block) => ContentPiece::Block(block.into()),
                        None => {
                            ContentPiece::Generated(encoder.omitted_media_note(at, media).into())
                        }
                    });
                    continue;
                }
                _ => {}
            }
            // Earlier text comes before this item.
            if !pieces.is_empty() {
                write_comma(out);
                (style.message)(encoder, message, role, &pieces, out);
                pieces.clear();
            }
            if style.results_follow && matches!(part.content(), ContentPart::ToolCall(_)) {
                results.calls.push(at);
            }
            write_item(encoder, style, at, part, out);
        }
        if !pieces.is_empty() || !message.members(encoder.wire).is_empty() {
            write_comma(out);
            (style.message)(encoder, message, role, &pieces, out);
        }
    }
    results.write(encoder, style, history.messages.len(), out);
}

/// Results that follow the turn of their calls.
#[derive(Default)]
struct PendingResults {
    /// Calls of the turn.
    calls: Vec<PartIndex>,
    /// Results that are written already.
    written: HashSet<PartIndex>,
}

impl PendingResults {
    /// Writes the results of the calls so far, in their order. The turn of the calls ends before the
    /// message at `end`.
    fn write(
        &mut self,
        encoder: &mut HistoryEncoder<'_, '_>,
        style: &ItemEncodeFormat,
        end: usize,
        out: &mut String,
    ) {
        let calls = self.calls.drain(..);
        let results = calls.filter_map(|call| encoder.call_ids.pairs.partner(call));
        let mut results: Vec<PartIndex> = results.collect();
        sort_by_key(&mut results, |place| *place);
        encoder.record_late_results(&results, end);
        for at in results {
            let Some(part) = part_at(encoder.history, at) else { continue };
            encoder.accepts_part(at, ModelRole::User, part);
            write_item(encoder, style, at, part, out);
            self.written.insert(at);
        }
    }
}

/// Writes a part that is an item of its own.
fn write_item<'h, 'a>(
    encoder: &mut HistoryEncoder<'h, 'a>,
    style: &ItemEncodeFormat,
    at: PartIndex,
    part: &'h ModelPart<'a>,
    out: &mut String,
) {
    match (part.content(), encoder.reusable_origin(at, part)) {
        (_, Some(original)) => {
            encoder.outline.mark_inexact();
            write_comma(out);
            write_compact(out, original.json);
        }
        (ContentPart::ToolCall(call), None) => (style.call)(encoder, at, call, out),
        (ContentPart::ToolResult(result), None) => (style.result)(encoder, at, result, out),
        (
            ContentPart::Text(_)
            | ContentPart::Media(_)
            | ContentPart::Reasoning(_)
            | ContentPart::Unknown(_),
            None,
        ) => {}
    }
}
