//! Rust source as a row of words and signs: enough to look for a name without being fooled by
//! comments, strings and tests.

/// A word or a sign, and its line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    pub(crate) line: usize,
}

/// The words and signs of a source. Comments are left out; a string or character is one `"`.
pub(crate) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut rest = source;
    let mut line = 1;
    let mut found = Vec::new();
    while let Some(first) = rest.chars().next() {
        let (length, text) = match first {
            '/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), None),
            '/' if rest.starts_with("/*") => (block_comment(rest), None),
            '"' => (1 + quoted(&rest[1..]), Some("\"")),
            '\'' => match character(rest) {
                Some(length) => (length, Some("\"")),
                None => (1, Some("'")),
            },
            'r' | 'b' | 'c' if raw_string(rest).is_some() => {
                (raw_string(rest).unwrap_or(1), Some("\""))
            }
            c if c.is_whitespace() => (c.len_utf8(), None),
            c if is_word(c) => {
                let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                (length, rest.get(..length))
            }
            ':' if rest.starts_with("::") => (2, Some("::")),
            c => (c.len_utf8(), rest.get(..c.len_utf8())),
        };
        found.extend(text.map(|text| Token { text, line }));
        let (done, next) = rest.split_at(length);
        line += done.matches('\n').count();
        rest = next;
    }
    found
}

/// Without the items that are compiled for tests only.
pub(crate) fn without_tests<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    const MARK: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let marked = MARK
            .iter()
            .enumerate()
            .all(|(offset, sign)| tokens.get(at + offset).is_some_and(|token| token.text == *sign));
        if marked {
            at = end_of_item(tokens, at + MARK.len());
        } else {
            kept.push(tokens[at]);
            at += 1;
        }
    }
    kept
}

/// One past the item that starts here: its `;`, or the brace that closes it.
fn end_of_item(tokens: &[Token<'_>], start: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        match token.text {
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            ";" if depth == 0 => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// Length of the rest of a string, with its closing quote.
fn quoted(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Length of a character literal; `None` for a lifetime.
fn character(text: &str) -> Option<usize> {
    let mut chars = text.char_indices().skip(1);
    let (_, first) = chars.next()?;
    if first == '\\' {
        chars.next()?;
        return chars.find(|(_, c)| *c == '\'').map(|(at, _)| at + 1);
    }
    chars.next().filter(|(_, c)| *c == '\'').map(|(at, _)| at + 1)
}

/// Length of a raw, byte or C string that starts here.
fn raw_string(text: &str) -> Option<usize> {
    let prefix = ["br", "cr", "r", "b", "c"].iter().find(|prefix| {
        text.strip_prefix(**prefix).is_some_and(|rest| rest.starts_with(['"', '#', '\'']))
    })?;
    let rest = text.get(prefix.len()..)?;
    if !prefix.ends_with('r') {
        return match rest.chars().next()? {
            '"' => Some(prefix.len() + 1 + quoted(&rest[1..])),
            '\'' => Some(prefix.len() + character(rest)?),
            _ => None,
        };
    }
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    let body = rest.get(hashes..)?.strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let length = body.find(&close).map_or(body.len(), |at| at + close.len());
    Some(prefix.len() + hashes + 1 + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(source: &str) -> String {
        let found = without_tests(&tokens(source));
        found.iter().map(|token| token.text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn comments_strings_and_tests_are_not_read() {
        let table = [
            ("a::b // c", "a :: b"),
            ("a /* b /* c */ d */ e", "a e"),
            (r#"f("a \" b", 'c', '\'', 'd: &'e str)"#, "f ( \" , \" , \" , ' d : & ' e str )"),
            ("r#\"a \" b\"# c b\"d\" br\"e\" r#type", "\" c \" \" r # type"),
            ("a; #[cfg(test)] mod tests; b", "a ; b"),
            ("a #[cfg(test)] mod tests { fn f() { {} } } b", "a b"),
        ];
        for (source, expected) in table {
            assert_eq!(row(source), expected, "{source}");
        }
    }

    #[test]
    fn tokens_know_their_line() {
        let found = tokens("a\n/* x\n */ \"s\ns\" b");
        let lines: Vec<usize> = found.iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 3, 4]);
    }
}
