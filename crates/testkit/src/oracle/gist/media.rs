//! Images, files and audio, identified by their content.

use serde_json::Value;

use super::super::reading::{field, text};
use crate::dialect::TestFormat;

/// An image, a file or audio.
#[derive(Clone, Debug)]
pub struct GistMedia {
    /// The bytes in base64, the URL, or the id with its provider.
    pub holds: String,
    /// The media type, such as `image/png`, if the document has it.
    pub kind: Option<String>,
}

/// A missing media type matches any other.
impl PartialEq for GistMedia {
    fn eq(&self, other: &GistMedia) -> bool {
        let both_known = self.kind.is_some() && other.kind.is_some();
        self.holds == other.holds && (!both_known || self.kind == other.kind)
    }
}

/// The media in an element of a content list.
pub(super) fn of(format: TestFormat, value: &Value) -> Option<GistMedia> {
    match format {
        TestFormat::Chat => chat(value),
        TestFormat::Responses => responses(value),
        TestFormat::Anthropic => anthropic(value),
        TestFormat::Gemini => gemini(value),
        TestFormat::Interactions => interactions(value),
        TestFormat::Bedrock => bedrock(value),
    }
}

fn chat(value: &Value) -> Option<GistMedia> {
    let inner = field(value, text(value, "type")?);
    match text(value, "type")? {
        "image_url" | "video_url" => {
            let inner = inner?;
            at(inner.as_str().or_else(|| text(inner, "url"))?)
        }
        "input_audio" => sound(inner?),
        "file" => {
            let inner = inner?;
            match (text(inner, "file_data"), text(inner, "file_id")) {
                (Some(data), _) => at(data),
                (None, id) => stored("openai", id?),
            }
        }
        _ => None,
    }
}

fn responses(value: &Value) -> Option<GistMedia> {
    let file = || stored("openai", text(value, "file_id")?);
    match text(value, "type")? {
        "input_image" | "computer_screenshot" => match text(value, "image_url") {
            Some(url) if !url.is_empty() => at(url),
            _ => file(),
        },
        "input_file" => match (text(value, "file_data"), text(value, "file_url")) {
            (Some(data), _) => at(data),
            (None, Some(url)) => at(url),
            (None, None) => file(),
        },
        "input_audio" => sound(field(value, "input_audio")?),
        _ => None,
    }
}

fn anthropic(value: &Value) -> Option<GistMedia> {
    if !matches!(text(value, "type"), Some("image" | "document")) {
        return None;
    }
    let source = field(value, "source")?;
    match text(source, "type")? {
        "base64" => Some(GistMedia {
            holds: text(source, "data")?.to_owned(),
            kind: text(source, "media_type").map(str::to_owned),
        }),
        "url" => at(text(source, "url")?),
        "file" => stored("anthropic", text(source, "file_id")?),
        _ => None,
    }
}

fn gemini(value: &Value) -> Option<GistMedia> {
    let kind = |object: &Value| text(object, "mimeType").map(str::to_owned);
    if let Some(data) = field(value, "inlineData") {
        return Some(GistMedia { holds: text(data, "data")?.to_owned(), kind: kind(data) });
    }
    let file = field(value, "fileData")?;
    let holds = text(file, "fileUri")?.to_owned();
    // The media type of a URL is only a guess.
    Some(GistMedia { holds, kind: None })
}

fn interactions(value: &Value) -> Option<GistMedia> {
    let media = ["image", "audio", "document", "video"];
    text(value, "type").filter(|kind| media.contains(kind))?;
    match (text(value, "data"), text(value, "uri")) {
        (Some(data), _) => {
            let kind = text(value, "mime_type").map(str::to_owned);
            Some(GistMedia { holds: data.to_owned(), kind })
        }
        (None, uri) => Some(GistMedia { holds: uri?.to_owned(), kind: None }),
    }
}

fn bedrock(value: &Value) -> Option<GistMedia> {
    let (name, body) = ["image", "audio", "video", "document"]
        .into_iter()
        .find_map(|name| Some((name, field(value, name)?)))?;
    let source = field(body, "source")?;
    if let Some(bytes) = text(source, "bytes") {
        let format = text(body, "format")?;
        let kind = match (name, format) {
            ("document", "pdf") => Some("application/pdf".to_owned()),
            ("document", _) | ("audio", "mp3") => None,
            (name, format) => Some(format!("{name}/{format}")),
        };
        return Some(GistMedia { holds: bytes.to_owned(), kind });
    }
    stored("bedrock", text(field(source, "s3Location")?, "uri")?)
}

fn sound(audio: &Value) -> Option<GistMedia> {
    Some(GistMedia { holds: text(audio, "data")?.to_owned(), kind: None })
}

/// A URL, which may be a data URL.
fn at(url: &str) -> Option<GistMedia> {
    let inside = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    Some(match inside {
        Some((kind, data)) => {
            let kind = kind.split(';').next().filter(|kind| !kind.is_empty());
            GistMedia { holds: data.to_owned(), kind: kind.map(str::to_owned) }
        }
        None => GistMedia { holds: url.to_owned(), kind: None },
    })
}

fn stored(by: &str, id: &str) -> Option<GistMedia> {
    Some(GistMedia { holds: format!("{id} at {by}"), kind: None })
}
