//! Matches e-mail and IP addresses, credentials in URLs, and home folders.

use std::ops::Range;

use super::find::count_while;

/// Matches an e-mail address around an `@`. It does not start before `free`.
pub(super) fn match_email(text: &str, at: usize, free: usize) -> Option<Range<usize>> {
    const LONGEST: usize = 64;
    let local = |byte: &&u8| byte.is_ascii_alphanumeric() || b"._%+-".contains(byte);
    let before = text.as_bytes().get(free..at)?;
    let length = before.iter().rev().take(LONGEST).take_while(local).count();
    let name = text.get(at - length..at)?.trim_start_matches(['.', '-', '+', '%']);
    let domain_length = count_while(text, at + 1, 253, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-')
    });
    let domain = text.get(at + 1..at + 1 + domain_length)?.trim_end_matches(['.', '-']);
    let (host, top) = domain.rsplit_once('.')?;
    let called = text.as_bytes().get(at + 1 + domain.len()) == Some(&b'(');
    let is_address = !name.is_empty()
        && name != "git"
        && !host.is_empty()
        && top.len() >= 2
        && top.bytes().all(|byte| byte.is_ascii_alphabetic())
        && !is_file_ending(top)
        && !called;
    is_address.then(|| at - name.len()..at + 1 + domain.len())
}

/// `icon@2x.png` and `getty@tty1.service` are not addresses.
fn is_file_ending(top: &str) -> bool {
    const ENDINGS: [&str; 14] = [
        "png", "jpg", "jpeg", "gif", "svg", "webp", "js", "ts", "json", "css", "html", "service",
        "socket", "timer",
    ];
    ENDINGS.contains(&top)
}

/// Matches name and password in a URL: `://name:password@host`.
pub(super) fn match_credentials(text: &str, at: usize) -> Option<Range<usize>> {
    text.get(at..)?.strip_prefix("://")?;
    let from = at + 3;
    let length = count_while(text, from, 512, |byte| {
        !byte.is_ascii_whitespace() && !b"/?#\"'`<>\\".contains(&byte)
    });
    let (user, _) = text.get(from..from + length)?.rsplit_once('@')?;
    let secret = match user.split_once(':') {
        Some((_, password)) => {
            !password.is_empty() && !password.starts_with(['$', '{', '<', '*', '['])
        }
        // A token instead of a name.
        None => user.len() >= 20 && user.bytes().any(|byte| byte.is_ascii_digit()),
    };
    secret.then(|| from..from + user.len())
}

/// Matches an IPv4 address, except local ones.
pub(super) fn match_ipv4(text: &str, at: usize) -> Option<Range<usize>> {
    let length = count_while(text, at, 24, |byte| byte.is_ascii_digit() || byte == b'.');
    let found = text.get(at..at + length)?.trim_end_matches('.');
    let numbers: Vec<u8> = found.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [a, b, c, d] = numbers.as_slice() else { return None };
    let local = matches!((a, b, c, d), (127, ..) | (_, 0, 0, 0) | (255, 255, 255, _));
    let next = text.get(at + found.len()..).unwrap_or_default().as_bytes();
    let joined = match next {
        [b'-' | b'+', letter, ..] => letter.is_ascii_alphabetic(),
        [byte, ..] => byte.is_ascii_alphanumeric() || *byte == b'_',
        [] => false,
    };
    (!local && !joined && !is_version(text, at)).then(|| at..at + found.len())
}

/// Whether four numbers are a version: `Chrome/120.0.6.71`, `version 1.2.3.4`, `lib-1.2.3.4`.
fn is_version(text: &str, at: usize) -> bool {
    let from = at.saturating_sub(16);
    let before = String::from_utf8_lossy(text.as_bytes().get(from..at).unwrap_or_default());
    if let Some(product) = before.strip_suffix('/') {
        let word = product.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        return word.starts_with(|c: char| c.is_ascii_uppercase());
    }
    if let Some(head) = before.strip_suffix(['-', '_', '.']) {
        return head.ends_with(|c: char| c.is_ascii_alphanumeric());
    }
    let words = before.to_ascii_lowercase();
    words.trim_end_matches([' ', ':', '=', '"']).ends_with("version")
}

