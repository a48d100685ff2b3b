//! Detects the type of a file and the size of an image from its first bytes.
//!
//! Bytes are read by position and may be missing: a truncated header is unknown.

/// The type of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MediaHeader {
    Image {
        width: u64,
        height: u64,
    },
    Document,
    Audio,
    Video,
    /// Unknown, or an image without a size.
    Unknown,
}

/// Reads any header except that of a JPEG.
pub(super) fn read(bytes: &[u8]) -> MediaHeader {
    let starts = |magic: &[u8]| bytes.starts_with(magic);
    let kind = bytes.get(8..12).unwrap_or_default();
    let size = if starts(b"\x89PNG\r\n\x1a\n") {
        read_big_endian(bytes, 16, 4).zip(read_big_endian(bytes, 20, 4))
    } else if starts(b"GIF8") {
        read_little_endian(bytes, 6, 2).zip(read_little_endian(bytes, 8, 2))
    } else if starts(b"RIFF") && kind == b"WEBP" {
        webp_size(bytes)
    } else if starts(b"%PDF") {
        return MediaHeader::Document;
    } else if starts(b"RIFF") && kind == b"WAVE" || is_audio(bytes) {
        return MediaHeader::Audio;
    } else if is_video(bytes, kind) {
        return MediaHeader::Video;
    } else {
        None
    };
    image_header(size)
}

/// Whether it is a JPEG, whose size is further into the file.
pub(super) fn is_jpeg(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xd8\xff")
}

/// Reads the size of a JPEG: walks its segments until one contains it.
pub(super) fn read_jpeg(bytes: &[u8]) -> MediaHeader {
    let mut at = 2;
    loop {
        let Some(&[mark, marker]) = bytes.get(at..at + 2) else { return MediaHeader::Unknown };
        match (mark, marker) {
            (0xff, 0xff) => at += 1,
            // Start of frame; the precision comes before the size.
            (0xff, 0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf) => {
                return image_header(read_big_endian(bytes, at + 7, 2).zip(read_big_endian(
                    bytes,
                    at + 5,
                    2,
                )));
            }
            // Markers without a segment.
            (0xff, 0x01 | 0xd0..=0xd8) => at += 2,
            // The image data, or its end: no size can follow.
            (0xff, 0xd9 | 0xda) => return MediaHeader::Unknown,
            (0xff, _) => match read_big_endian(bytes, at + 2, 2) {
                Some(length @ 2..) => at += 2 + length as usize,
                _ => return MediaHeader::Unknown,
            },
            _ => return MediaHeader::Unknown,
        }
    }
}

fn image_header(size: Option<(u64, u64)>) -> MediaHeader {
    match size {
        Some((width @ 1.., height @ 1..)) => MediaHeader::Image { width, height },
        _ => MediaHeader::Unknown,
    }
}

/// WebP has three encodings of its size.
fn webp_size(bytes: &[u8]) -> Option<(u64, u64)> {
    match bytes.get(12..16)? {
        b"VP8 " => {
            let (width, height) =
                (read_little_endian(bytes, 26, 2)?, read_little_endian(bytes, 28, 2)?);
            Some((width & 0x3fff, height & 0x3fff))
        }
        b"VP8L" => {
            let bits = read_little_endian(bytes, 21, 4)?;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8X" => {
            Some((read_little_endian(bytes, 24, 3)? + 1, read_little_endian(bytes, 27, 3)? + 1))
        }
        _ => None,
    }
}

fn is_audio(bytes: &[u8]) -> bool {
    let starts = |magic: &[u8]| bytes.starts_with(magic);
    let frame = matches!(bytes, [0xff, second, ..] if second & 0xe0 == 0xe0 && *second != 0xff);
    starts(b"ID3") || starts(b"OggS") || starts(b"fLaC") || frame
}

/// Whether it is MP4 or a related format, Matroska or WebM; not a still image in the same
/// container.
fn is_video(bytes: &[u8], brand: &[u8]) -> bool {
    let still: [&[u8]; 4] = [b"avif", b"heic", b"heix", b"mif1"];
    let boxed = bytes.get(4..8) == Some(b"ftyp".as_slice()) && !still.contains(&brand);
    boxed || bytes.starts_with(b"\x1a\x45\xdf\xa3")
}

/// A big-endian number of `count` bytes.
fn read_big_endian(bytes: &[u8], at: usize, count: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(count)?)?;
    Some(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// A little-endian number of `count` bytes.
fn read_little_endian(bytes: &[u8], at: usize, count: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(count)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const JPEG: &[u8] =
        b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc4\0\x03x\xff\xc2\0\x11\x08\x04\x38\x07\x80\x03";

    fn detect(bytes: &[u8]) -> MediaHeader {
        if is_jpeg(bytes) { read_jpeg(bytes) } else { read(bytes) }
    }

    #[test]
    fn headers_contain_the_size() {
        let size = |width, height| MediaHeader::Image { width, height };
        let table: [(&[u8], MediaHeader); 12] = [
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x07\x80\0\0\x04\x38\x08", size(1920, 1080)),
            (b"GIF89a\x80\x07\x38\x04", size(1920, 1080)),
            (b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x80\x07\x38\x04", size(1920, 1080)),
            (b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x7f\xc7\x0d\x01", size(1920, 1080)),
            (b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x7f\x07\0\x37\x04\0", size(1920, 1080)),
            (JPEG, size(1920, 1080)),
            (b"%PDF-1.4", MediaHeader::Document),
            (b"RIFF\0\0\0\0WAVEfmt ", MediaHeader::Audio),
            (b"\xff\xfb\x90", MediaHeader::Audio),
            (b"\0\0\0\x18ftypmp42", MediaHeader::Video),
            (b"\0\0\0\x18ftypheic", MediaHeader::Unknown),
            (b"BM\0\0", MediaHeader::Unknown),
        ];
        for (bytes, expected) in table {
            assert_eq!(detect(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn invalid_headers_are_unknown_and_do_not_panic() {
        let table: [&[u8]; 6] = [
            b"\xff\xd8\xff\xe0\0\0",
            b"\xff\xd8\xff\xe0\0\x01",
            b"\xff\xd8\xff\xe0\xff\xff",
            b"\xff\xd8\xff\xda\0\x04",
            b"\xff\xd8\xff\xc0\0\x11\x08\0\0\0\0",
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\0\0\0\0\0",
        ];
        for bytes in table {
            assert_eq!(detect(bytes), MediaHeader::Unknown, "{bytes:?}");
        }
        for end in 0..JPEG.len() - 1 {
            assert_eq!(detect(&JPEG[..end]), MediaHeader::Unknown, "{end}");
        }
        // Every byte of a header, with every value.
        for at in 0..JPEG.len() {
            for value in 0..=255 {
                let mut bytes = JPEG.to_vec();
                bytes[at] = value;
                detect(&bytes);
            }
        }
    }
}
