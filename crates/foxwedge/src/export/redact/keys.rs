//! Secrets that have a form of their own.

use std::ops::Range;

use super::find::run;

/// How the rest of a token is spelled.
#[derive(Clone, Copy)]
enum Tail {
    /// Letters and digits.
    Plain,
    /// Letters, digits, `_` and `-`.
    Wide,
    /// Letters, digits, `_`, `-` and `.`.
    Dotted,
    /// Capital letters and digits.
    Capital,
}

/// Beginnings of tokens that providers give out, and how long the rest is at least.
const TOKENS: [(&str, Tail, usize); 42] = [
    ("sk-", Tail::Wide, 16),
    ("sk_live_", Tail::Plain, 12),
    ("sk_test_", Tail::Plain, 12),
    ("rk_live_", Tail::Plain, 12),
    ("whsec_", Tail::Plain, 16),
    ("AKIA", Tail::Capital, 16),
    ("ASIA", Tail::Capital, 16),
    ("ghp_", Tail::Plain, 20),
    ("gho_", Tail::Plain, 20),
    ("ghu_", Tail::Plain, 20),
    ("ghs_", Tail::Plain, 20),
    ("ghr_", Tail::Plain, 20),
    ("github_pat_", Tail::Wide, 20),
    ("glpat-", Tail::Wide, 16),
    ("gldt-", Tail::Wide, 16),
    ("xoxa-", Tail::Wide, 10),
    ("xoxb-", Tail::Wide, 10),
    ("xoxp-", Tail::Wide, 10),
    ("xoxr-", Tail::Wide, 10),
    ("xoxs-", Tail::Wide, 10),
    ("xapp-", Tail::Wide, 10),
    ("AIza", Tail::Wide, 30),
    ("ya29.", Tail::Dotted, 20),
    ("GOCSPX-", Tail::Wide, 16),
    ("npm_", Tail::Plain, 30),
    ("pypi-", Tail::Wide, 40),
    ("hf_", Tail::Plain, 20),
    ("gsk_", Tail::Plain, 24),
    ("xai-", Tail::Plain, 24),
    ("r8_", Tail::Plain, 30),
    ("tvly-", Tail::Wide, 16),
    ("pplx-", Tail::Plain, 24),
    ("SG.", Tail::Dotted, 30),
    ("dop_v1_", Tail::Plain, 32),
    ("shpat_", Tail::Plain, 24),
    ("lin_api_", Tail::Plain, 24),
    ("ntn_", Tail::Plain, 30),
    ("sntrys_", Tail::Wide, 24),
    ("dckr_pat_", Tail::Wide, 16),
    ("ATATT3", Tail::Wide, 24),
    ("AGE-SECRET-KEY-", Tail::Capital, 24),
    ("eyJ", Tail::Dotted, 20),
];

/// How much of a token is looked at before it is one.
const WEIGHED: usize = 64;

/// A token with a known beginning.
pub(super) fn token(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    let (head, tail, least) = TOKENS.into_iter().find(|(head, _, _)| rest.starts_with(head))?;
    let from = at + head.len();
    let takes = |byte| tail.takes(byte);
    let body = text.get(from..from + run(text, from, WEIGHED, takes))?;
    let proven = match head {
        // Three parts, the first of them JSON.
        "eyJ" => is_web_token(body),
        "AKIA" | "ASIA" => body.len() == least,
        // Names of other things may start alike, but they are words.
        _ => body.len() >= least && body.bytes().any(|byte| byte.is_ascii_digit()),
    };
    let whole =
        |length| text.get(from..from + length).unwrap_or_default().trim_end_matches(['.', '-']);
    proven.then(|| at..from + whole(run(text, from, usize::MAX, takes)).len())
}

impl Tail {
    fn takes(self, byte: u8) -> bool {
        match self {
            Tail::Plain => byte.is_ascii_alphanumeric(),
            Tail::Wide => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Tail::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'),
            Tail::Capital => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
        }
    }
}

fn is_web_token(body: &str) -> bool {
    let mut parts = body.split('.');
    let head = parts.next().unwrap_or_default();
    // A head that does not end is none of a word.
    head.len() == WEIGHED || head.len() >= 8 && parts.next().is_some_and(|next| next.len() >= 2)
}

/// A private key, from its first line to its last, or to the end of the text.
pub(super) fn private_key(text: &str, at: usize) -> Option<Range<usize>> {
    const BEGIN: &str = "-----BEGIN ";
    let rest = text.get(at..)?.strip_prefix(BEGIN)?;
    let label = run(rest, 0, 40, |byte| byte.is_ascii_uppercase() || byte == b' ');
    rest.get(..label)?.contains("PRIVATE KEY").then_some(())?;
    let from = at + BEGIN.len() + label;
    let body = text.get(from..)?;
    let end = body.find("-----END ").and_then(|end| {
        let close = body.get(end + 9..)?.find("-----")?;
        Some(from + end + 9 + close + 5)
    });
    Some(at..end.unwrap_or(text.len()))
}
