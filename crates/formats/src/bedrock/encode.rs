//! Encodes Converse blocks.

use foxwedge_core::Span;

use super::{WIRE, open_call};
use crate::conversation::{
    JsonText, MediaKind, MediaPart, MediaSource, ReasoningPart, ReasoningSignature, ToolCallPart,
    call_id_map::CallIdentity,
    encode::{
        BlockEncodeFormat, CacheMarker, ContentPiece, json_writer::write_string, write_pieces,
    },
    media::{plain_document_name, short_name_of, titled_document},
};
use foxwedge_json::quote;

pub(crate) const ENCODE_FORMAT: BlockEncodeFormat = BlockEncodeFormat {
    blocks: "content",
    model_role: "assistant",
    allows_string: false,
    text: write_text,
    media: encode_media,
    media_in_result: encode_media,
    reasoning: write_reasoning,
    call: (|out, identity| open_call(out, identity.id.as_deref(), &identity.name), close_call),
    answer: write_result,
    cache: CacheMarker::Block("{\"cachePoint\":{\"type\":\"default\""),
    instructions: ("\"system\":", ""),
};

fn write_text(out: &mut String, text: &JsonText<'_>) {
    out.push_str("{\"text\":");
    text.write(out);
    out.push('}');
}

fn write_reasoning(out: &mut String, reasoning: &ReasoningPart<'_>) {
    out.push_str("{\"reasoningContent\":{");
    match &reasoning.signature {
        ReasoningSignature::Redacted(data) => {
            out.push_str("\"redactedContent\":");
            data.write(out);
        }
        ReasoningSignature::Signed(signature) => {
            out.push_str("\"reasoningText\":{\"text\":");
            reasoning.text.write(out);
            out.push_str(",\"signature\":");
            signature.write(out);
            out.push('}');
        }
        ReasoningSignature::Unsigned | ReasoningSignature::Encrypted(_) => {
            out.push_str("\"reasoningText\":{\"text\":");
            reasoning.text.write(out);
            out.push('}');
        }
    }
    out.push_str("}}");
}

fn encode_media(media: &MediaPart<'_>) -> Option<String> {
    if let (MediaKind::File, MediaSource::Text(words)) = (media.kind, &media.source) {
        let words = quote(&titled_document(media.name.as_deref(), words));
        return Some(format!("{{\"text\":{words}}}"));
    }
    let kind = match media.kind {
        MediaKind::Image => "image",
        MediaKind::Video => "video",
        MediaKind::File => "document",
        MediaKind::Audio => return None,
    };
    let format = short_name_of(media).filter(|format| *format != "json")?;
    let source = match &media.source {
        MediaSource::Data(data) => format!("{{\"bytes\":{}}}", quote(data)),
        source => {
            let uri = quote(source.stored_for(WIRE)?);
            format!("{{\"s3Location\":{{\"uri\":{uri}}}}}")
        }
    };
    // Documents must have a name.
    let name = match media.kind {
        MediaKind::File => {
            format!("\"name\":{},", quote(&plain_document_name(media.name.as_deref())))
        }
        _ => String::new(),
    };
    Some(format!("{{\"{kind}\":{{\"format\":\"{format}\",{name}\"source\":{source}}}}}"))
}

fn close_call(out: &mut String, _: &ToolCallPart<'_>) {
    out.push_str("}}");
}

fn write_result(
    out: &mut String,
    identity: &CallIdentity<'_>,
    pieces: &[ContentPiece<'_>],
    failed: bool,
) -> Span {
    out.push_str("{\"toolResult\":{\"toolUseId\":");
    write_string(out, identity.id.as_deref().unwrap_or(""));
    out.push_str(",\"content\":");
    let start = out.len();
    let is_blank =
        |piece: &ContentPiece<'_>| piece.text().is_some_and(|text| text.trim().is_empty());
    match (pieces.iter().all(is_blank), failed) {
        (false, _) => write_pieces(out, pieces, write_text),
        // An error must have content.
        (true, true) => out.push_str("[{\"text\":\"(no output)\"}]"),
        (true, false) => out.push_str("[]"),
    }
    let content = Span::new(start, out.len());
    out.push_str(if failed { ",\"status\":\"error\"" } else { "" });
    out.push_str("}}");
    content
}
