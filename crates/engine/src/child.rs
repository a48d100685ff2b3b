//! What every process that we start has in common: its group, its last words, what it is told, what
//! it sees of our environment.

mod group;
mod words;
mod input;

use std::ffi::OsString;

pub(crate) use group::{Force, signal};
pub(crate) use input::{Input, Unread};
pub(crate) use words::LastWords;
#[cfg(test)]
pub(crate) use words::WORDS;

/// Variables that every program may see: what it needs to run at all.
const SEEN: [&str; 15] = [
    "PATH",
    "HOME",
    "LANG",
    "TZ",
    "TMPDIR",
    "NODE_EXTRA_CA_CERTS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SYSTEMROOT",
];
const BEGINNINGS: [&str; 2] = ["LC_", "SSL_"];

/// What a process sees of our environment, beside what `more` lets through: keys stay here.
pub(crate) fn seen(
    all: impl Iterator<Item = (OsString, OsString)>,
    more: impl Fn(&str) -> bool,
) -> impl Iterator<Item = (OsString, OsString)> {
    all.filter(move |(name, _)| {
        let Some(name) = name.to_str() else { return false };
        SEEN.contains(&name)
            || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
            || more(name)
    })
}
