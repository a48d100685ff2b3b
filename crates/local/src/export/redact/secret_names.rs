//! Secrets that are recognized by their name: `password=…`, `"token": "…"`, `Bearer …`.

use std::ops::Range;

use super::{find::count_while, secret_values};

/// Max length of a name.
const MAX_NAME_LENGTH: usize = 64;

/// Max bytes inspected to recognize a secret value.
const MAX_INSPECTED: usize = 128;

/// How certain it is that a value follows the name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AssignmentContext {
    /// In code or prose, where a name can mean many things.
    Weak,
    /// In an environment variable, a query or an option: a value follows.
    Strong,
}

/// Matches the token after `Bearer`.
pub(super) fn match_bearer(text: &str, at: usize) -> Option<Range<usize>> {
    let word = text.get(at..at + 7).filter(|word| word.eq_ignore_ascii_case("bearer "))?;
    let from = at + word.len();
    let length = count_while(text, from, usize::MAX, |byte| {
        byte.is_ascii_alphanumeric() || b"._~+/=-".contains(&byte)
    });
    let token = text.get(from..from + length)?.trim_end_matches('.');
    let digit = token.bytes().any(|byte| byte.is_ascii_digit());
    (token.len() >= 20 || digit && token.len() >= 8).then(|| from..from + token.len())
}

/// Matches the value assigned to the name of a secret.
pub(super) fn match_assignment(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let length = count_while(text, at, MAX_NAME_LENGTH, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
    });
    let name = text.get(at..at + length)?;
    let names_secret = is_secret_name(name) || is_key(name) && follows_key_word(text, at);
    if !names_secret {
        return None;
    }
    let option = text.get(..at)?.ends_with("--");
    let before = at.checked_sub(1).map(|before| bytes[before]);
    let is_uppercase = name.len() > 3 && !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let strong = option || is_uppercase || matches!(before, Some(b'?' | b'&'));
    let context = if strong { AssignmentContext::Strong } else { AssignmentContext::Weak };

    // Skip the closing quotes of a quoted name. They may be escaped.
    let mut from = at + length;
    from += count_while(text, from, 4, |byte| matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b']'));
    let spaces = count_while(text, from, 8, is_space);
    let separator = count_while(text, from + spaces, 3, |byte| matches!(byte, b'=' | b':' | b'>'));
    if separator == 0 {
        return if option && spaces > 0 {
            match_value(text, from + spaces, name, context)
                .filter(|range| bytes[range.start] != b'-')
        } else {
            match_in_sentence(text, from)
        };
    }
    from += spaces + separator;
    from += count_while(text, from, 8, is_space);
    match_value(text, from, name, context)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Matches the value at a position, if it is a secret.
fn match_value(
    text: &str,
    at: usize,
    name: &str,
    context: AssignmentContext,
) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    // Byte strings and raw strings of programming languages.
    let prefix = count_while(text, at, 1, |byte| matches!(byte, b'b' | b'r' | b'f' | b'u'));
    let slashes = count_while(text, at + prefix, 3, |byte| byte == b'\\');
    let quote = bytes.get(at + prefix + slashes).filter(|byte| b"\"'`".contains(byte));
    if let Some(&quote) = quote {
        let from = at + prefix + slashes + 1;
        let length = count_while(text, from, usize::MAX, |byte| byte != quote && byte != b'\n');
        let inside = text.get(from..from + length)?.trim_end_matches('\\');
        let range = from..from + inside.len();
        return match_header(text, range.clone(), name)
            .or_else(|| secret_values::is_secret(name, inside).then_some(range));
    }
    let parts = || match_header(text, at..at + line_length(text, at), name);
    if let Some(range) = is_header(name).then(parts).flatten() {
        return Some(range);
    }
    let holds = |byte: u8| !byte.is_ascii_whitespace() && !b"\"'`,;&)<>}]|\\".contains(&byte);
    let length = char_boundary_length(text, at, count_while(text, at, MAX_INSPECTED, holds));
    let is_call = bytes.get(at + length).is_some_and(|byte| matches!(byte, b'<' | b'(' | b'|'));
    let ends = ['.', ':', '!', '?'];
    let head = text.get(at..at + length)?.trim_end_matches(ends);
    let whole = || text.get(at..at + count_while(text, at, usize::MAX, holds)).unwrap_or(head);
    let is_secret = !is_call && secret_values::is_bare_secret(name, head, context);
    is_secret.then(|| at..at + whole().trim_end_matches(ends).len())
}

