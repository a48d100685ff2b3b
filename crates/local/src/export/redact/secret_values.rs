//! Decides whether the value of a secret-like name is a secret, or only a type, a variable, a label
//! or a mask.

use super::secret_names::{AssignmentContext, is_secret_name};

/// Min length of a secret.
const MIN_LENGTH: usize = 4;

/// Words used in place of a secret.
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

/// Words in labels and messages.
const LABEL_WORDS: [&str; 14] = [
    "enter", "your", "password", "must", "is", "the", "required", "invalid", "forgot", "confirm",
    "please", "token", "not", "for",
];

/// Whether a quoted text is a secret.
pub(super) fn is_secret(name: &str, value: &str) -> bool {
    if is_placeholder_value(value) || is_path(value) {
        return false;
    }
    let pass = name.to_ascii_lowercase().contains("pass");
    let digits = value.bytes().all(|byte| byte.is_ascii_digit());
    let words = value.split_whitespace().count();
    let is_label = || {
        let plain = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        value.split_whitespace().any(|word| LABEL_WORDS.contains(&&*plain(word)))
    };
    match words {
        0 => false,
        1 => (pass || !digits) && (!is_name(value) || is_chosen_password(pass, value)),
        // Only passphrases contain spaces.
        _ => pass && !is_label(),
    }
}

/// A password of letters and digits that looks like a name.
fn is_chosen_password(pass: bool, value: &str) -> bool {
    pass && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && !value.to_ascii_lowercase().contains("pass")
}

/// Whether an unquoted text is a secret.
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
            // Code: another name, a field, a call or a type.
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

/// Whether a value is itself the name of a secret, as in `password = user_password`.
fn is_name(value: &str) -> bool {
    let plain = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    let word = value.trim_end_matches(|c: char| c.is_ascii_digit());
    plain && value.len() - word.len() <= 2 && is_secret_name(word)
}

/// Whether a value is a placeholder or a mask.
fn is_placeholder_value(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let mask = |c: char| matches!(c, '*' | 'x' | '.' | '-' | '_' | '•' | '…' | '?');
    value.len() < MIN_LENGTH
        || value.starts_with(['$', '{', '<', '(', '%', '&', '*', '[', '@', '#', '='])
        || lower.starts_with("your")
        || lower.starts_with("my-")
        || lower.starts_with("env.")
        || lower.starts_with("process.env")
        || lower.chars().all(mask)
        || PLACEHOLDERS.contains(&&*lower)
}

/// Whether a value is the path of a file.
fn is_path(value: &str) -> bool {
    let rooted = value.starts_with('/') || value.starts_with("./") || value.starts_with("~/");
    rooted && value.get(1..).is_some_and(|rest| rest.contains(['/', '.']))
}
