//! Counts the tokens of images, documents, audio and video.
//!
//! An image is counted by its width and height, which are in its first bytes; nothing else of it is
//! decoded. Each provider scales images down, and then counts tiles or patches: an
//! [`ImageTokenRule`] describes that. An image of unknown size (a URL, an id, an unsupported
//! format) counts as one of 1600 × 1200 pixels. Other media are counted by their bytes. Nothing
//! counts more than 100 000 tokens, and every input has a count.

mod base64;
mod header;

use header::MediaHeader;

use crate::{counting::CountingMethod, estimate::TokenizerFamily, vocabulary::TokenVocabulary};

/// The assumed size of an image of unknown size.
const DEFAULT_SIZE: (u64, u64) = (1600, 1200);

/// The maximum length of a side; keeps every product far from overflow.
const MAX_SIDE: u64 = 1 << 20;

/// The maximum count.
const MAX_TOKENS: u64 = 100_000;

/// Bytes that contain the size of an image; in JPEG it comes after previews and color profiles.
const HEADER_BYTES: usize = 64;
const JPEG_HEADER_BYTES: usize = 64 * 1024;

/// How a model counts images.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ImageTokenRule {
    /// Scaled to fit 2048 × 2048, then to a shorter side of 768, then split into tiles of 512.
    Tiles {
        /// Tokens of every image.
        base: u32,
        /// Tokens of each tile.
        tile: u32,
    },
    /// Scaled down until its longer side and its number of patches fit.
    Patches {
        /// Side of a patch in pixels.
        side: u32,
        /// Maximum length of the longer side in pixels.
        edge: u32,
        /// Maximum number of patches.
        max_patches: u32,
        /// Tokens per hundred patches.
        percent: u32,
    },
    /// Gemini 2: small images are one tile, others are split along their shorter side.
    Crops {
        /// Tokens of each tile.
        tile: u32,
    },
    /// The same for every image.
    Flat(u32),
}

impl ImageTokenRule {
    /// GPT-4o, GPT-4.1 and GPT-4 Turbo.
    pub const GPT_4O: ImageTokenRule = ImageTokenRule::Tiles { base: 85, tile: 170 };
    /// GPT-4o mini, whose images cost as much money as those of GPT-4o.
    pub const GPT_4O_MINI: ImageTokenRule = ImageTokenRule::Tiles { base: 2833, tile: 5667 };
    /// The o-series.
    pub const O_SERIES: ImageTokenRule = ImageTokenRule::Tiles { base: 75, tile: 150 };
    /// GPT-5 to 5.2.
    pub const GPT_5: ImageTokenRule = ImageTokenRule::Tiles { base: 70, tile: 140 };
    /// The small models of GPT-4.1 and GPT-5, and o4-mini; with the highest of their factors.
    pub const SMALL_GPT: ImageTokenRule =
        ImageTokenRule::Patches { side: 32, edge: 2048, max_patches: 1536, percent: 246 };
    /// GPT-5.4 and later, which read an image at its own size.
    pub const GPT_5_4: ImageTokenRule =
        ImageTokenRule::Patches { side: 32, edge: 6000, max_patches: 10_000, percent: 120 };
    /// Claude up to 4.6.
    pub const EARLY_CLAUDE: ImageTokenRule =
        ImageTokenRule::Patches { side: 28, edge: 1568, max_patches: 1600, percent: 100 };
    /// Claude since Opus 4.7.
    pub const CLAUDE: ImageTokenRule =
        ImageTokenRule::Patches { side: 28, edge: 2576, max_patches: 4784, percent: 100 };
    /// Gemini 1.5 to 2.5.
    pub const GEMINI: ImageTokenRule = ImageTokenRule::Crops { tile: 258 };
    /// Gemini 3, with its default resolution.
    pub const GEMINI_3: ImageTokenRule = ImageTokenRule::Flat(1120);

