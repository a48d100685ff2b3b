//! Takes the wrapping off an error text: escapes, entities, colours, quotes, line breaks.

/// One character as its author meant it, and where it stands in the text we were given.
#[derive(Clone, Copy)]
pub(super) struct DecodedChar {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) char: char,
    /// The character is written as itself, not as an escape.
    pub(super) plain: bool,
}

/// The characters of a text, with backslash escapes and HTML entities read (however often they were escaped) and
/// terminal colours left out.
pub(super) struct DecodedChars<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> DecodedChars<'a> {
    /// Reads `text` from the byte `at` on; nothing, if that is not the beginning of a character.
    pub(super) fn new(text: &'a str, at: usize) -> Self {
        DecodedChars { text, at }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip(&mut self, wanted: &str) -> bool {
        let found = self.rest().starts_with(wanted);
        if found {
            self.at += wanted.len();
        }
        found
    }

    /// Reads what stands behind a backslash; `None` if the backslash only quotes what follows.
    fn read_escape(&mut self) -> Option<char> {
        while self.skip("\\") {}
        if self.skip("n") || self.skip("r") || self.skip("t") {
            return Some(' ');
        }
        let (head, digits) = match self.rest().as_bytes().first() {
            Some(b'u') => (1, 4),
            Some(b'x') => (1, 2),
            _ => return None,
        };
        let number = self.rest().get(head..head + digits).and_then(hexadecimal)?;
        self.at += head + digits;
        Some(char::from_u32(number).unwrap_or(' '))
    }

    /// Reads what stands behind an ampersand; a plain ampersand if it begins no entity.
    fn read_entity(&mut self) -> char {
        while self.skip("amp;") {}
        let end = self.rest().bytes().take(9).position(|byte| byte == b';');
        let Some(name) = end.and_then(|end| self.rest().get(..end)) else { return '&' };
        let char = match name {
            "quot" | "apos" | "lsquo" | "rsquo" | "ldquo" | "rdquo" | "grave" => Some('\''),
            "lt" | "gt" | "nbsp" | "hellip" => Some(' '),
            _ => match name.strip_prefix('#') {
                Some(number) => match number.strip_prefix(['x', 'X']) {
                    Some(number) => hexadecimal(number).and_then(char::from_u32),
                    None => number.parse().ok().and_then(char::from_u32),
                },
                None => None,
            },
        };
        if char.is_some() {
            self.at += name.len() + 1;
        }
        char.unwrap_or('&')
    }

    /// Passes over the rest of a terminal colour, behind its escape character.
    fn skip_color(&mut self) {
        if self.skip("[") {
            let parameters =
                self.rest().bytes().take_while(|byte| matches!(byte, b'0'..=b'?')).count();
            self.at += parameters;
            if matches!(self.rest().bytes().next(), Some(b'@'..=b'~')) {
                self.at += 1;
            }
        }
    }
}

impl Iterator for DecodedChars<'_> {
    type Item = DecodedChar;

    fn next(&mut self) -> Option<DecodedChar> {
        loop {
            let start = self.at;
            let char = self.rest().chars().next()?;
            self.at += char.len_utf8();
            let (char, plain) = match char {
                '\\' => match self.read_escape() {
                    Some(char) => (char, false),
                    None => continue,
                },
                '&' => (self.read_entity(), false),
                '\u{1b}' => {
                    self.skip_color();
                    continue;
                }
                char => (char, true),
            };
            return Some(DecodedChar { start, end: self.at, char, plain });
        }
    }
}

fn hexadecimal(digits: &str) -> Option<u32> {
    let all = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    all.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
}

/// The letters and digits of a text in lower case, and where each of them stands.
///
/// Quotes, white space, underscores and punctuation are gone: they are what log viewers, terminals and Markdown change.
pub(super) struct NormalizedText {
    letters: String,
    /// For each byte of `letters`: where its character begins and ends in the text.
    places: Vec<(usize, usize)>,
}

impl NormalizedText {
    pub(super) fn new(text: &str) -> Self {
        let mut squeezed =
            NormalizedText { letters: String::with_capacity(text.len()), places: Vec::new() };
        for glyph in DecodedChars::new(text, 0) {
            push_normalized(&mut squeezed.letters, glyph.char);
            squeezed.places.resize(squeezed.letters.len(), (glyph.start, glyph.end));
        }
        squeezed
    }

    /// Whether all fragments occur, one behind the other; `#` in a fragment stands for a number.
    /// `buffer` is scratch space.
    pub(super) fn contains_all(&self, fragments: &[&str], buffer: &mut String) -> bool {
        let mut rest = self.letters.as_str();
        fragments.iter().all(|fragment| {
            buffer.clear();
            fragment.chars().for_each(|char| match char {
                '#' => buffer.push('#'),
                char => push_normalized(buffer, char),
            });
            match after_fragment(rest, buffer) {
                Some(behind) => {
                    rest = behind;
                    true
                }
                None => false,
            }
        })
    }

    /// Where `words` begin and end in the text, each time they occur.
    pub(super) fn places_of(&self, words: &str) -> Vec<(usize, usize)> {
        let mut wanted = String::new();
        words.chars().for_each(|char| push_normalized(&mut wanted, char));
        let place = |at: usize| self.places.get(at).copied().unwrap_or_default();
        let found = self.letters.match_indices(wanted.as_str());
        found.map(|(at, _)| (place(at).0, place(at + wanted.len().saturating_sub(1)).1)).collect()
    }
}

/// What stands behind the first place that a fragment fits.
fn after_fragment<'a>(letters: &'a str, fragment: &str) -> Option<&'a str> {
    let Some((head, tail)) = fragment.split_once('#') else {
        return letters.split_once(fragment).map(|(_, behind)| behind);
    };
    let places = letters.match_indices(head).filter_map(|(at, _)| letters.get(at + head.len()..));
    places.into_iter().find_map(|rest| after_number(rest, tail))
}

/// What stands behind a number and the rest of a fragment.
fn after_number<'a>(letters: &'a str, tail: &str) -> Option<&'a str> {
    let rest = letters.trim_start_matches(|char: char| char.is_ascii_digit());
    if rest.len() == letters.len() {
        return None;
    }
    match tail.split_once('#') {
        Some((next, tail)) => after_number(rest.strip_prefix(next)?, tail),
        None => rest.strip_prefix(tail),
    }
}

fn push_normalized(letters: &mut String, char: char) {
    if char.is_alphanumeric() {
        letters.push(char.to_ascii_lowercase());
    }
}
