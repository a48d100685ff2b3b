//! Which of our environment variables a child process sees.

use std::ffi::OsString;

/// Variables that every program may see: it needs them to run.
const VISIBLE_VARIABLES: [&str; 15] = [
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
const VISIBLE_PREFIXES: [&str; 2] = ["LC_", "SSL_"];

/// The environment variables that a child process gets, plus those that `more` allows. Keys are
/// withheld.
pub fn visible_environment(
    all: impl Iterator<Item = (OsString, OsString)>,
    more: impl Fn(&str) -> bool,
) -> impl Iterator<Item = (OsString, OsString)> {
    all.filter(move |(name, _)| {
        let Some(name) = name.to_str() else { return false };
        VISIBLE_VARIABLES.contains(&name)
            || VISIBLE_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || more(name)
    })
}