    /// The rule that models with this counting method mostly use.
    pub fn of(counting: CountingMethod) -> ImageTokenRule {
        match counting {
            CountingMethod::Exact(
                TokenVocabulary::O200k
                | TokenVocabulary::Cl100k
                | TokenVocabulary::P50k
                | TokenVocabulary::R50k,
            ) => ImageTokenRule::GPT_4O,
            CountingMethod::Estimate(TokenizerFamily::EarlyClaude) => ImageTokenRule::EARLY_CLAUDE,
            CountingMethod::Estimate(TokenizerFamily::Gemini) => ImageTokenRule::GEMINI,
            CountingMethod::Exact(_)
            | CountingMethod::Estimate(TokenizerFamily::Neutral | TokenizerFamily::Claude) => {
                ImageTokenRule::CLAUDE
            }
        }
    }

    /// Tokens of the media in `data`: base64 (with or without a `data:…,` prefix), a URL, or an id.
    pub fn media_tokens(self, data: &str) -> u32 {
        let data = match data.strip_prefix("data:") {
            Some(rest) => rest.split_once(',').map_or("", |(_, data)| data),
            None => data,
        };
        let bytes = data.len() as u64 / 4 * 3;
        let tokens = match read_media_header(data) {
            MediaHeader::Image { width, height } => self.image_tokens(width, height),
            MediaHeader::Document => (bytes / 32).max(1500),
            MediaHeader::Audio => (bytes / 500).max(32),
            MediaHeader::Video => (bytes / 400).max(258),
            MediaHeader::Unknown => self.image_tokens(DEFAULT_SIZE.0, DEFAULT_SIZE.1),
        };
        u32::try_from(tokens.min(MAX_TOKENS)).unwrap_or(u32::MAX)
    }

    /// Tokens of an image of that size in pixels.
    fn image_tokens(self, width: u64, height: u64) -> u64 {
        let (width, height) = (width.clamp(1, MAX_SIDE), height.clamp(1, MAX_SIDE));
        match self {
            ImageTokenRule::Tiles { base, tile } => {
                let (width, height) = scale_down(width, height, width.max(height), 2048);
                let (width, height) = scale_down(width, height, width.min(height), 768);
                let tiles = width.div_ceil(512) * height.div_ceil(512);
                u64::from(base) + u64::from(tile) * tiles
            }
            ImageTokenRule::Patches { side, edge, max_patches, percent } => {
                let (width, height) = scale_down(width, height, width.max(height), edge.into());
                let side = u64::from(side.max(1));
                let patches = width.div_ceil(side) * height.div_ceil(side);
                (patches.min(max_patches.into()) * u64::from(percent)).div_ceil(100)
            }
            ImageTokenRule::Crops { tile } if width.max(height) <= 384 => tile.into(),
            ImageTokenRule::Crops { tile } => {
                let unit = (width.min(height) * 2 / 3).clamp(256, 768);
                u64::from(tile) * width.div_ceil(unit) * height.div_ceil(unit)
            }
            ImageTokenRule::Flat(tokens) => tokens.into(),
        }
    }
}

/// Scales both sides down so that one of them, `side`, is at most `max`.
fn scale_down(width: u64, height: u64, side: u64, max: u64) -> (u64, u64) {
    if side <= max {
        return (width, height);
    }
    ((width * max / side).max(1), (height * max / side).max(1))
}

