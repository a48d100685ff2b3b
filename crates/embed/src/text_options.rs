//! Options whose values are all texts, as in a query string.

use foxwedge_json::quote;

/// The JSON object of options that came as names and texts. Lists are separated by commas.
///
/// Names and values are not checked: [`crate::call`] does that.
pub fn options_from_texts<'t>(pairs: impl IntoIterator<Item = (&'t str, &'t str)>) -> String {
    let mut options = String::from("{");
    for (name, text) in pairs {
        if options.len() > 1 {
            options.push(',');
        }
        let value = match name {
            "maxTokens" | "goalTokens" | "created" => plain_or_quoted(text, is_whole_number),
            "unsafeFixes" | "forApi" => {
                plain_or_quoted(text, |text| text == "true" || text == "false")
            }
            "ignore" => {
                let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
                let names: Vec<String> = names.map(quote).collect();
                format!("[{}]", names.join(","))
            }
            _ => quote(text),
        };
        options.push_str(&format!("{}:{value}", quote(name)));
    }
    options.push('}');
    options
}

/// A text of the wrong kind stays a text, so that the error names the option.
fn plain_or_quoted(text: &str, is_plain: impl Fn(&str) -> bool) -> String {
    if is_plain(text) { text.to_owned() } else { quote(text) }
}

fn is_whole_number(text: &str) -> bool {
    let starts_well = text == "0" || !text.starts_with('0');
    starts_well && !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call;

    const CHAT: &str = r#"{"model":"m","messages":[{"role":"user","content":"hello"}]}"#;

    #[test]
    fn texts_become_values_of_the_kind_that_the_option_has() {
        let options = options_from_texts([
            ("maxTokens", "300"),
            ("unsafeFixes", "true"),
            ("ignore", "FW101, orphan-result,"),
            ("profile", "openai-chat"),
        ]);
        let expected = r#"{"maxTokens":300,"unsafeFixes":true,"ignore":["FW101","orphan-result"],"profile":"openai-chat"}"#;
        assert_eq!(options, expected);
        assert_eq!(options_from_texts([]), "{}");
        assert!(call("compact", CHAT.as_bytes(), &options).is_ok());
    }

    #[test]
    fn a_text_of_the_wrong_kind_is_an_error_that_names_the_option() {
        for (name, text) in [
            ("maxTokens", "many"),
            ("maxTokens", "-1"),
            ("maxTokens", "007"),
            ("maxTokens", ""),
            ("unsafeFixes", "yes"),
            ("ignore", "FW999"),
            ("language", "xx\"}"),
            ("colour\"", "red"),
        ] {
            let options = options_from_texts([(name, text), ("maxTokens", "9")]);
            let error = call("compact", CHAT.as_bytes(), &options).expect_err(&options);
            assert_eq!(error.kind, "invalid-options", "{options}");
            let shown = if name == "ignore" { text } else { name };
            assert!(error.message.contains(shown), "{}", error.message);
        }
    }
}
