//! What pictures, documents and sounds cost.
//!
//! A picture goes by its width and height, which stand in its first bytes; nothing else of it is
//! decoded. Each provider scales pictures down before it looks, and then counts tiles or patches: a
//! [`Vision`] is that rule, as data. A picture whose size cannot be told (an address, an id, a format
//! we do not read) counts as one of 1600 × 1200 pixels. What is no picture goes by its bytes, and
//! nothing counts more than 100 000 tokens. Whatever the bytes say, there is a number.

mod base64;
mod header;

use header::Found;

use crate::{counting::Counting, estimate::Family, vocabulary::Vocabulary};

/// A picture whose size cannot be told counts as one of this size.
const USUAL: (u64, u64) = (1600, 1200);

/// No side is taken to be longer; keeps every product far from overflow.
const LONGEST: u64 = 1 << 20;

/// Nothing counts more.
const MOST: u64 = 100_000;

/// Bytes that tell the size of a picture; JPEG hides it behind previews and colour profiles.
const HEAD: usize = 64;
const JPEG_HEAD: usize = 64 * 1024;

/// How a model looks at pictures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Vision {
    /// Fitted into 2048 × 2048, the shorter side brought down to 768, cut into tiles of 512.
    Tiles {
        /// Tokens of every picture.
        base: u32,
        /// Tokens of each tile.
        tile: u32,
    },
    /// Scaled down until its longer side and its number of patches fit.
    Patches {
        /// Pixels of a patch's side.
        side: u32,
        /// Pixels of the longer side, at most.
        edge: u32,
        /// Patches, at most.
        most: u32,
        /// Tokens for a hundred patches.
        percent: u32,
    },
    /// Gemini 2: small pictures are one tile, others are cut along their shorter side.
    Crops {
        /// Tokens of each tile.
        tile: u32,
    },
    /// The same for every picture.
    Flat(u32),
}

impl Vision {
    /// GPT-4o, GPT-4.1 and GPT-4 Turbo.
    pub const GPT_4O: Vision = Vision::Tiles { base: 85, tile: 170 };
    /// GPT-4o mini, whose pictures cost as much money as those of GPT-4o.
    pub const GPT_4O_MINI: Vision = Vision::Tiles { base: 2833, tile: 5667 };
    /// The o-series.
    pub const O_SERIES: Vision = Vision::Tiles { base: 75, tile: 150 };
    /// GPT-5 to 5.2.
    pub const GPT_5: Vision = Vision::Tiles { base: 70, tile: 140 };
    /// The small models of GPT-4.1 and GPT-5, and o4-mini; the most expensive of their factors.
    pub const SMALL_GPT: Vision =
        Vision::Patches { side: 32, edge: 2048, most: 1536, percent: 246 };
    /// GPT-5.4 and later, where a picture is read in its own size.
    pub const GPT_5_4: Vision =
        Vision::Patches { side: 32, edge: 6000, most: 10_000, percent: 120 };
    /// Claude up to 4.6.
    pub const EARLY_CLAUDE: Vision =
        Vision::Patches { side: 28, edge: 1568, most: 1600, percent: 100 };
    /// Claude since Opus 4.7.
    pub const CLAUDE: Vision = Vision::Patches { side: 28, edge: 2576, most: 4784, percent: 100 };
    /// Gemini 1.5 to 2.5.
    pub const GEMINI: Vision = Vision::Crops { tile: 258 };
    /// Gemini 3, with its default resolution.
    pub const GEMINI_3: Vision = Vision::Flat(1120);

    /// How models that are counted this way mostly look at pictures.
    pub fn of(counting: Counting) -> Vision {
        match counting {
            Counting::Exact(
                Vocabulary::O200k | Vocabulary::Cl100k | Vocabulary::P50k | Vocabulary::R50k,
            ) => Vision::GPT_4O,
            Counting::Estimate(Family::EarlyClaude) => Vision::EARLY_CLAUDE,
            Counting::Estimate(Family::Gemini) => Vision::GEMINI,
            Counting::Exact(_) | Counting::Estimate(Family::Neutral | Family::Claude) => {
                Vision::CLAUDE
            }
        }
    }

    /// Tokens of what `data` stands for: base64 (with or without `data:…,` in front), an address,
    /// or an id.
    pub fn media(self, data: &str) -> u32 {
        let data = match data.strip_prefix("data:") {
            Some(rest) => rest.split_once(',').map_or("", |(_, data)| data),
            None => data,
        };
        let bytes = data.len() as u64 / 4 * 3;
        let tokens = match look(data) {
            Found::Picture { width, height } => self.picture(width, height),
            Found::Document => (bytes / 32).max(1500),
            Found::Sound => (bytes / 500).max(32),
            Found::Film => (bytes / 400).max(258),
            Found::Nothing => self.picture(USUAL.0, USUAL.1),
        };
        u32::try_from(tokens.min(MOST)).unwrap_or(u32::MAX)
    }