/// Matches a home folder: `/home/name`, `/Users/name`, `C:\Users\name`.
pub(super) fn match_home_folder(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    // Backslashes may be escaped, once or more often.
    let slash = bytes.get(at).copied()?;
    let width = if slash == b'\\' { count_while(text, at, 4, |byte| byte == b'\\') } else { 1 };
    let rest = text.get(at + width..)?;
    let folder = ["home", "Users"].into_iter().find(|folder| rest.starts_with(folder))?;
    let after_folder = at + width + folder.len();
    let second = count_while(text, after_folder, width, |byte| byte == slash);
    (second == width).then_some(())?;
    let start = path_start(text, at, slash)?;
    let from = after_folder + second;
    let name = text.get(from..)?;
    let length = name.find(ends_folder_name).unwrap_or(name.len());
    let name = whole_name(name, length, slash);
    let is_user_name = !name.is_empty()
        && name.len() <= 64
        && !name.starts_with(['$', '{', '.', '~'])
        && !["Shared", "Public", "Default", "linuxbrew"].contains(&name);
    is_user_name.then(|| start..from + name.len())
}

fn ends_folder_name(c: char) -> bool {
    c.is_whitespace() || c.is_control() || "/\\\"'`:;,()[]{}<>|*?&=!#$%".contains(c)
}

/// The user name. On Windows it may contain a space, if the path continues after it.
fn whole_name(rest: &str, length: usize, slash: u8) -> &str {
    let short = rest.get(..length).unwrap_or_default();
    let space = |c: char| c != ' ' && ends_folder_name(c);
    let long = rest.char_indices().take(40).find(|(_, c)| space(*c));
    match long {
        Some((end, '\\')) if slash == b'\\' => rest.get(..end).unwrap_or(short),
        _ => short,
    }
}

/// Start of the path of a home folder; `None` if it is part of something else.
fn path_start(text: &str, at: usize, slash: u8) -> Option<usize> {
    let head = text.get(..at)?;
    let drive = |head: &str, tail: usize| {
        let letter = head.len().checked_sub(tail + 1)?;
        let alone = letter == 0 || !head.as_bytes()[letter - 1].is_ascii_alphanumeric();
        (head.as_bytes()[letter].is_ascii_alphabetic() && alone).then_some(letter)
    };
    if head.ends_with(':')
        && let Some(letter) = drive(head, 1)
    {
        return Some(letter);
    }
    if slash == b'\\' {
        return None;
    }
    for prefix in ["/mnt", ""] {
        let letter = drive(head, 0).filter(|letter| *letter > prefix.len());
        let before =
            letter.and_then(|letter| head.get(..letter - 1).zip(head.get(letter - 1..letter)));
        if let Some((before, "/")) = before
            && before.ends_with(prefix)
            && !ends_in_name(before.strip_suffix(prefix).unwrap_or(before))
        {
            return Some(before.len() - prefix.len());
        }
    }
    let head = head.strip_suffix("/var").unwrap_or(head);
    (!ends_in_name(head)).then_some(head.len())
}

/// Whether the text ends in a name: then what follows is part of a URL or of another folder.
fn ends_in_name(head: &str) -> bool {
    let last = head.bytes().next_back();
    last.is_some_and(|byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'~')
    })
}

/// Matches a home folder inside a name, as in agents' folders: `/-home-name-project`.
pub(super) fn match_home_slug(text: &str, at: usize) -> Option<Range<usize>> {
    let before = at.checked_sub(1).and_then(|before| text.as_bytes().get(before));
    matches!(before, Some(b'/' | b'\\')).then_some(())?;
    let rest = text.get(at..)?;
    let folder = ["-home-", "-Users-"].into_iter().find(|folder| rest.starts_with(folder))?;
    let name = count_while(text, at + folder.len(), 64, |byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.')
    });
    (name > 0).then(|| at..at + folder.len() + name)
}
