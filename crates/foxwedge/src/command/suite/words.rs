//! Splits a command into words.

/// The words of a command. Quotes group words; a backslash takes the next character as it is,
/// except inside single quotes. `None` if a quote is not closed.
pub(super) fn split_words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = command.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().push(characters.next()?),
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::split_words;

    #[test]
    fn quotes_group_words() {
        let table = [
            ("a b  c", Some(vec!["a", "b", "c"])),
            ("'a b' \"c d\"", Some(vec!["a b", "c d"])),
            ("a\\ b \"\\\"\" ''", Some(vec!["a b", "\"", ""])),
            ("", Some(vec![])),
            ("'a", None),
            ("a\\", None),
        ];
        for (command, expected) in table {
            let words = split_words(command);
            let words = words.as_ref().map(|it| it.iter().map(String::as_str).collect());
            assert_eq!(words, expected, "{command}");
        }
    }
}
