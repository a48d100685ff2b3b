//! Encodes Anthropic blocks.

use foxwedge_core::Span;

use super::{WIRE, open_call};
use crate::conversation::{
    ContentPart, JsonText, MediaKind, MediaPart, MediaSource, ReasoningPart, ReasoningSignature,
    ToolCallPart,
    call_id_map::CallIdentity,
    encode::{
        BlockEncodeFormat, CacheMarker, ContentPiece,
        json_writer::{write_comma, write_string},
        write_arguments_object, write_text_or_blocks,
    },
    media::short_name_of,
};
use foxwedge_json::quote;

pub(crate) const ENCODE_FORMAT: BlockEncodeFormat = BlockEncodeFormat {
    blocks: "content",
    model_role: "assistant",
    allows_string: true,
    text: write_text,
    media: encode_media,
    media_in_result: encode_media,
    reasoning: write_reasoning,
    call: (|out, identity| open_call(out, identity.id.as_deref(), &identity.name), close_call),
    answer: write_result,
    cache: CacheMarker::Field(",\"cache_control\":{\"type\":\"ephemeral\""),
    instructions: ("\"system\":", ""),
};

fn write_text(out: &mut String, text: &JsonText<'_>) {
    out.push_str("{\"type\":\"text\",\"text\":");
    text.write(out);
    out.push('}');
}

fn write_reasoning(out: &mut String, reasoning: &ReasoningPart<'_>) {
    match &reasoning.signature {
        ReasoningSignature::Redacted(data) => {
            out.push_str("{\"type\":\"redacted_thinking\",\"data\":");
            data.write(out);
        }
        ReasoningSignature::Signed(signature) => {
            out.push_str("{\"type\":\"thinking\",\"thinking\":");
            reasoning.text.write(out);
            out.push_str(",\"signature\":");
            signature.write(out);
        }
        ReasoningSignature::Unsigned | ReasoningSignature::Encrypted(_) => {
            out.push_str("{\"type\":\"thinking\",\"thinking\":");
            reasoning.text.write(out);
        }
    }
    out.push('}');
}

pub(super) fn encode_media(media: &MediaPart<'_>) -> Option<String> {
    let kind = match media.kind {
        MediaKind::Image => "image",
        MediaKind::File => "document",
        MediaKind::Audio | MediaKind::Video => return None,
    };
    let source = match &media.source {
        MediaSource::Data(data) => {
            let readable = match media.kind {
                MediaKind::Image => short_name_of(media).is_some(),
                _ => media.media_type.as_deref() == Some("application/pdf"),
            };
            let name = media.media_type.as_deref().filter(|_| readable)?;
            format!(
                "{{\"type\":\"base64\",\"media_type\":{},\"data\":{}}}",
                quote(name),
                quote(data)
            )
        }
        MediaSource::Text(text) if media.kind == MediaKind::File => {
            let data = quote(text);
            format!("{{\"type\":\"text\",\"media_type\":\"text/plain\",\"data\":{data}}}")
        }
        source if source.is_inline() => return None,
        MediaSource::Url(url) => format!("{{\"type\":\"url\",\"url\":{}}}", quote(url)),
        MediaSource::Text(_) | MediaSource::Stored { .. } => {
            let id = quote(media.source.stored_for(WIRE)?);
            format!("{{\"type\":\"file\",\"file_id\":{id}}}")
        }
    };
    let title = match &media.name {
        Some(name) if media.kind == MediaKind::File => format!(",\"title\":{}", quote(name)),
        _ => String::new(),
    };
    Some(format!("{{\"type\":\"{kind}\",\"source\":{source}{title}}}"))
}

fn close_call(out: &mut String, _: &ToolCallPart<'_>) {
    out.push('}');
}

fn write_result(
    out: &mut String,
    identity: &CallIdentity<'_>,
    pieces: &[ContentPiece<'_>],
    failed: bool,
) -> Span {
    out.push_str("{\"type\":\"tool_result\",\"tool_use_id\":");
    write_string(out, identity.id.as_deref().unwrap_or(""));
    out.push_str(",\"content\":");
    let start = out.len();
    write_text_or_blocks(out, pieces, write_text);
    let content = Span::new(start, out.len());
    out.push_str(if failed { ",\"is_error\":true" } else { "" });
    out.push('}');
    content
}

/// Writes a block of a reply for the next request.
pub(crate) fn write_turn_block(out: &mut String, content: &ContentPart<'_>) {
    write_comma(out);
    match content {
        ContentPart::Text(text) => write_text(out, text),
        ContentPart::Reasoning(reasoning) => write_reasoning(out, reasoning),
        ContentPart::ToolCall(call) => {
            open_call(out, call.id.as_deref(), &call.name);
            write_arguments_object(out, call);
            close_call(out, call);
        }
        ContentPart::Media(_) | ContentPart::ToolResult(_) | ContentPart::Unknown(_) => {}
    }
}
