//! Indents JSON. Order and spelling of values are kept.

/// Max nesting depth.
const MAX_DEPTH: usize = 40;

/// Indents a JSON text; `None` if it is not valid JSON or nested too deep.
pub fn pretty(json: &str) -> Option<String> {
    serde_json::from_str::<serde::de::IgnoredAny>(json).ok()?;
    let mut out = String::with_capacity(json.len() * 2);
    let (mut depth, mut inside, mut escaped) = (0_usize, false, false);
    let mut characters =
        json.chars().filter(WhitespaceFilter::default().into_predicate()).peekable();
    while let Some(character) = characters.next() {
        match character {
            _ if escaped => escaped = false,
            '\\' if inside => escaped = true,
            '"' => inside = !inside,
            _ if inside => {}
            '{' | '[' => {
                out.push(character);
                if let Some(close) = characters.next_if(|c| matches!(c, '}' | ']')) {
                    out.push(close);
                    continue;
                }
                depth += 1;
                if depth > MAX_DEPTH {
                    return None;
                }
                push_line_break(&mut out, depth);
                continue;
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                push_line_break(&mut out, depth);
            }
            ',' => {
                out.push(',');
                push_line_break(&mut out, depth);
                continue;
            }
            ':' => {
                out.push_str(": ");
                continue;
            }
            _ => {}
        }
        out.push(character);
    }
    Some(out)
}

fn push_line_break(out: &mut String, depth: usize) {
    out.push('\n');
    for _ in 0..depth {
        out.push_str("  ");
    }
}

/// Removes the white space between values.
#[derive(Default)]
struct WhitespaceFilter {
    inside: bool,
    escaped: bool,
}

impl WhitespaceFilter {
    fn into_predicate(mut self) -> impl FnMut(&char) -> bool {
        move |character| {
            match character {
                _ if self.escaped => self.escaped = false,
                '\\' if self.inside => self.escaped = true,
                '"' => self.inside = !self.inside,
                _ => {}
            }
            self.inside || !matches!(character, ' ' | '\n' | '\r' | '\t')
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_order_and_spelling() {
        let json = r#"{"b": 1.50, "a":[ ], "c" : {"d":["x, {y} \" z", true]}}"#;
        let expected = "{\n  \"b\": 1.50,\n  \"a\": [],\n  \"c\": {\n    \"d\": [\n      \"x, {y} \\\" z\",\n      true\n    ]\n  }\n}";
        assert_eq!(pretty(json).as_deref(), Some(expected));
        assert_eq!(pretty("{\"a\":"), None);
        assert_eq!(pretty(&format!("{}{}", "[".repeat(90), "]".repeat(90))), None);
    }
}
