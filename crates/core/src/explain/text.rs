//! Removes the wrapping of an error text: escapes, entities, colors, quotes, line breaks.

/// One decoded character and its position in the given text.
#[derive(Clone, Copy)]
pub(super) struct DecodedChar {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) char: char,
    /// The character is literal, not an escape.
    pub(super) plain: bool,
}

/// The characters of a text, with backslash escapes and HTML entities decoded (however often they
/// were escaped) and terminal colors removed.
pub(super) struct DecodedChars<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> DecodedChars<'a> {
    /// Reads `text` from byte `at` on; yields nothing if that is not a character boundary.
    pub(super) fn new(text: &'a str, at: usize) -> Self {
        DecodedChars { text, at }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip(&mut self, prefix: &str) -> bool {
        let found = self.rest().starts_with(prefix);
        if found {
            self.at += prefix.len();
        }
        found
    }

    /// Reads the rest of an escape after its backslash; `None` if the backslash only quotes the
    /// next character.
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

    /// Reads the rest of an entity after its ampersand; returns an ampersand if it is not an
    /// entity.
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

    /// Skips the rest of a terminal color after its escape character.
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

/// The letters and digits of a text in lower case, with their positions.
///
/// Quotes, white space, underscores and punctuation are removed: log viewers, terminals and
/// Markdown change them.
pub(super) struct NormalizedText {
    letters: String,
    /// The start and end in the text of the character of each byte of `letters`.
    places: Vec<(usize, usize)>,
}

impl NormalizedText {
    pub(super) fn new(text: &str) -> Self {
        let mut normalized =
            NormalizedText { letters: String::with_capacity(text.len()), places: Vec::new() };
        for decoded in DecodedChars::new(text, 0) {
            push_normalized(&mut normalized.letters, decoded.char);
            normalized.places.resize(normalized.letters.len(), (decoded.start, decoded.end));
        }
        normalized
    }

    /// Whether all fragments occur, one after the other; `#` in a fragment matches a number.
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
                Some(after) => {
                    rest = after;
                    true
                }
                None => false,
            }
        })
    }

    /// Whether a text such as `(500 in the messages, 11500 in the completion)` says that most of
    /// the tokens are reserved for the reply.
    pub(super) fn is_reply_larger_than_messages(&self) -> bool {
        let number_before = |phrase: &str| {
            let (before, _) = self.letters.split_once(phrase)?;
            let start = before.trim_end_matches(|char: char| char.is_ascii_digit()).len();
            before.get(start..)?.parse::<u64>().ok()
        };
        number_before("inthecompletion") > number_before("inthemessages")
    }

    /// The start and end of each occurrence of `phrase` in the text.
    pub(super) fn places_of(&self, phrase: &str) -> Vec<(usize, usize)> {
        let mut letters = String::new();
        phrase.chars().for_each(|char| push_normalized(&mut letters, char));
        let position = |at: usize| self.places.get(at).copied().unwrap_or_default();
        let found = self.letters.match_indices(letters.as_str());
        found
            .map(|(at, _)| (position(at).0, position(at + letters.len().saturating_sub(1)).1))
            .collect()
    }
}

/// The rest of the text after the first match of a fragment.
fn after_fragment<'a>(letters: &'a str, fragment: &str) -> Option<&'a str> {
    let Some((head, tail)) = fragment.split_once('#') else {
        return letters.split_once(fragment).map(|(_, after)| after);
    };
    let candidates =
        letters.match_indices(head).filter_map(|(at, _)| letters.get(at + head.len()..));
    candidates.into_iter().find_map(|rest| after_number(rest, tail))
}

/// The rest of the text after a number and the rest of a fragment.
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
