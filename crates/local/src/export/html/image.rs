//! Selects the media that is shown: images of known types with valid base64 data.

use foxwedge_formats::model::{MediaPart, MediaSource};

/// Image types that every browser supports and that cannot contain scripts.
const TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The media type and the data of an image that can be shown. Both are safe in an attribute.
pub(super) fn displayable_image<'m>(media: &'m MediaPart<'_>) -> Option<(&'static str, &'m str)> {
    let MediaSource::Data(data) = &media.source else { return None };
    let name = media.media_type.as_deref()?;
    let known = TYPES.into_iter().find(|known| *known == name)?;
    is_base64(data).then_some((known, &**data))
}

/// Whether a text is non-empty base64 with correct padding.
fn is_base64(data: &str) -> bool {
    let letters = data.trim_end_matches('=');
    let padding = data.len() - letters.len();
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    !letters.is_empty()
        && data.len().is_multiple_of(4)
        && padding <= 2
        && letters.bytes().all(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_valid_base64_is_shown() {
        let table = [
            ("aGVsbG8=", true),
            ("aGVsbG8h", true),
            ("aGVsbG8", false),
            ("aGVsbG8=\"", false),
            ("aGVs bG8=", false),
            ("a===", false),
            ("", false),
        ];
        for (data, expected) in table {
            assert_eq!(is_base64(data), expected, "{data}");
        }
    }
}
