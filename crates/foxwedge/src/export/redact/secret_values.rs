//! Whether a value that has a telling name is a secret, or only looks like one: a type, a variable,
//! a label, a mask.

use super::secret_names::{AssignmentContext, is_secret_name};

/// The shortest text that is worth a mark.
const SHORTEST: usize = 4;

/// Words that stand where a secret would.
const PLACEHOLDERS: [&str; 34] = [
    "string",
    "str",
    "text",
    "number",
    "integer",
    "int",
    "bool",
    "boolean",
    "null",
    "none",
    "nil",
    "undefined",
    "true",
    "false",
    "required",
    "optional",
    "missing",
    "invalid",
    "expired",
    "empty",
    "example",
    "changeme",
    "placeholder",
    "redacted",
    "hidden",
    "unknown",
    "bearer",
    "basic",
    "any",
    "object",
    "bytes",
    "value",
    "test",
    "todo",
];

/// Words of labels and messages.
const LABEL_WORDS: [&str; 14] = [
    "enter", "your", "password", "must", "is", "the", "required", "invalid", "forgot", "confirm",
    "please", "token", "not", "for",
];

/// Whether a text in quotes is the secret that its name promises.
pub(super) fn is_secret(name: &str, value: &str) -> bool {
    if is_placeholder_value(value) || is_path(value) {
        return false;
    }
    let pass = name.to_ascii_lowercase().contains("pass");
    let digits = value.bytes().all(|byte| byte.is_ascii_digit());
    let words = value.split_whitespace().count();
    let talk = || {
        let plain = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        value.split_whitespace().any(|word| LABEL_WORDS.contains(&&*plain(word)))
    };
    match words {
        0 => false,
        1 => (pass || !digits) && (!is_name(value) || is_chosen_password(pass, value)),
        // Only words to be typed by people have spaces in them.
        _ => pass && !talk(),
    }
}

/// A password that somebody chose, though it looks like a name: letters and digits.
fn is_chosen_password(pass: bool, value: &str) -> bool {
    pass && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && !value.to_ascii_lowercase().contains("pass")
}

/// Whether a text without quotes is the secret that its name promises.
pub(super) fn is_bare_secret(name: &str, value: &str, context: AssignmentContext) -> bool {
    let letters = value.bytes().any(|byte| byte.is_ascii_alphabetic());
    let digits = value.bytes().any(|byte| byte.is_ascii_digit());
    let pass = name.to_ascii_lowercase().contains("pass");
    if is_placeholder_value(value) || is_path(value) {
        return false;
    }
    match context {
        AssignmentContext::Strong => letters || pass,
        AssignmentContext::Weak => {
            // What code would say: another name, a field, a call, a type.
            let code = is_name(value) && !is_chosen_password(pass, value)
                || value.contains(['(', '[', '{'])
                || value.contains("::")
                || is_member(value);
            value.len() >= 6 && digits && (letters || pass) && !code
        }
    }
}

/// `config.token2`: names with dots between them.
fn is_member(value: &str) -> bool {
    let name = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    value.contains('.') && value.split('.').all(name)
}

/// The name of a secret is not the secret.
fn is_name(value: &str) -> bool {
    let plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    let word = value.trim_end_matches(|c: char| c.is_ascii_digit());
    plain && value.len() - word.len() <= 2 && is_secret_name(word)
}

/// What is put where a secret will be, or was.
fn is_placeholder_value(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let mask = |c: char| matches!(c, '*' | 'x' | '.' | '-' | '_' | '•' | '…' | '?');
    value.len() < SHORTEST
        || value.starts_with(['$', '{', '<', '(', '%', '&', '*', '[', '@', '#', '='])
        || lower.starts_with("your")
        || lower.starts_with("my-")
        || lower.starts_with("env.")
        || lower.starts_with("process.env")
        || lower.chars().all(mask)
        || PLACEHOLDERS.contains(&&*lower)
}

/// A file that may hold the secret.
fn is_path(value: &str) -> bool {
    let rooted = value.starts_with('/') || value.starts_with("./") || value.starts_with("~/");
    rooted && value.get(1..).is_some_and(|rest| rest.contains(['/', '.']))
}
