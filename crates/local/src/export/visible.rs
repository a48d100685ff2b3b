//! Replaces control characters and direction overrides by visible marks.

use std::borrow::Cow;

/// The text with line breaks as `\n` and a visible mark for every hidden character.
pub(super) fn make_visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| c == '\r' || is_hidden(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\r' if characters.peek() == Some(&'\n') => {}
            c if is_hidden(c) => push_mark(&mut out, c),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// The same, on one line.
pub(super) fn single_line(text: &str) -> String {
    make_visible(text).replace(['\n', '\t'], " ")
}

/// Whether a character is invisible or changes how other text is displayed. Joiners are not hidden:
/// many languages and emoji need them.
fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{feff}' => true,
        '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}' => true,
        '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control(),
    }
}

/// Adds the mark of a character: the name of a common control character, else its code point.
fn push_mark(out: &mut String, hidden: char) {
    let name = match hidden {
        '\0' => "NUL",
        '\u{7}' => "BEL",
        '\u{8}' => "BS",
        '\u{b}' => "VT",
        '\u{c}' => "FF",
        '\r' => "CR",
        '\u{1b}' => "ESC",
        '\u{7f}' => "DEL",
        other => return out.push_str(&format!("⟨U+{:04X}⟩", u32::from(other))),
    };
    out.push_str(&format!("⟨{name}⟩"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_become_visible() {
        let table = [
            ("plain\ttext\n", "plain\ttext\n"),
            ("a\r\nb\rc", "a\nb⟨CR⟩c"),
            ("\u{1b}[31mred\u{7f}\0", "⟨ESC⟩[31mred⟨DEL⟩⟨NUL⟩"),
            ("user\u{202e}txt.exe\u{2066}", "user⟨U+202E⟩txt.exe⟨U+2066⟩"),
            ("\u{1}\u{85}\u{200b}\u{e0041}", "⟨U+0001⟩⟨U+0085⟩⟨U+200B⟩⟨U+E0041⟩"),
            ("👩\u{200d}🚀 می\u{200c}خواهم", "👩\u{200d}🚀 می\u{200c}خواهم"),
        ];
        for (text, expected) in table {
            assert_eq!(make_visible(text), expected, "{text:?}");
        }
        assert_eq!(single_line("a\nb\tc"), "a b c");
    }
}