/// Length of the rest of the line, up to a quote.
fn line_length(text: &str, at: usize) -> usize {
    const LONGEST: usize = 1_024;
    let inside = |byte| !matches!(byte, b'\n' | b'\r' | b'"' | b'\'' | b'\\');
    char_boundary_length(text, at, count_while(text, at, LONGEST, inside))
}

/// The length, reduced to a character boundary.
fn char_boundary_length(text: &str, at: usize, length: usize) -> usize {
    (0..=length).rev().find(|length| text.is_char_boundary(at + length)).unwrap_or(0)
}

/// Whether a name belongs to a header whose value has parts.
fn is_header(name: &str) -> bool {
    ends_with(name, "authorization") || ends_with(name, "cookie")
}

/// Matches the secret part of a header: the text after the scheme, or all cookies.
fn match_header(text: &str, range: Range<usize>, name: &str) -> Option<Range<usize>> {
    let inside = text.get(range.clone())?;
    if ends_with(name, "cookie") {
        return inside.contains('=').then_some(range);
    }
    let (scheme, secret) = inside.split_once(' ').filter(|_| ends_with(name, "authorization"))?;
    let known = ["bearer", "basic", "token", "digest", "apikey"];
    let secret = secret.split([' ', ',']).next()?;
    let open = !secret.starts_with(['$', '{', '<', '%', '*', '[']) && secret.len() >= 6;
    let from = range.start + scheme.len() + 1;
    (known.contains(&&*scheme.to_ascii_lowercase()) && open).then(|| from..from + secret.len())
}

/// Matches a long random text in the same sentence: `the token is 0f3c…`.
fn match_in_sentence(text: &str, at: usize) -> Option<Range<usize>> {
    const LONG: usize = 20;
    let mut from = at;
    for word in [" ", "is ", "was ", "(", "`", "'", "\""] {
        let here = text.get(from..).is_some_and(|rest| rest.starts_with(word));
        from += if here { word.len() } else { 0 };
    }
    (from > at).then_some(())?;
    let length = count_while(text, from, usize::MAX, |byte| {
        byte.is_ascii_alphanumeric() || b"+/_=-".contains(&byte)
    });
    let found = text.get(from..from + length).filter(|found| found.len() >= LONG)?;
    let digits = found.bytes().filter(u8::is_ascii_digit).count();
    (digits >= 3 && digits < found.len()).then(|| from..from + length)
}

/// Whether the value of a name is secret.
pub(super) fn is_secret_name(name: &str) -> bool {
    const ENDINGS: [&str; 16] = [
        "password",
        "passwd",
        "passphrase",
        "pwd",
        "secret",
        "token",
        "apikey",
        "accesskey",
        "secretkey",
        "privatekey",
        "signingkey",
        "encryptionkey",
        "credential",
        "credentials",
        "authorization",
        "cookie",
    ];
    // Pagination tokens and working directories are not secrets.
    const OTHERS: [&str; 5] = ["pagetoken", "nexttoken", "synctoken", "oldpwd", "stoptoken"];
    let ends = |ending: &&str| ends_with(name, ending);
    let short = matches!(name.rsplit(['_', '-', '.']).next(), Some("pass" | "PASS"));
    short || name != "PWD" && ENDINGS.iter().any(ends) && !OTHERS.iter().any(ends)
}

/// Whether a name ends with a word. Case and separators are ignored.
fn ends_with(name: &str, ending: &str) -> bool {
    let letters = name.bytes().rev().filter(u8::is_ascii_alphanumeric);
    let mut letters = letters.map(|byte| byte.to_ascii_lowercase());
    ending.bytes().rev().all(|byte| letters.next() == Some(byte))
}

fn is_key(name: &str) -> bool {
    name.eq_ignore_ascii_case("key")
}

/// Whether the word before `key` makes it a secret, as in `api key`.
fn follows_key_word(text: &str, at: usize) -> bool {
    let from = at.saturating_sub(12);
    let before = text.as_bytes().get(from..at).unwrap_or_default();
    let before = String::from_utf8_lossy(before).to_ascii_lowercase();
    let before = before.trim_end();
    ["api", "access", "secret", "private", "signing", "encryption"]
        .iter()
        .any(|word| before.ends_with(word))
}
