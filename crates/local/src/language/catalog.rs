//! Sentences in English with their translations.

use std::collections::HashMap;

/// A table from English sentences to another language.
///
/// ```text
/// # A comment. One or more English sentences are followed by their translation.
/// call {} to {} has no result
/// = 对 {1} 的调用 {0} 没有结果
/// {#} finding
/// {#} findings
/// = {0} 个问题
/// ```
///
/// `{}` stands for any text, `{#}` for a number, `{~}` for the start or the end of a color. In a translation, `{0}` is the first value as it is,
/// and `{0!}` the first value translated.
#[derive(Debug, Default)]
pub struct Catalog {
    /// Sentences without holes.
    fixed: HashMap<Box<str>, Box<str>>,
    /// Sentences with holes, those with the longest fixed part first.
    patterns: Vec<SentencePattern>,
}

#[derive(Debug)]
struct SentencePattern {
    /// The text before the first hole.
    start: Box<str>,
    /// Every hole with the text after it.
    holes: Vec<(HoleKind, Box<str>)>,
    translation: Box<str>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum HoleKind {
    Text,
    Number,
    Style,
}

const HOLES: [(HoleKind, &str); 3] =
    [(HoleKind::Text, "{}"), (HoleKind::Number, "{#}"), (HoleKind::Style, "{~}")];

/// How deep translated values may be nested.
const MAX_DEPTH: usize = 6;

impl Catalog {
    /// Reads a table. Malformed entries are left out; tests find them.
    pub fn parse(tables: &[&str]) -> Catalog {
        let mut catalog = Catalog::default();
        for table in tables {
            let mut keys = Vec::new();
            for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
                match line.strip_prefix("= ") {
                    Some(translation) => {
                        keys.drain(..).for_each(|key| catalog.insert(key, translation))
                    }
                    None => keys.push(line),
                }
            }
        }
        catalog.patterns.sort_by_key(|pattern| std::cmp::Reverse(pattern.fixed_length()));
        catalog
    }

    /// Adds a sentence without holes.
    pub fn insert_fixed(&mut self, english: &str, translation: &str) {
        self.fixed.insert(english.into(), translation.into());
    }

    fn insert(&mut self, english: &str, translation: &str) {
        match SentencePattern::parse(english, translation) {
            Some(pattern) => self.patterns.push(pattern),
            None => self.insert_fixed(english, translation),
        }
    }

    /// The translation of a text; `None` if the catalog does not have it. White space around it is
    /// kept. A text such as `file: sentence` is translated sentence by sentence.
    pub fn translate(&self, text: &str) -> Option<String> {
        self.translate_at(text, 0)
    }

    fn translate_at(&self, text: &str, depth: usize) -> Option<String> {
        let sentence = text.trim();
        if sentence.is_empty() || depth > MAX_DEPTH {
            return None;
        }
        let translated =
            self.sentence(sentence, depth).or_else(|| self.around_colon(sentence, depth))?;
        let start = text.len() - text.trim_start().len();
        let end = text.trim_end().len();
        Some(format!("{}{translated}{}", text.get(..start)?, text.get(end..)?))
    }

    fn sentence(&self, sentence: &str, depth: usize) -> Option<String> {
        if let Some(translation) = self.fixed.get(sentence) {
            return Some(translation.to_string());
        }
        self.patterns.iter().find_map(|pattern| {
            let values = pattern.values(sentence)?;
            Some(self.fill(&pattern.translation, &values, depth))
        })
    }

    /// A known sentence after a colon or before one. What is not known is kept.
    fn around_colon(&self, text: &str, depth: usize) -> Option<String> {
        let split =
            |(at, colon): (usize, &str)| Some((text.get(..at)?, text.get(at + colon.len()..)?));
        let known_end = text.match_indices(": ").filter_map(split).find_map(|(before, after)| {
            let after = self.sentence(after, depth)?;
            let translated = self.translate_at(before, depth + 1);
            Some(format!("{}: {after}", translated.as_deref().unwrap_or(before)))
        });
        known_end.or_else(|| {
            text.rmatch_indices(": ").filter_map(split).find_map(|(before, after)| {
                Some(format!("{}: {after}", self.sentence(before, depth)?))
            })
        })
    }

    /// Puts values into the holes of a translation.
    fn fill(&self, translation: &str, values: &[&str], depth: usize) -> String {
        let mut text = String::new();
        let mut rest = translation;
        while let Some((before, (hole, after))) =
            rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
        {
            text.push_str(before);
            let value = hole.trim_end_matches('!').parse().ok().and_then(|n: usize| values.get(n));
            match value {
                Some(value) if hole.ends_with('!') => {
                    let translated = self.translate_at(value, depth + 1);
                    text.push_str(translated.as_deref().unwrap_or(value));
                }
                Some(value) => text.push_str(value),
                // Not a hole, but braces of the text.
                None => text.push_str(&format!("{{{hole}}}")),
            }
            rest = after;
        }
        text + rest
    }
}

impl SentencePattern {
    /// Splits a sentence at its holes; `None` if it has none.
    fn parse(english: &str, translation: &str) -> Option<SentencePattern> {
        let mut holes = Vec::new();
        let (start, mut rest) = english.split_at(next_hole(english)?);
        while !rest.is_empty() {
            let hole = HOLES.into_iter().find(|(_, hole)| rest.starts_with(hole));
            let (kind, after) =
                hole.and_then(|(kind, hole)| Some((kind, rest.strip_prefix(hole)?)))?;
            let (text, next) = after.split_at(next_hole(after).unwrap_or(after.len()));
            holes.push((kind, text.into()));
            rest = next;
        }
        Some(SentencePattern { start: start.into(), holes, translation: translation.into() })
    }

