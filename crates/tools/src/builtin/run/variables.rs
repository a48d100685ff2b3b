//! The variables that a command sees: ours, without those that look like secrets, and some that
//! keep programs from talking to a terminal that is not there.

use std::ffi::OsString;

/// Words in the names of variables that hold secrets.
const SECRET: [&str; 6] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"];
/// Wishes for colours that nobody sees.
const NOT_WANTED: [&str; 3] = ["FORCE_COLOR", "CLICOLOR_FORCE", "COLORTERM"];
/// No colours, no pagers, no questions.
const SET: [(&str, &str); 9] = [
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("CLICOLOR", "0"),
    ("CARGO_TERM_COLOR", "never"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("DEBIAN_FRONTEND", "noninteractive"),
];

/// What a command sees of these.
pub(super) fn seen(all: impl Iterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let is_seen = |name: &OsString| {
        let name = name.to_string_lossy().to_ascii_uppercase();
        !SECRET.iter().any(|word| name.contains(word)) && !NOT_WANTED.contains(&name.as_str())
    };
    let seen = all.filter(|(name, _)| is_seen(name));
    // The last of two with one name counts.
    seen.chain(SET.map(|(name, value)| (name.into(), value.into()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_seen_and_nothing_is_coloured() {
        let table = [
            ("PATH", true),
            ("HOME", true),
            ("LANG", true),
            ("FOXWEDGE_CALL", true),
            ("OPENAI_API_KEY", false),
            ("github_token", false),
            ("Client_Secret_2", false),
            ("PGPASSWORD", false),
            ("MYSQL_PASSWD", false),
            ("GOOGLE_APPLICATION_CREDENTIALS", false),
            ("FORCE_COLOR", false),
        ];
        for (name, expected) in table {
            let all = [(OsString::from(name), OsString::from("x"))];
            let seen = seen(all.into_iter());
            assert_eq!(seen.iter().any(|(one, _)| one == name), expected, "{name}");
            assert!(seen.iter().any(|(name, value)| name == "TERM" && value == "dumb"));
        }
    }
}
