//! Writes the parts that both kinds of lists share.

use foxwedge_core::Format;
use foxwedge_json::quote;

use super::ListEncoder;
use crate::conversation::{
    ContentPart, JsonText, LossKind, MediaPart, MediaSource, ModelPart, PartIndex, ReasoningPart,
    ReasoningSignature, ToolCallPart, ToolResultPart,
    encode::{omitted_media_text, write_arguments_object},
    media::{likely_type, titled_document},
};

/// How a kind of list names what is not content.
pub(super) struct PartNames {
    /// The field of what belongs to one provider.
    pub(super) provider: &'static str,
    /// The field with the data or the URL of a file.
    pub(super) file: &'static str,
}

impl<'h, 'a> ListEncoder<'h, 'a> {
    /// Writes a part that is neither a call nor a result. Returns `false` if the list cannot hold it.
    pub(super) fn write_content(
        &mut self,
        out: &mut String,
        at: PartIndex,
        part: &'h ModelPart<'a>,
        names: &PartNames,
    ) -> bool {
        match part.content() {
            ContentPart::Text(text) => write_text(out, text),
            ContentPart::Media(media) => {
                let written = self.file(at, media, names);
                out.push_str(&written);
            }
            ContentPart::Reasoning(reasoning) => match self.reasoning(at, part, reasoning, names) {
                Some(written) => out.push_str(&written),
                None => return false,
            },
            ContentPart::Unknown(other) => {
                let name = if other.name.is_empty() { "a value" } else { &other.name };
                let note = format!("`{name}` has no equivalent in this format");
                self.record_loss(at, LossKind::Unknown, note);
                return false;
            }
            ContentPart::ToolCall(_) | ContentPart::ToolResult(_) => return false,
        }
        self.record_note_losses(at);
        true
    }

    /// A file, or a text in its place.
    fn file(&mut self, at: PartIndex, media: &MediaPart<'_>, names: &PartNames) -> String {
        let media_type = likely_type(media);
        let data = match &media.source {
            MediaSource::Data(data) if names.file == "url" => {
                format!("data:{media_type};base64,{data}")
            }
            MediaSource::Data(data) => data.to_string(),
            MediaSource::Url(url) => url.to_string(),
            MediaSource::Text(text) => {
                let text = titled_document(media.name.as_deref(), text);
                return format!("{{\"type\":\"text\",\"text\":{}}}", quote(&text));
            }
            MediaSource::Stored { .. } => {
                let text = self.omit(at, media);
                return format!("{{\"type\":\"text\",\"text\":{}}}", quote(&text));
            }
        };
        let (media_type, data, key) = (quote(media_type), quote(&data), names.file);
        let name = media.name.as_deref();
        let name = name.map_or_else(String::new, |name| format!(",\"filename\":{}", quote(name)));
        format!("{{\"type\":\"file\",\"mediaType\":{media_type},\"{key}\":{data}{name}}}")
    }

    /// Records media that is left out. Returns the text in its place.
    pub(super) fn omit(&mut self, at: PartIndex, media: &MediaPart<'_>) -> String {
        let what = media.kind.name();
        let note = format!("the {what} is not supported in this format");
        self.record_loss(at, LossKind::Media, note);
        omitted_media_text(what)
    }

    /// Reasoning, with its proof where the SDK hands that to the same provider.
    fn reasoning(
        &mut self,
        at: PartIndex,
        part: &ModelPart<'_>,
        reasoning: &ReasoningPart<'_>,
        names: &PartNames,
    ) -> Option<String> {
        let provider = match part.origin().map(|origin| origin.wire) {
            Some(Format::Anthropic) => Some("anthropic"),
            Some(Format::Bedrock) => Some("bedrock"),
            _ => None,
        };
        let proof = match (provider, &reasoning.signature) {
            (Some(provider), ReasoningSignature::Signed(signature)) => {
                Some((provider, "signature", signature))
            }
            (Some(provider), ReasoningSignature::Redacted(data)) => {
                Some((provider, "redactedData", data))
            }
            _ => None,
        };
        if proof.is_none() && reasoning.is_provider_bound() {
            let (kind, note) = match reasoning.text.is_empty() {
                true => (LossKind::Reasoning, "encrypted reasoning cannot be converted"),
                false => (LossKind::Signature, "reasoning loses its signature"),
            };
            self.record_loss(at, kind, note);
            if reasoning.text.is_empty() {
                return None;
            }
        }
        let mut out = String::from("{\"type\":\"reasoning\",\"text\":");
        reasoning.text.write(&mut out);
        if let Some((provider, key, value)) = proof {
            out.push_str(&format!(",\"{}\":{{\"{provider}\":{{\"{key}\":", names.provider));
            value.write(&mut out);
            out.push_str("}}");
        }
        out.push('}');
        Some(out)
    }

    /// Writes the input of a call: an object, or the text of a free-text tool.
    pub(super) fn write_input(&mut self, out: &mut String, at: PartIndex, call: &ToolCallPart<'_>) {
        if call.is_free_text() {
            call.arguments.write(out);
        } else if let Some(note) = write_arguments_object(out, call) {
            self.record_loss(at, LossKind::Arguments, note);
        }
    }

    /// The text of a result. Other content is replaced by a note.
    pub(super) fn result_text(&mut self, at: PartIndex, result: &ToolResultPart<'_>) -> String {
        let mut text = String::new();
        for part in &result.parts {
            let line = match part.content() {
                ContentPart::Text(line) => line.to_string(),
                ContentPart::Media(MediaPart { source: MediaSource::Text(line), name, .. }) => {
                    titled_document(name.as_deref(), line).into_owned()
                }
                ContentPart::Media(media) => self.omit(at, media),
                ContentPart::Unknown(other) => other.json.to_string(),
                _ => continue,
            };
            text.push_str(if text.is_empty() { "" } else { "\n" });
            text.push_str(&line);
        }
        text
    }
}

pub(super) fn write_text(out: &mut String, text: &JsonText<'_>) {
    out.push_str("{\"type\":\"text\",\"text\":");
    text.write(out);
    out.push('}');
}