    /// Tokens of a picture of that many pixels.
    fn picture(self, width: u64, height: u64) -> u64 {
        let (width, height) = (width.clamp(1, LONGEST), height.clamp(1, LONGEST));
        match self {
            Vision::Tiles { base, tile } => {
                let (width, height) = shrink(width, height, width.max(height), 2048);
                let (width, height) = shrink(width, height, width.min(height), 768);
                let tiles = width.div_ceil(512) * height.div_ceil(512);
                u64::from(base) + u64::from(tile) * tiles
            }
            Vision::Patches { side, edge, most, percent } => {
                let (width, height) = shrink(width, height, width.max(height), edge.into());
                let side = u64::from(side.max(1));
                let patches = width.div_ceil(side) * height.div_ceil(side);
                (patches.min(most.into()) * u64::from(percent)).div_ceil(100)
            }
            Vision::Crops { tile } if width.max(height) <= 384 => tile.into(),
            Vision::Crops { tile } => {
                let unit = (width.min(height) * 2 / 3).clamp(256, 768);
                u64::from(tile) * width.div_ceil(unit) * height.div_ceil(unit)
            }
            Vision::Flat(tokens) => tokens.into(),
        }
    }
}

/// Both sides scaled down so that one of them, `side`, is at most `most`.
fn shrink(width: u64, height: u64, side: u64, most: u64) -> (u64, u64) {
    if side <= most {
        return (width, height);
    }
    ((width * most / side).max(1), (height * most / side).max(1))
}

fn look(data: &str) -> Found {
    let head = base64::decode(data, HEAD);
    if header::is_jpeg(&head) {
        return header::jpeg(&base64::decode(data, JPEG_HEAD));
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
    fn pictures_are_scaled_and_cut_as_documented() {
        let table = [
            (Vision::GPT_4O, 1024, 1024, 765),
            (Vision::GPT_4O, 2048, 4096, 1105),
            (Vision::GPT_4O, 512, 512, 255),
            (Vision::GPT_4O, 1, 1, 255),
            (Vision::GPT_4O_MINI, 1024, 1024, 25_501),
            (Vision::GPT_5, 1024, 1024, 630),
            (Vision::GPT_5_4, 1024, 1024, 1229),
            (Vision::GPT_5_4, 1920, 1080, 2448),
            (Vision::GPT_5_4, 12_000, 12_000, 12_000),
            (Vision::EARLY_CLAUDE, 200, 200, 64),
            (Vision::EARLY_CLAUDE, 1000, 1000, 1296),
            (Vision::EARLY_CLAUDE, 3000, 3000, 1600),
            (Vision::CLAUDE, 1920, 1080, 2691),
            (Vision::CLAUDE, 8000, 8000, 4784),
            (Vision::GEMINI, 384, 384, 258),
            (Vision::GEMINI, 960, 540, 6 * 258),
            (Vision::GEMINI_3, 4000, 3000, 1120),
        ];
        for (vision, width, height, expected) in table {
            assert_eq!(vision.media(&png(width, height)), expected, "{vision:?} {width}×{height}");
        }
    }

    #[test]
    fn what_has_no_size_is_counted_as_a_usual_picture() {
        let addresses = ["https://example.org/cat.png", "file-abc123", "", "data:", "data:x,%"];
        for data in addresses {
            assert_eq!(Vision::GPT_4O.media(data), 765, "{data}");
            assert_eq!(Vision::EARLY_CLAUDE.media(data), 1600, "{data}");
            assert_eq!(Vision::CLAUDE.media(data), 2494, "{data}");
            assert_eq!(Vision::GEMINI.media(data), 1548, "{data}");
        }
        let address = format!("data:image/png;base64,{}", png(512, 512));
        assert_eq!(Vision::GPT_4O.media(&address), 255);
    }

    #[test]
    fn what_is_no_picture_goes_by_its_bytes() {
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
            let tokens = Vision::GPT_4O.media(&data);
            assert!(tokens.abs_diff(expected) <= 1, "{tokens} {expected}");
        }
    }

    #[test]
    fn absurd_sizes_and_cut_headers_have_a_bounded_count() {
        let all = Counting::all().map(Vision::of);
        let more = [Vision::GPT_4O_MINI, Vision::SMALL_GPT, Vision::GPT_5_4, Vision::GEMINI_3];
        for vision in all.chain(more) {
            for width in [0, 1, 2, 70_000, u32::MAX] {
                for height in [0, 1, 2, 70_000, u32::MAX] {
                    let whole = png(width, height);
                    for end in 0..=whole.len() {
                        let tokens = vision.media(whole.get(..end).unwrap_or_default());
                        assert!((1..=100_000).contains(&tokens), "{vision:?} {width}×{height}");
                    }
                }
            }
        }
    }
}
