//! Expands variables in a text: `${NAME}` and `${NAME:-default}`.

use super::VariableLookup;

/// Maximum bytes of an expanded text.
const MAX_TEXT: usize = 1 << 20;

/// Expands the variables of a text. A `$` without a following brace stays as it is.
pub(super) fn expand_variables(text: &str, lookup: &VariableLookup<'_>) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after_open)) = rest.split_once("${") {
        expanded.push_str(before);
        let Some((inside, after)) = after_open.split_once('}') else {
            return Err("a `${` is not closed".to_owned());
        };
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        let is_name = |name: &str| {
            let is_name_char = |c: char| c.is_ascii_alphanumeric() || c == '_';
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.chars().all(is_name_char)
        };
        if !is_name(name) {
            return Err("a `${…}` does not hold a variable name".to_owned());
        }
        // As in a shell: with a default, an empty variable counts as not set.
        match (lookup(name).filter(|value| !value.is_empty() || default.is_none()), default) {
            (Some(value), _) => expanded.push_str(&value),
            (None, Some(default)) => expanded.push_str(default),
            (None, None) => return Err(format!("the variable `{name}` is not set")),
        }
        if expanded.len() > MAX_TEXT {
            return Err("it is too long".to_owned());
        }
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_expanded() {
        let lookup = |name: &str| match name {
            "HOME" => Some("/home/me".to_owned()),
            "EMPTY" => Some(String::new()),
            "TRICK" => Some("${HOME}".to_owned()),
            _ => None,
        };
        let table = [
            ("", Ok("")),
            ("plain $HOME $", Ok("plain $HOME $")),
            ("${HOME}/x", Ok("/home/me/x")),
            ("${HOME}${HOME}", Ok("/home/me/home/me")),
            ("${NOBODY:-there}", Ok("there")),
            ("${NOBODY:-}", Ok("")),
            ("${HOME:-there}", Ok("/home/me")),
            ("${EMPTY}", Ok("")),
            ("${EMPTY:-there}", Ok("there")),
            ("${NOBODY:-http://a:-b}", Ok("http://a:-b")),
            // Values are not expanded again.
            ("${TRICK}", Ok("${HOME}")),
            ("${NOBODY}", Err("the variable `NOBODY` is not set")),
            ("${HOME", Err("a `${` is not closed")),
            ("${}", Err("a `${…}` does not hold a variable name")),
            ("${1}", Err("a `${…}` does not hold a variable name")),
            ("${a b}", Err("a `${…}` does not hold a variable name")),
        ];
        for (text, expected) in table {
            let found = expand_variables(text, &lookup);
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{text}");
        }
    }
}
