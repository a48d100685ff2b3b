//! Every command line in the manual, the READMEs and the translated texts is one that this program accepts.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::{CommandFactory as _, error::ErrorKind};

use super::CommandLine;

/// A command line that a text shows.
#[derive(Debug, PartialEq)]
struct ShownCommand {
    words: Vec<String>,
    /// Whether it is complete. In a sentence a command may be named without its arguments.
    is_complete: bool,
}

#[test]
fn every_command_in_the_manual_exists_with_its_flags() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in documents() {
        let text = fs::read_to_string(&path).expect("a document");
        for (line, command) in commands_in(&text) {
            count += 1;
            if let Some(error) = refusal(&command) {
                let command = command.words.join(" ");
                wrong.push(format!("{}:{line}: `{command}`: {error}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 200, "only {count} commands were found");
}

/// The documents of the repository that show commands, and the texts that the program prints.
fn documents() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    let places = ["docs", "bindings", "packaging", "suite", "crates/foxwedge/src/chinese"];
    let mut open: Vec<PathBuf> = places.iter().map(|place| root.join(place)).collect();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            let is_text = path.extension().is_some_and(|end| end == "md" || end == "txt");
            match path.is_dir() {
                true if !path.ends_with("node_modules") && !path.ends_with("target") => {
                    open.push(path)
                }
                false if is_text => found.push(path),
                _ => {}
            }
        }
    }
    found.extend(["README.md", "README.zh-CN.md"].map(|name| root.join(name)));
    found.sort();
    found
}

/// Why the program does not accept a command.
fn refusal(command: &ShownCommand) -> Option<String> {
    let error = CommandLine::command().try_get_matches_from(&command.words).err()?;
    // `ID`, `FILE`, `…` and `{name}` stand for values.
    let is_placeholder = |word: &String| {
        word.contains(['…', '{', '<'])
            || word.chars().any(|c| c.is_ascii_uppercase())
                && word.chars().all(|c| c.is_ascii_uppercase() || !c.is_alphanumeric())
    };
    let is_accepted = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => true,
        ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => !command.is_complete,
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            command.words.iter().any(is_placeholder)
        }
        _ => false,
    };
    let first_line = || error.to_string().lines().next().unwrap_or_default().to_owned();
    (!is_accepted).then(first_line)
}

/// The commands in a text, with their lines: whole lines of code blocks, and code in sentences.
fn commands_in(text: &str) -> Vec<(usize, ShownCommand)> {
    let mut found = Vec::new();
    let mut block: Option<&str> = None;
    for (at, line) in text.lines().enumerate() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            block = block.is_none().then_some(language);
            continue;
        }
        let is_code = matches!(block, Some("sh" | "console" | "text" | "yaml"));
        let whole = is_code.then(|| whole_line(line)).flatten();
        let quoted = line.split('`').skip(1).step_by(2).filter(|code| is_command(code));
        // A synopsis has no values: `env [--for CLIENT]`.
        let quoted = quoted.filter(|code| !code.contains(['[', '|']));
        match whole {
            Some(command) => {
                found.push((at + 1, ShownCommand { words: words(command), is_complete: true }))
            }
            None => found.extend(
                quoted
                    .map(|code| (at + 1, ShownCommand { words: words(code), is_complete: false })),
            ),
        }
    }
    found
}

fn is_command(code: &str) -> bool {
    code.strip_prefix("foxwedge ")
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase() || c == '-'))
}

/// The command of a line of code: what starts with `foxwedge`, also behind a prompt, a pipe or `npx`.
fn whole_line(line: &str) -> Option<&str> {
    const BEFORE: [&str; 6] = ["$ ", "| ", "$(", "npx ", "uvx ", "run: "];
    let line = line.trim_start();
    if is_command(line) {
        return Some(line);
    }
    BEFORE.iter().find_map(|before| {
        let (_, rest) = line.split_once(before)?;
        is_command(rest).then_some(rest)
    })
}

/// The words of a command, up to a comment, an explanation or what the shell does with it.
fn words(command: &str) -> Vec<String> {
    let command = command.split("   ").next().unwrap_or_default();
    let mut words = vec![String::new()];
    let mut quote: Option<char> = None;
    for c in command.chars() {
        let word = words.last_mut().expect("there is always one");
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => word.push(c),
            (None, '"' | '\'') => quote = Some(c),
            (None, '|' | '<' | '>' | ')' | ';' | '&') => {
                // `2> file`
                if word == "2" {
                    word.clear();
                }
                break;
            }
            (None, '#') if word.is_empty() => break,
            (None, ' ') => words.push(String::new()),
            (None, _) => word.push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn commands_are_found_in_code_and_in_sentences() {
    let text = "Use `foxwedge fix ID` or `foxwedge env [--for CLIENT]`.\n```sh\n\
                x | foxwedge follow --store 'a b'   # and keep it\nfoxwedge convert -o y 2> z\n\
                eval \"$(foxwedge env)\"\n```\n```text\n$ foxwedge list\nhelp: `foxwedge undo`\n```\n";
    let found: Vec<(usize, String, bool)> = commands_in(text)
        .into_iter()
        .map(|(line, command)| (line, command.words.join("|"), command.is_complete))
        .collect();
    let expected = [
        (1, "foxwedge|fix|ID", false),
        (3, "foxwedge|follow|--store|a b", true),
        (4, "foxwedge|convert|-o|y", true),
        (5, "foxwedge|env", true),
        (8, "foxwedge|list", true),
        (9, "foxwedge|undo", false),
    ];
    assert_eq!(found, expected.map(|(line, words, whole)| (line, words.to_owned(), whole)));
}

#[test]
fn flags_and_commands_that_do_not_exist_are_refused() {
    let refused = |command: &str| {
        refusal(&ShownCommand { words: words(command), is_complete: true }).is_some()
    };
    for command in ["foxwedge mend", "foxwedge fix --no-such-flag x", "foxwedge mcp login"] {
        assert!(refused(command), "{command}");
    }
    for command in ["foxwedge fix x", "foxwedge undo --since TIME", "foxwedge list --help"] {
        assert!(!refused(command), "{command}");
    }
}
