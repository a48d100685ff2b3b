//! Puts the values of variables into a text: `${NAME}` and `${NAME:-instead}`.

use super::VariableLookup;

/// Bytes that a text may grow to.
const MAX_TEXT: usize = 1 << 20;

/// The text with the values in it. A `$` without a brace behind it stays as it is.
pub(super) fn expand_variables(text: &str, lookup: &VariableLookup<'_>) -> Result<String, String> {
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("${") {
        told.push_str(before);
        let Some((inside, after)) = behind.split_once('}') else {
            return Err("a `${` is not closed".to_owned());
        };
        let (name, instead) = match inside.split_once(":-") {
            Some((name, instead)) => (name, Some(instead)),
            None => (inside, None),
        };
        let is_name = |name: &str| {
            let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
            name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && name.chars().all(is_part)
        };
        if !is_name(name) {
            return Err("a `${…}` holds no name of a variable".to_owned());
        }
        // As a shell has it: what is set and empty counts as missing.
        match (lookup(name).filter(|value| !value.is_empty() || instead.is_none()), instead) {
            (Some(value), _) => told.push_str(&value),
            (None, Some(instead)) => told.push_str(instead),
            (None, None) => return Err(format!("the variable `{name}` is not set")),
        }
        if told.len() > MAX_TEXT {
            return Err("it is too long".to_owned());
        }
        rest = after;
    }
    told.push_str(rest);
    Ok(told)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_put_in() {
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
            // What a variable holds is not looked at again.
            ("${TRICK}", Ok("${HOME}")),
            ("${NOBODY}", Err("the variable `NOBODY` is not set")),
            ("${HOME", Err("a `${` is not closed")),
            ("${}", Err("a `${…}` holds no name of a variable")),
            ("${1}", Err("a `${…}` holds no name of a variable")),
            ("${a b}", Err("a `${…}` holds no name of a variable")),
        ];
        for (text, expected) in table {
            let found = expand_variables(text, &lookup);
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{text}");
        }
    }
}
