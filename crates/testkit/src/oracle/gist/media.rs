//! Images, files and sounds, by what they hold.

use serde_json::Value;

use super::super::reading::{field, text};
use crate::dialect::Dialect;

/// An image, a file, a sound.
#[derive(Clone, Debug)]
pub struct Media {
    /// Its bytes in base64, its address, or its id with its provider.
    pub holds: String,
    /// As `image/png`, if the document says so.
    pub kind: Option<String>,
}

/// A kind that is not told is no difference.
impl PartialEq for Media {
    fn eq(&self, other: &Media) -> bool {
        let told = self.kind.is_some() && other.kind.is_some();
        self.holds == other.holds && (!told || self.kind == other.kind)
    }
}

/// The media that an element of a content list is.
pub(super) fn of(dialect: Dialect, value: &Value) -> Option<Media> {
    match dialect {
        Dialect::Chat => chat(value),
        Dialect::Responses => responses(value),
        Dialect::Anthropic => anthropic(value),
        Dialect::Gemini => gemini(value),
        Dialect::Bedrock => bedrock(value),
    }
}

fn chat(value: &Value) -> Option<Media> {
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

fn responses(value: &Value) -> Option<Media> {
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

fn anthropic(value: &Value) -> Option<Media> {
    if !matches!(text(value, "type"), Some("image" | "document")) {
        return None;
    }
    let source = field(value, "source")?;
    match text(source, "type")? {
        "base64" => Some(Media {
            holds: text(source, "data")?.to_owned(),
            kind: text(source, "media_type").map(str::to_owned),
        }),
        "url" => at(text(source, "url")?),
        "file" => stored("anthropic", text(source, "file_id")?),
        _ => None,
    }
}

fn gemini(value: &Value) -> Option<Media> {
    let kind = |object: &Value| text(object, "mimeType").map(str::to_owned);
    if let Some(data) = field(value, "inlineData") {
        return Some(Media { holds: text(data, "data")?.to_owned(), kind: kind(data) });
    }
    let file = field(value, "fileData")?;
    let holds = text(file, "fileUri")?.to_owned();
    // The type of an address is a guess of whoever wrote it down.
    Some(Media { holds, kind: None })
}

fn bedrock(value: &Value) -> Option<Media> {
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
        return Some(Media { holds: bytes.to_owned(), kind });
    }
    stored("bedrock", text(field(source, "s3Location")?, "uri")?)
}

fn sound(audio: &Value) -> Option<Media> {
    Some(Media { holds: text(audio, "data")?.to_owned(), kind: None })
}

/// An address, which may hold the bytes itself.
fn at(url: &str) -> Option<Media> {
    let inside = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    Some(match inside {
        Some((kind, data)) => {
            let kind = kind.split(';').next().filter(|kind| !kind.is_empty());
            Media { holds: data.to_owned(), kind: kind.map(str::to_owned) }
        }
        None => Media { holds: url.to_owned(), kind: None },
    })
}

fn stored(by: &str, id: &str) -> Option<Media> {
    Some(Media { holds: format!("{id} at {by}"), kind: None })
}
