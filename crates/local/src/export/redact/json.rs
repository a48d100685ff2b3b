//! Redacts JSON: strings, and values of keys that name a secret. The result is valid JSON;
//! everything else is kept byte for byte.

use std::borrow::Cow;

use foxwedge_json::{quote, string_text};

use super::{SecretRedactor, secret_names::is_secret_name, secret_values::is_secret};

impl SecretRedactor {
    /// Removes the secrets of a JSON text. Text that is not valid JSON is redacted as plain text.
    pub(super) fn redact_json(&mut self, json: &str) -> String {
        if serde_json::from_str::<serde::de::IgnoredAny>(json).is_err() {
            return self.redact_text(json);
        }
        let mut out = String::with_capacity(json.len());
        let mut key: Option<String> = None;
        let mut rest = json;
        while let Some(at) = rest.find(|c: char| !is_punctuation(c)) {
            let (between, value) = rest.split_at(at);
            out.push_str(between);
            // A comma or a bracket ends the value of a key.
            if between.contains([',', '{', '[', '}', ']']) {
                key = None;
            }
            let length =
                if value.starts_with('"') { string_length(value) } else { literal_length(value) };
            let (token, after) = value.split_at(length);
            rest = after;
            let is_key = after.trim_start().starts_with(':');
            let text = string_text(token).map(Cow::into_owned);
            match (text, key.as_deref()) {
                (Some(text), Some(name))
                    if !is_key && is_secret_name(name) && is_secret(name, &text) =>
                {
                    let mark = self.secret_mark(&text);
                    out.push_str(&quote(&mark));
                }
                // A number may be a password.
                (None, Some(name))
                    if is_password_name(name) && token.len() >= 4 && is_number(token) =>
                {
                    let mark = self.secret_mark(token);
                    out.push_str(&quote(&mark));
                }
                (Some(text), _) => {
                    let clean = self.redact_text(&text);
                    match clean == text {
                        true => out.push_str(token),
                        false => out.push_str(&quote(&clean)),
                    }
                    if is_key {
                        key = Some(text);
                    }
                }
                (None, _) => out.push_str(token),
            }
        }
        out.push_str(rest);
        out
    }
}

fn is_punctuation(c: char) -> bool {
    matches!(c, '{' | '}' | '[' | ']' | ',' | ':') || c.is_ascii_whitespace()
}

/// The length of the string at the start, with its quotes.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of the number or word at the start.
fn literal_length(text: &str) -> usize {
    text.find(|c: char| is_punctuation(c) || c == '"').unwrap_or(text.len())
}

fn is_number(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_digit() || c == '-')
}

fn is_password_name(name: &str) -> bool {
    is_secret_name(name) && name.to_ascii_lowercase().contains("pass")
}
