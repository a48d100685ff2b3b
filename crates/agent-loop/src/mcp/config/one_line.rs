//! A server in one line: `NAME=COMMAND ARGUMENTS…` or `NAME=https://…`.

use super::{McpConfigError, McpConfigPath, McpServer, McpTransport, address, check_name};

/// Parses a server from one line. The command is split as a shell splits it, but variables and
/// patterns are not expanded.
///
/// # Errors
/// If the line does not have this form.
pub fn parse_line(text: &str) -> Result<McpServer, McpConfigError> {
    let form = "a server looks like NAME=COMMAND or NAME=https://…";
    let Some((name, rest)) = text.split_once('=') else {
        let place = McpConfigPath(text.split_whitespace().next().unwrap_or_default().to_owned());
        return Err(place.error(form));
    };
    let name = name.trim();
    let place = McpConfigPath(name.chars().filter(|c| !c.is_control()).take(64).collect());
    check_name(name, &place)?;
    let rest = rest.trim();
    if rest.starts_with("https://") || rest.starts_with("http://") {
        address::parse(rest).map_err(|what| place.error(what))?;
        return Ok(McpServer::new(
            name,
            McpTransport::Http { url: rest.to_owned(), headers: Vec::new() },
        ));
    }
    let command = split_command(rest).map_err(|what| place.error(what))?;
    match command.first() {
        Some(program) if !program.is_empty() => {
            Ok(McpServer::new(name, McpTransport::Stdio { command, env: Vec::new(), folder: None }))
        }
        Some(_) | None => Err(place.error(form)),
    }
}

/// Splits a line at whitespace, as a shell does: quotes keep whitespace, a backslash keeps one
/// character.
fn split_command(text: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\0' => return Err("it holds a zero byte"),
            ' ' | '\t' | '\n' | '\r' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        Some('\'') => break,
                        Some(c) => word.push(c),
                        None => return Err("a quote is not closed"),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next() {
                        Some('"') => break,
                        Some('\\') => match chars.next() {
                            Some(c @ ('"' | '\\' | '$' | '`')) => word.push(c),
                            Some(c) => word.extend(['\\', c]),
                            None => return Err("a quote is not closed"),
                        },
                        Some(c) => word.push(c),
                        None => return Err("a quote is not closed"),
                    }
                }
            }
            '\\' => match chars.next() {
                Some(c) => word.get_or_insert_default().push(c),
                None => return Err("nothing follows the last backslash"),
            },
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_split_as_in_a_shell() {
        let table: [(&str, Result<&[&str], &str>); 14] = [
            ("", Ok(&[])),
            ("  a  b\tc ", Ok(&["a", "b", "c"])),
            ("a 'b c' d", Ok(&["a", "b c", "d"])),
            ("a \"b c\" d", Ok(&["a", "b c", "d"])),
            ("a'b c'd", Ok(&["ab cd"])),
            ("a ''", Ok(&["a", ""])),
            (r"a\ b", Ok(&["a b"])),
            (r#""a\"b\\c\d""#, Ok(&[r#"a"b\c\d"#])),
            (r"'a\'", Ok(&[r"a\"])),
            ("$HOME *", Ok(&["$HOME", "*"])),
            ("a 'b", Err("a quote is not closed")),
            ("a \"b", Err("a quote is not closed")),
            ("a \"b\\", Err("a quote is not closed")),
            ("a\\", Err("nothing follows the last backslash")),
        ];
        for (text, expected) in table {
            let found = split_command(text);
            let found = found.as_deref().map(|words| words.iter().map(String::as_str));
            let found = found.map(|words| words.collect::<Vec<_>>());
            assert_eq!(found.as_deref().map_err(|error| **error), expected, "{text}");
        }
    }

    #[test]
    fn a_line_holds_a_name_and_a_transport() {
        let stdio = |command: &[&str]| McpTransport::Stdio {
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            env: Vec::new(),
            folder: None,
        };
        let http = |url: &str| McpTransport::Http { url: url.to_owned(), headers: Vec::new() };
        let valid = [
            ("files=npx -y x /tmp", "files", stdio(&["npx", "-y", "x", "/tmp"])),
            ("a=b --key=c", "a", stdio(&["b", "--key=c"])),
            ("a=https://mcp.example/x?y=z", "a", http("https://mcp.example/x?y=z")),
            (" a = http://127.0.0.1:9/mcp ", "a", http("http://127.0.0.1:9/mcp")),
        ];
        for (text, name, transport) in valid {
            assert_eq!(parse_line(text), Ok(McpServer::new(name, transport)), "{text}");
        }
        let invalid = [
            ("npx -y x", "`npx`: a server looks like NAME=COMMAND or NAME=https://…"),
            ("a=", "`a`: a server looks like NAME=COMMAND or NAME=https://…"),
            ("a=''", "`a`: a server looks like NAME=COMMAND or NAME=https://…"),
            ("a='", "`a`: a quote is not closed"),
            ("a=https://", "`a`: it is not a valid URL"),
        ];
        for (text, expected) in invalid {
            let found = parse_line(text).map_err(|error| error.to_string());
            assert_eq!(found.err().as_deref(), Some(expected), "{text}");
        }
        for text in ["=x", "https://mcp.example/?a=b", &format!("{}=x", "a".repeat(65))] {
            let error = parse_line(text).expect_err(text);
            assert!(error.what.starts_with("the name of a server"), "{error}");
        }
    }
}
