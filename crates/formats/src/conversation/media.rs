//! Images, files, audio and video: their sources, and their names in each format.

use std::borrow::Cow;

use foxwedge_core::Format;

/// An image, a file, audio or video.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MediaPart<'a> {
    /// Kind of media.
    pub kind: MediaKind,
    /// Media type such as `image/png`, if known.
    pub media_type: Option<Cow<'a, str>>,
    /// Where the content is.
    pub source: MediaSource<'a>,
    /// File name.
    pub name: Option<Cow<'a, str>>,
}

/// Kind of media.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum MediaKind {
    /// An image.
    Image,
    /// Audio.
    Audio,
    /// Video.
    Video,
    /// A document of any other kind.
    File,
}

impl MediaKind {
    /// Name used in messages.
    pub fn name(self) -> &'static str {
        match self {
            MediaKind::Image => "image",
            MediaKind::Audio => "audio",
            MediaKind::Video => "video",
            MediaKind::File => "file",
        }
    }

    /// The kind that a media type belongs to.
    pub(crate) fn from_type(media_type: Option<&str>) -> MediaKind {
        match media_type.and_then(|name| name.split('/').next()) {
            Some("image") => MediaKind::Image,
            Some("audio") => MediaKind::Audio,
            Some("video") => MediaKind::Video,
            _ => MediaKind::File,
        }
    }
}

