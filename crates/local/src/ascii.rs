//! Drawings in ASCII, for terminals in the C locale.

use std::{borrow::Cow, env, sync::OnceLock};

/// Whether the user chose a locale that has only ASCII. A locale that is not set says nothing: most
/// such terminals show UTF-8.
pub(crate) fn is_ascii_locale() -> bool {
    static IS_ASCII: OnceLock<bool> = OnceLock::new();
    *IS_ASCII.get_or_init(|| is_ascii(|name| env::var(name).ok()))
}

fn is_ascii(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(variable);
    let chosen = set.into_iter().find(|locale| !locale.is_empty());
    chosen.is_some_and(|locale| matches!(locale.as_str(), "C" | "POSIX"))
}

/// Text with the characters of drawings as ASCII, each in one column. Other text stays as it is.
pub(crate) fn to_ascii(text: &str) -> Cow<'_, str> {
    if text.is_ascii() { Cow::Borrowed(text) } else { text.chars().map(ascii_character).collect() }
}

fn ascii_character(c: char) -> char {
    match c {
        '╭' | '╰' | '├' | '┌' | '└' | '┬' | '┴' | '┼' | '╮' | '╯' => '+',
        '│' | '┃' => '|',
        '─' | '━' | '–' | '—' | '−' => '-',
        '▸' | '→' | '›' => '>',
        '←' | '‹' | '◂' => '<',
        '↑' | '▲' => '^',
        '↓' | '▼' => 'v',
        '·' | '•' | '░' => '.',
        '⋮' => ':',
        '…' => '~',
        '✓' => '+',
        '✗' | '×' => 'x',
        '○' => 'o',
        '⚠' => '!',
        '⊘' => '/',
        '▁' | '▂' | '▃' | '▄' | '▅' | '▆' | '▇' | '█' => '#',
        '“' | '”' => '"',
        '‘' | '’' => '\'',
        c => c,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::output::ConvertingWriter;

    #[test]
    fn only_a_chosen_locale_counts() {
        let of = |all: &str, lang: &str| {
            is_ascii(|name| match name {
                "LC_ALL" => Some(all.to_owned()),
                "LANG" => Some(lang.to_owned()),
                _ => None,
            })
        };
        assert!(of("C", "en_US.UTF-8") && of("", "POSIX"));
        assert!(!of("", "") && !of("C.UTF-8", "C") && !of("", "de_DE.UTF-8"));
    }

    #[test]
    fn drawings_become_ascii_and_text_stays() {
        let mut out = Vec::new();
        let mut writer = ConvertingWriter::new(&mut out, to_ascii);
        // A character may come in two pieces.
        for piece in "╭── 中文 ✓…".as_bytes().chunks(2) {
            writer.write_all(piece).unwrap();
        }
        assert_eq!(String::from_utf8(out).unwrap(), "+-- 中文 +~");
    }
}