fn read_media_header(data: &str) -> MediaHeader {
    let head = base64::decode(data, HEADER_BYTES);
    if header::is_jpeg(&head) {
        return header::read_jpeg(&base64::decode(data, JPEG_HEADER_BYTES));
    }
    header::read(&head)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32) -> String {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        base64::tests::encode(&bytes)
    }

    #[test]
    fn images_are_scaled_and_split_as_documented() {
        let table = [
            (ImageTokenRule::GPT_4O, 1024, 1024, 765),
            (ImageTokenRule::GPT_4O, 2048, 4096, 1105),
            (ImageTokenRule::GPT_4O, 512, 512, 255),
            (ImageTokenRule::GPT_4O, 1, 1, 255),
            (ImageTokenRule::GPT_4O_MINI, 1024, 1024, 25_501),
            (ImageTokenRule::GPT_5, 1024, 1024, 630),
            (ImageTokenRule::GPT_5_4, 1024, 1024, 1229),
            (ImageTokenRule::GPT_5_4, 1920, 1080, 2448),
            (ImageTokenRule::GPT_5_4, 12_000, 12_000, 12_000),
            (ImageTokenRule::EARLY_CLAUDE, 200, 200, 64),
            (ImageTokenRule::EARLY_CLAUDE, 1000, 1000, 1296),
            (ImageTokenRule::EARLY_CLAUDE, 3000, 3000, 1600),
            (ImageTokenRule::CLAUDE, 1920, 1080, 2691),
            (ImageTokenRule::CLAUDE, 8000, 8000, 4784),
            (ImageTokenRule::GEMINI, 384, 384, 258),
            (ImageTokenRule::GEMINI, 960, 540, 6 * 258),
            (ImageTokenRule::GEMINI_3, 4000, 3000, 1120),
        ];
        for (vision, width, height, expected) in table {
            assert_eq!(
                vision.media_tokens(&png(width, height)),
                expected,
                "{vision:?} {width}×{height}"
            );
        }
    }

    #[test]
    fn media_of_unknown_size_count_as_a_default_image() {
        let addresses = ["https://example.org/cat.png", "file-abc123", "", "data:", "data:x,%"];
        for data in addresses {
            assert_eq!(ImageTokenRule::GPT_4O.media_tokens(data), 765, "{data}");
            assert_eq!(ImageTokenRule::EARLY_CLAUDE.media_tokens(data), 1600, "{data}");
            assert_eq!(ImageTokenRule::CLAUDE.media_tokens(data), 2494, "{data}");
            assert_eq!(ImageTokenRule::GEMINI.media_tokens(data), 1548, "{data}");
        }
        let address = format!("data:image/png;base64,{}", png(512, 512));
        assert_eq!(ImageTokenRule::GPT_4O.media_tokens(&address), 255);
    }

    #[test]
    fn other_media_are_counted_by_their_bytes() {
        let data = |start: &[u8], length: usize| {
            let mut bytes = start.to_vec();
            bytes.resize(length, 7);
            base64::tests::encode(&bytes)
        };
        let table = [
            (data(b"%PDF-1.7\n", 320_000), 10_000),
            (data(b"%PDF-1.7\n", 100), 1500),
            (data(b"%PDF-1.7\n", 9_000_000), 100_000),
            (data(b"ID3\x04\0", 500_000), 1000),
            (data(b"RIFF\0\0\0\0WAVEfmt ", 500_000), 1000),
            (data(b"\0\0\0\x20ftypisom", 400_000), 1000),
        ];
        for (data, expected) in table {
            let tokens = ImageTokenRule::GPT_4O.media_tokens(&data);
            assert!(tokens.abs_diff(expected) <= 1, "{tokens} {expected}");
        }
    }

    #[test]
    fn absurd_sizes_and_cut_headers_have_a_bounded_count() {
        let all = CountingMethod::all().map(ImageTokenRule::of);
        let more = [
            ImageTokenRule::GPT_4O_MINI,
            ImageTokenRule::SMALL_GPT,
            ImageTokenRule::GPT_5_4,
            ImageTokenRule::GEMINI_3,
        ];
        for vision in all.chain(more) {
            for width in [0, 1, 2, 70_000, u32::MAX] {
                for height in [0, 1, 2, 70_000, u32::MAX] {
                    let whole = png(width, height);
                    for end in 0..=whole.len() {
                        let tokens = vision.media_tokens(whole.get(..end).unwrap_or_default());
                        assert!((1..=100_000).contains(&tokens), "{vision:?} {width}×{height}");
                    }
                }
            }
        }
    }
}
