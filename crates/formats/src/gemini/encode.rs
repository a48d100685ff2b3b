//! Encodes Gemini parts.

use foxwedge_core::Span;

use super::{WIRE, close_call, open_call, write_id_and_name};
use crate::conversation::{
    ContentPart, JsonText, MediaPart, MediaSource, ReasoningPart, ReasoningSignature,
    call_id_map::CallIdentity,
    encode::{
        BlockEncodeFormat, CacheMarker, ContentPiece, json_writer::write_comma,
        write_arguments_object,
    },
    media::{likely_type, titled_document},
};
use foxwedge_json::quote;

pub(crate) const ENCODE_FORMAT: BlockEncodeFormat = BlockEncodeFormat {
    blocks: "parts",
    model_role: "model",
    allows_string: false,
    text: write_text,
    media: encode_media,
    // Only newer models accept media inside a tool result; all models accept it after the result.
    media_in_result: |_| None,
    reasoning: write_reasoning,
    call: (
        |out, identity| open_call(out, identity.id.as_deref(), &identity.name),
        |out, call| close_call(out, call.signature.as_ref()),
    ),
    answer: write_result,
    cache: CacheMarker::Unsupported,
    instructions: ("\"systemInstruction\":{\"parts\":", "}"),
};

fn write_text(out: &mut String, text: &JsonText<'_>) {
    out.push_str("{\"text\":");
    text.write(out);
    out.push('}');
}

fn encode_media(media: &MediaPart<'_>) -> Option<String> {
    let mime = quote(likely_type(media));
    let file = |uri| format!("{{\"fileData\":{{\"mimeType\":{mime},\"fileUri\":{}}}}}", quote(uri));
    Some(match &media.source {
        MediaSource::Data(data) => {
            format!("{{\"inlineData\":{{\"mimeType\":{mime},\"data\":{}}}}}", quote(data))
        }
        MediaSource::Text(text) => {
            format!("{{\"text\":{}}}", quote(&titled_document(media.name.as_deref(), text)))
        }
        source if source.is_inline() => return None,
        MediaSource::Url(uri) => file(uri),
        MediaSource::Stored { .. } => file(media.source.stored_for(WIRE)?),
    })
}

fn write_reasoning(out: &mut String, reasoning: &ReasoningPart<'_>) {
    out.push_str("{\"text\":");
    reasoning.text.write(out);
    out.push_str(",\"thought\":true");
    if let ReasoningSignature::Signed(signature) = &reasoning.signature {
        out.push_str(",\"thoughtSignature\":");
        signature.write(out);
    }
    out.push('}');
}

fn write_result(
    out: &mut String,
    identity: &CallIdentity<'_>,
    pieces: &[ContentPiece<'_>],
    failed: bool,
) -> Span {
    out.push_str("{\"functionResponse\":{");
    write_id_and_name(out, identity.id.as_deref(), &identity.name);
    out.push_str(",\"response\":");
    let start = out.len();
    out.push_str(if failed { "{\"error\":\"" } else { "{\"output\":\"" });
    for (at, text) in pieces.iter().filter_map(ContentPiece::text).enumerate() {
        out.push_str(if at == 0 { "" } else { "\\n" });
        text.write_unquoted(out);
    }
    out.push_str("\"}");
    let content = Span::new(start, out.len());
    // Media that was inside the result.
    let blocks = || {
        pieces.iter().filter_map(|piece| match piece {
            ContentPiece::Block(block) => Some(block),
            ContentPiece::Text(_) | ContentPiece::Generated(_) => None,
        })
    };
    if blocks().next().is_some() {
        out.push_str(",\"parts\":[");
        for block in blocks() {
            write_comma(out);
            out.push_str(block);
        }
        out.push(']');
    }
    out.push_str("}}");
    content
}

/// Writes a part of a reply for the next request.
pub(crate) fn write_turn_part(out: &mut String, content: &ContentPart<'_>) {
    write_comma(out);
    match content {
        ContentPart::Text(text) => write_text(out, text),
        // An empty text only carries the signature.
        ContentPart::Reasoning(ReasoningPart { text, signature }) if text.is_empty() => {
            out.push_str("{\"text\":\"\"");
            if let ReasoningSignature::Signed(signature) = signature {
                out.push_str(",\"thoughtSignature\":");
                signature.write(out);
            }
            out.push('}');
        }
        ContentPart::Reasoning(reasoning) => write_reasoning(out, reasoning),
        ContentPart::ToolCall(call) => {
            open_call(out, call.id.as_deref(), &call.name);
            write_arguments_object(out, call);
            close_call(out, call.signature.as_ref());
        }
        ContentPart::Media(_) | ContentPart::ToolResult(_) | ContentPart::Unknown(_) => {}
    }
}