    fn fixed_length(&self) -> usize {
        let exact = self.holes.iter().filter(|(kind, _)| *kind != HoleKind::Text).count();
        self.start.len() + exact + self.holes.iter().map(|(_, text)| text.len()).sum::<usize>()
    }

    fn has_colon(&self) -> bool {
        self.holes.iter().any(|(_, text)| text.contains(": "))
    }

    /// The values in the holes, if the sentence has this form. No value is empty.
    fn values<'s>(&self, sentence: &'s str) -> Option<Vec<&'s str>> {
        let mut rest = sentence.strip_prefix(&*self.start)?;
        let mut values = Vec::with_capacity(self.holes.len());
        for (at, (kind, text)) in self.holes.iter().enumerate() {
            let is_last = at + 1 == self.holes.len();
            let end = match kind {
                HoleKind::Number => number_length(rest),
                HoleKind::Style => style_length(rest),
                // A color directly behind the text ends it.
                HoleKind::Text if text.is_empty() && !is_last => rest.find("\u{1b}[")?,
                HoleKind::Text if is_last => rest.len().checked_sub(text.len())?,
                HoleKind::Text => {
                    let first = rest.chars().next()?.len_utf8();
                    let ends = rest.get(first..)?.match_indices(&**text);
                    // The text may also be part of the value: `a, b, 3 more` before `, {#} more`.
                    let next = self.holes.get(at + 1);
                    let fits = |end: usize| is_number_before(rest.get(end + text.len()..), next);
                    ends.map(|(end, _)| end + first).find(|end| fits(*end))?
                }
            };
            let value = rest.get(..end).filter(|value| !value.is_empty())?;
            // A name at the start of a line is not part of the sentence after it.
            if at == 0 && self.start.is_empty() && value.contains(": ") && !self.has_colon() {
                return None;
            }
            values.push(value);
            rest = rest.get(end..)?.strip_prefix(&**text)?;
        }
        rest.is_empty().then_some(values)
    }
}

/// Whether a hole for a number, if the next one is, and the text after it fit here.
fn is_number_before(rest: Option<&str>, next: Option<&(HoleKind, Box<str>)>) -> bool {
    match (rest, next) {
        (Some(rest), Some((HoleKind::Number, text))) => {
            let length = number_length(rest);
            length > 0 && rest.get(length..).is_some_and(|after| after.starts_with(&**text))
        }
        (rest, _) => rest.is_some(),
    }
}

/// The length of the number at the start of a text. Its digits may be grouped.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is_number = |at: usize| {
        is_digit(at) || at > 0 && matches!(bytes.get(at), Some(b' ' | b',')) && is_digit(at + 1)
    };
    (0..bytes.len()).find(|&at| !is_number(at)).unwrap_or(bytes.len())
}

/// The length of the escape sequences at the start of a text.
fn style_length(text: &str) -> usize {
    let mut rest = text;
    while let Some((_, after)) = rest.strip_prefix("\u{1b}[").and_then(|it| it.split_once('m')) {
        rest = after;
    }
    text.len() - rest.len()
}

fn next_hole(text: &str) -> Option<usize> {
    HOLES.into_iter().filter_map(|(_, hole)| text.find(hole)).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
# A comment
call {} to {} has no result
= 对 {1} 的调用 {0} 没有结果

{#} finding
{#} findings
= {0} 个问题
Found {} in {}
= 在 {1} 中发现 {0!}
cannot be read
= 无法读取
the store failed
= 存储出错
{~}Fixed{~} {}
= {0}已修复{1} {2}
copied, {~}in {}{~}.
= 已复制，{0}用 {1}{2}。
{} kept, {} cut
= 保留 {0}，删去 {1}
{}, {#} more folders
= {0} 以及另外 {1} 个文件夹
";

    #[test]
    fn sentences_are_translated_with_their_values() {
        let catalog = Catalog::parse(&[TABLE]);
        let table = [
            ("call `a` to `b` has no result", Some("对 `b` 的调用 `a` 没有结果")),
            ("1 finding", Some("1 个问题")),
            ("12 000 findings", Some("12 000 个问题")),
            ("x findings", None),
            ("a, b, 80 more folders", Some("a, b 以及另外 80 个文件夹")),
            ("a, 7 b, 80 more folders", Some("a, 7 b 以及另外 80 个文件夹")),
            ("name: 3 kept, 1 cut", Some("name: 保留 3，删去 1")),
            ("Found 3 findings in a.json", Some("在 a.json 中发现 3 个问题")),
            ("  cannot be read\n", Some("  无法读取\n")),
            ("a: b: cannot be read", Some("a: b: 无法读取")),
            ("the store failed: cannot be read", Some("存储出错: 无法读取")),
            ("cannot be read: b: c", Some("无法读取: b: c")),
            ("a: b", None),
            ("\u{1b}[1mFixed\u{1b}[0m it", Some("\u{1b}[1m已修复\u{1b}[0m it")),
            (
                "copied, \u{1b}[1min 2 parts\u{1b}[0m.",
                Some("已复制，\u{1b}[1m用 2 parts\u{1b}[0m。"),
            ),
            ("xFixedy it", None),
            ("", None),
            (" kept, 1 cut", None),
            ("{0} kept, {1!} cut", Some("保留 {0}，删去 {1!}")),
        ];
        for (english, expected) in table {
            assert_eq!(catalog.translate(english).as_deref(), expected, "{english}");
        }
    }
}
