//! Secrets with a known form: provider tokens and private keys.

use std::ops::Range;

use super::find::count_while;

/// Characters that may follow the prefix of a token.
#[derive(Clone, Copy)]
enum TokenAlphabet {
    /// Letters and digits.
    Alphanumeric,
    /// Letters, digits, `_` and `-`.
    WithDashes,
    /// Letters, digits, `_`, `-` and `.`.
    WithDots,
    /// Capital letters and digits.
    Uppercase,
}

/// Prefixes of provider tokens, each with the alphabet and the minimum length of the rest.
const TOKENS: [(&str, TokenAlphabet, usize); 42] = [
    ("sk-", TokenAlphabet::WithDashes, 16),
    ("sk_live_", TokenAlphabet::Alphanumeric, 12),
    ("sk_test_", TokenAlphabet::Alphanumeric, 12),
    ("rk_live_", TokenAlphabet::Alphanumeric, 12),
    ("whsec_", TokenAlphabet::Alphanumeric, 16),
    ("AKIA", TokenAlphabet::Uppercase, 16),
    ("ASIA", TokenAlphabet::Uppercase, 16),
    ("ghp_", TokenAlphabet::Alphanumeric, 20),
    ("gho_", TokenAlphabet::Alphanumeric, 20),
    ("ghu_", TokenAlphabet::Alphanumeric, 20),
    ("ghs_", TokenAlphabet::Alphanumeric, 20),
    ("ghr_", TokenAlphabet::Alphanumeric, 20),
    ("github_pat_", TokenAlphabet::WithDashes, 20),
    ("glpat-", TokenAlphabet::WithDashes, 16),
    ("gldt-", TokenAlphabet::WithDashes, 16),
    ("xoxa-", TokenAlphabet::WithDashes, 10),
    ("xoxb-", TokenAlphabet::WithDashes, 10),
    ("xoxp-", TokenAlphabet::WithDashes, 10),
    ("xoxr-", TokenAlphabet::WithDashes, 10),
    ("xoxs-", TokenAlphabet::WithDashes, 10),
    ("xapp-", TokenAlphabet::WithDashes, 10),
    ("AIza", TokenAlphabet::WithDashes, 30),
    ("ya29.", TokenAlphabet::WithDots, 20),
    ("GOCSPX-", TokenAlphabet::WithDashes, 16),
    ("npm_", TokenAlphabet::Alphanumeric, 30),
    ("pypi-", TokenAlphabet::WithDashes, 40),
    ("hf_", TokenAlphabet::Alphanumeric, 20),
    ("gsk_", TokenAlphabet::Alphanumeric, 24),
    ("xai-", TokenAlphabet::Alphanumeric, 24),
    ("r8_", TokenAlphabet::Alphanumeric, 30),
    ("tvly-", TokenAlphabet::WithDashes, 16),
    ("pplx-", TokenAlphabet::Alphanumeric, 24),
    ("SG.", TokenAlphabet::WithDots, 30),
    ("dop_v1_", TokenAlphabet::Alphanumeric, 32),
    ("shpat_", TokenAlphabet::Alphanumeric, 24),
    ("lin_api_", TokenAlphabet::Alphanumeric, 24),
    ("ntn_", TokenAlphabet::Alphanumeric, 30),
    ("sntrys_", TokenAlphabet::WithDashes, 24),
    ("dckr_pat_", TokenAlphabet::WithDashes, 16),
    ("ATATT3", TokenAlphabet::WithDashes, 24),
    ("AGE-SECRET-KEY-", TokenAlphabet::Uppercase, 24),
    ("eyJ", TokenAlphabet::WithDots, 20),
];

/// Max bytes inspected to recognize a token.
const MAX_INSPECTED: usize = 64;

/// Matches a token with a known prefix.
pub(super) fn match_token(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    let (head, tail, min_length) =
        TOKENS.into_iter().find(|(head, _, _)| rest.starts_with(head))?;
    let from = at + head.len();
    let takes = |byte| tail.accepts(byte);
    let body = text.get(from..from + count_while(text, from, MAX_INSPECTED, takes))?;
    let is_token = match head {
        // A JSON Web Token: three parts, the first one is JSON.
        "eyJ" => is_web_token(body),
        "AKIA" | "ASIA" => body.len() == min_length,
        // Ordinary names may have the same prefix, but no digits.
        _ => body.len() >= min_length && body.bytes().any(|byte| byte.is_ascii_digit()),
    };
    let whole =
        |length| text.get(from..from + length).unwrap_or_default().trim_end_matches(['.', '-']);
    is_token.then(|| at..from + whole(count_while(text, from, usize::MAX, takes)).len())
}

impl TokenAlphabet {
    fn accepts(self, byte: u8) -> bool {
        match self {
            TokenAlphabet::Alphanumeric => byte.is_ascii_alphanumeric(),
            TokenAlphabet::WithDashes => {
                byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
            }
            TokenAlphabet::WithDots => {
                byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
            }
            TokenAlphabet::Uppercase => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
        }
    }
}

fn is_web_token(body: &str) -> bool {
    let mut parts = body.split('.');
    let head = parts.next().unwrap_or_default();
    // No ordinary word is that long.
    head.len() == MAX_INSPECTED
        || head.len() >= 8 && parts.next().is_some_and(|next| next.len() >= 2)
}

/// Matches a private key from its first line to its last, or to the end of the text.
pub(super) fn match_private_key(text: &str, at: usize) -> Option<Range<usize>> {
    const BEGIN: &str = "-----BEGIN ";
    let rest = text.get(at..)?.strip_prefix(BEGIN)?;
    let label = count_while(rest, 0, 40, |byte| byte.is_ascii_uppercase() || byte == b' ');
    rest.get(..label)?.contains("PRIVATE KEY").then_some(())?;
    let from = at + BEGIN.len() + label;
    let body = text.get(from..)?;
    let end = body.find("-----END ").and_then(|end| {
        let close = body.get(end + 9..)?.find("-----")?;
        Some(from + end + 9 + close + 5)
    });
    Some(at..end.unwrap_or(text.len()))
}