/// Where the content of media is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MediaSource<'a> {
    /// Inline, as base64.
    Data(Cow<'a, str>),
    /// Inline, as plain text.
    Text(Cow<'a, str>),
    /// At a public URL.
    Url(Cow<'a, str>),
    /// In the provider's file store.
    Stored {
        /// File id in that store.
        id: Cow<'a, str>,
        /// The format of that provider.
        wire: Format,
    },
}

impl<'a> MediaSource<'a> {
    /// The source for a URL, and the media type if it is a `data:` URL.
    pub(crate) fn from_url(url: Cow<'a, str>) -> (MediaSource<'a>, Option<Cow<'a, str>>) {
        let Some(comma) = data_url(&url) else { return (MediaSource::Url(url), None) };
        let (head, data) = match url {
            Cow::Borrowed(url) => (Cow::Borrowed(&url[..comma]), Cow::Borrowed(&url[comma + 1..])),
            Cow::Owned(url) => {
                (Cow::Owned(url[..comma].to_owned()), Cow::Owned(url[comma + 1..].to_owned()))
            }
        };
        (MediaSource::Data(data), media_type(head))
    }

    /// Whether it is a `data:` URL whose content is not base64.
    pub(crate) fn is_inline(&self) -> bool {
        matches!(self, MediaSource::Url(url) if url.get(..5).is_some_and(|prefix| prefix.eq_ignore_ascii_case("data:")))
    }

    /// The file id, if the target is a format of the provider that stores the file.
    pub(crate) fn stored_for(&self, target: Format) -> Option<&str> {
        let is_openai = |format| matches!(format, Format::OpenaiChat | Format::OpenaiResponses);
        let is_google = |format| matches!(format, Format::Gemini | Format::GeminiInteractions);
        match self {
            MediaSource::Stored { id, wire: format }
                if *format == target
                    || is_openai(*format) && is_openai(target)
                    || is_google(*format) && is_google(target) =>
            {
                Some(id)
            }
            _ => None,
        }
    }
}

/// Position of the comma of a `data:…;base64,` URL.
fn data_url(url: &str) -> Option<usize> {
    let comma = url.find(',')?;
    let head = url.get(..comma)?;
    let is_data = head.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"));
    (is_data && head.ends_with(";base64")).then_some(comma)
}

/// The media type in the head of a `data:` URL.
fn media_type(head: Cow<'_, str>) -> Option<Cow<'_, str>> {
    let end = head.find(';').unwrap_or(head.len());
    let name = |head: &str| head.get("data:".len()..end).map(str::to_owned);
    match head {
        Cow::Borrowed(head) => head.get("data:".len()..end).map(Cow::Borrowed),
        Cow::Owned(head) => name(&head).map(Cow::Owned),
    }
    .filter(|name| !name.is_empty())
}

/// Media types, and the short names that some formats use for them.
const FORMATS: [(MediaKind, &str, &str); 24] = [
    (MediaKind::Image, "image/png", "png"),
    (MediaKind::Image, "image/jpeg", "jpeg"),
    (MediaKind::Image, "image/gif", "gif"),
    (MediaKind::Image, "image/webp", "webp"),
    (MediaKind::Audio, "audio/wav", "wav"),
    (MediaKind::Audio, "audio/mpeg", "mp3"),
    (MediaKind::Audio, "audio/flac", "flac"),
    (MediaKind::Audio, "audio/ogg", "ogg"),
    (MediaKind::Audio, "audio/aac", "aac"),
    (MediaKind::Video, "video/mp4", "mp4"),
    (MediaKind::Video, "video/quicktime", "mov"),
    (MediaKind::Video, "video/x-matroska", "mkv"),
    (MediaKind::Video, "video/webm", "webm"),
    (MediaKind::Video, "video/mpeg", "mpeg"),
    (MediaKind::File, "application/pdf", "pdf"),
    (MediaKind::File, "text/csv", "csv"),
    (MediaKind::File, "application/msword", "doc"),
    (
        MediaKind::File,
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "docx",
    ),
    (MediaKind::File, "application/vnd.ms-excel", "xls"),
    (MediaKind::File, "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"),
    (MediaKind::File, "text/html", "html"),
    (MediaKind::File, "text/plain", "txt"),
    (MediaKind::File, "text/markdown", "md"),
    (MediaKind::File, "application/json", "json"),
];

/// The media type of a short name.
pub(crate) fn media_type_of(kind: MediaKind, format: &str) -> Option<&'static str> {
    let known = |row: &&(MediaKind, &str, &str)| row.0 == kind && row.2 == format;
    FORMATS.iter().find(known).map(|row| row.1)
}

/// The media type, or a guess from the extension of the URL or from the kind.
pub(crate) fn likely_type<'m>(media: &'m MediaPart<'_>) -> &'m str {
    let ending = || {
        let address = match &media.source {
            MediaSource::Url(address) | MediaSource::Stored { id: address, .. } => address,
            MediaSource::Data(_) | MediaSource::Text(_) => return None,
        };
        let path = address.split(['?', '#']).next().unwrap_or_default();
        let (_, ending) = path.rsplit_once('.')?;
        media_type_of(media.kind, if ending == "jpg" { "jpeg" } else { ending })
    };
    media.media_type.as_deref().or_else(ending).unwrap_or(match media.kind {
        MediaKind::Image => "image/png",
        MediaKind::Audio => "audio/wav",
        MediaKind::Video => "video/mp4",
        MediaKind::File => "application/pdf",
    })
}

/// The short name of a media type.
pub(crate) fn short_name_of(media: &MediaPart<'_>) -> Option<&'static str> {
    let name = media.media_type.as_deref()?;
    FORMATS.iter().find(|row| row.0 == media.kind && row.1 == name).map(|row| row.2)
}

/// The text of a document, with its title.
pub(crate) fn titled_document<'t>(name: Option<&str>, text: &'t str) -> Cow<'t, str> {
    match name {
        Some(name) => Cow::Owned(format!("{name}:\n\n{text}")),
        None => Cow::Borrowed(text),
    }
}

/// A name with only the characters that Bedrock accepts: letters, digits, single spaces, `-()[]`.
pub(crate) fn plain_document_name(name: Option<&str>) -> String {
    let mut plain = String::new();
    for character in name.unwrap_or("document").chars() {
        match character {
            c if c.is_ascii_alphanumeric() || "-()[]".contains(c) => plain.push(c),
            _ if plain.ends_with(' ') || plain.is_empty() => {}
            _ => plain.push(' '),
        }
    }
    let plain = plain.trim();
    if plain.is_empty() { "document".to_owned() } else { plain.to_owned() }
}

/// Whether a text is base64. The signatures of some formats are plain text.
pub(crate) fn is_base64(text: &str) -> bool {
    let inside = text.trim_end_matches('=');
    let padding = text.len() - inside.len();
    text.len().is_multiple_of(4)
        && padding <= 2
        && inside.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_urls_are_parsed() {
        let table = [
            ("data:image/png;base64,aGk=", MediaSource::Data("aGk=".into()), Some("image/png")),
            ("data:;base64,aGk=", MediaSource::Data("aGk=".into()), None),
            ("data:audio/wav;rate=8;base64,", MediaSource::Data("".into()), Some("audio/wav")),
            ("data:text/plain,hi", MediaSource::Url("data:text/plain,hi".into()), None),
            ("https://a.example/,b", MediaSource::Url("https://a.example/,b".into()), None),
        ];
        for (url, source, name) in table {
            for url in [Cow::Borrowed(url), Cow::Owned(url.to_owned())] {
                assert_eq!(MediaSource::from_url(url), (source.clone(), name.map(Cow::Borrowed)));
            }
        }
    }

    #[test]
    fn base64_is_detected() {
        for text in ["", "AAAA", "aGk=", "aA==", "+/+/"] {
            assert!(is_base64(text), "{text}");
        }
        for text in ["abc", "ab_-", "a===", "a b=", "====", "a=bc"] {
            assert!(!is_base64(text), "{text}");
        }
    }
}
