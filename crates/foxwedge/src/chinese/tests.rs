//! The tables are complete: help, rules, and every sentence that the sources write for people.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use clap::CommandFactory as _;

use super::*;
use crate::cli::CommandLine;

/// English sentences with their translations, as they are in the tables.
fn sentences() -> Vec<(&'static str, &'static str)> {
    let mut sentences = Vec::new();
    for table in TABLES {
        let mut keys = Vec::new();
        for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match line.strip_prefix("= ") {
                Some(chinese) => {
                    assert!(!keys.is_empty(), "no English sentence for {chinese}");
                    sentences.extend(keys.drain(..).map(|key| (key, chinese)));
                }
                None => keys.push(line),
            }
        }
        assert!(keys.is_empty(), "no Chinese for {keys:?}");
    }
    sentences
}

#[test]
fn every_sentence_has_one_translation_with_its_values() {
    let mut seen = BTreeSet::new();
    for (english, chinese) in sentences() {
        assert!(seen.insert(english), "twice: {english}");
        if english.contains("\"options\":{}") {
            continue;
        }
        let holes: usize =
            ["{}", "{#}", "{~}"].map(|hole| english.matches(hole).count()).iter().sum();
        let used = |hole: usize| {
            chinese.contains(&format!("{{{hole}}}")) || chinese.contains(&format!("{{{hole}!}}"))
        };
        assert!((0..holes).all(used) && !used(holes), "{english} = {chinese}");
    }
}

#[test]
fn every_text_of_the_help_is_translated() {
    let catalog = catalog();
    let mut command = CommandLine::command();
    command.build();
    for text in command_help::texts(&command) {
        for line in text.lines().filter(|line| line.contains(|c: char| c.is_ascii_lowercase())) {
            let is_clap = command_help::CLAP_WORDS.iter().any(|(english, _)| *english == line);
            let is_list = line.starts_with("            stream-open");
            assert!(is_clap || is_list || catalog.translate(line).is_some(), "{line}");
        }
    }
}

#[test]
fn every_rule_has_a_page() {
    let is_chinese = |text: &str| text.chars().any(|c| ('一'..='龥').contains(&c));
    for rule in rules::ALL.iter() {
        let label = rule.label();
        let text = rule.chinese().unwrap_or_else(|| panic!("no Chinese: {label}"));
        for text in [text.summary, text.finds, text.repair] {
            assert!(is_chinese(text), "{label} {text}");
        }
        let page = rule.chinese_page().expect("a page");
        for heading in ["## 发现什么", "## 如何修复", "## 适用范围"] {
            assert!(page.contains(heading), "{label} {page}");
        }
        assert_eq!(page.matches("```").count() % 2, 0, "{page}");
    }
}

#[test]
fn the_first_choice_that_is_set_decides() {
    // Arguments, FOXWEDGE_LANG, LC_ALL, LC_MESSAGES, LANG, and whether it is Chinese.
    let table = [
        ("", ["", "", "", ""], false),
        ("", ["", "", "", "zh_CN.UTF-8"], true),
        ("", ["", "", "", "en_US.UTF-8"], false),
        ("", ["", "C", "", "zh_CN.UTF-8"], false),
        ("", ["", "", "zh_CN", "en_US.UTF-8"], true),
        ("", ["en", "zh_CN.UTF-8", "", ""], false),
        ("", ["zh", "C", "", ""], true),
        ("check --lang zh", ["", "", "", ""], true),
        ("--lang=en check", ["zh", "", "", ""], false),
        ("check -- --lang zh", ["", "", "", ""], false),
        ("check --language zh", ["", "", "", ""], false),
    ];
    for (args, [own, all, messages, lang], expected) in table {
        let variable = |name: &str| {
            let value = match name {
                "FOXWEDGE_LANG" => own,
                "LC_ALL" => all,
                "LC_MESSAGES" => messages,
                _ => lang,
            };
            Some(value.to_owned())
        };
        let args = args.split_whitespace().map(OsString::from);
        assert_eq!(is_chosen(args, variable), expected, "{own} {all} {messages} {lang}");
    }
}

/// Calls that take a sentence for people.
const SENTENCE_CALLS: [&str; 17] = [
    "HelpfulError::new(",
    ".help(",
    "bail!(",
    "anyhow!(",
    ".context(",
    "with_context(",
    "print_note(",
    "localize(",
    ".fail(",
    "#[error(",
    "localized(",
    "show_hint(",
    "reply_with_lines(",
    "command_spec(",
    "bad_request(",
    "denied(",
    "ApiError::new(",
];

/// Parts of the sources that write only for programs, and the pages that are Chinese already.
const NOT_TRANSLATED: [&str; 6] = [
    "core/src/rules/chinese.rs",
    "local/src/export",
    "foxwedge/src/command/rpc",
    "disk/model.rs",
    "chat/src/acp",
    "terminal/tests/",
];

#[test]
fn every_finding_and_every_edit_is_translated() {
    let (catalog, keys) = (catalog(), normalized_keys());
    let files = ["core/src/rules", "core/src/repair"].iter().flat_map(|path| sources(path));
    let others = ["sessions/src/records/line_defects.rs", "sessions/src/opencode/faults.rs"];
    let missing: Vec<String> = files
        .chain(others.iter().flat_map(|path| sources(path)))
        .flat_map(|source| literals(&source).into_iter().collect::<Vec<_>>())
        .filter(|literal| !is_covered(literal, &catalog, &keys))
        .collect();
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn every_error_and_every_note_is_translated() {
    let (catalog, keys) = (catalog(), normalized_keys());
    let mut missing = Vec::new();
    let crates = [
        "foxwedge/src",
        "local/src",
        "chat/src",
        "json/src",
        "formats/src",
        "sessions/src",
        "gateway/src/console",
    ];
    for source in crates.iter().flat_map(|path| sources(path)) {
        for call in SENTENCE_CALLS {
            for (at, _) in source.match_indices(call) {
                let arguments = arguments(&source[at + call.len()..]);
                let found = literals(arguments).into_iter();
                missing.extend(found.filter(|literal| !is_covered(literal, &catalog, &keys)));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

fn normalized_keys() -> Vec<String> {
    let keys = sentences()
        .into_iter()
        .map(|(english, _)| english.replace("{#}", "{}").replace("{~}", "{}"));
    let summaries = rules::ALL.iter().map(|rule| rule.summary.to_owned());
    keys.chain(summaries).collect()
}

/// The sources below a path, without their tests.
fn sources(path: &str) -> Vec<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut left: Vec<PathBuf> = vec![crates.join(path)];
    let mut texts = Vec::new();
    while let Some(path) = left.pop() {
        let name = path.to_string_lossy().replace('\\', "/");
        if NOT_TRANSLATED.iter().any(|part| name.contains(part)) || name.ends_with("tests.rs") {
            continue;
        }
        if path.is_dir() {
            let entries = fs::read_dir(&path).expect("the folder is readable");
            left.extend(entries.map(|entry| entry.expect("an entry").path()));
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(&path).expect("the source is readable");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let is_code = |line: &&str| !line.trim_start().starts_with("//");
            texts.push(code.lines().filter(is_code).collect::<Vec<_>>().join("\n"));
        }
    }
    texts
}

/// What is inside the parentheses that are already open.
fn arguments(text: &str) -> &str {
    let (mut depth, mut in_text, mut escaped) = (1, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_text => escaped = true,
            '"' => in_text = !in_text,
            '(' if !in_text => depth += 1,
            ')' if !in_text => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[..at];
        }
    }
    text
}

/// The string literals of a piece of code, as the program sees them, with empty holes.
fn literals(code: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let code = code.replace("'\"'", "' '");
    let mut rest = code.as_str();
    while let Some((_, begin)) = rest.split_once('"') {
        let (mut text, mut escaped, mut end) = (String::new(), false, begin.len());
        for (at, c) in begin.char_indices() {
            match c {
                '\n' | ' ' if escaped => continue,
                'n' if escaped => text.push('\n'),
                _ if escaped => text.push(c),
                '\\' => {}
                '"' => {
                    end = at + 1;
                    break;
                }
                _ => text.push(c),
            }
            escaped = c == '\\' && !escaped;
        }
        found.insert(with_empty_holes(&text));
        rest = &begin[end..];
    }
    found
}

fn with_empty_holes(text: &str) -> String {
    let text = text.replace("{{", "\u{1}").replace("}}", "\u{2}");
    let mut pieces = text.split('{');
    let first = pieces.next().unwrap_or_default().to_owned();
    let rest = pieces.map(|piece| piece.split_once('}').map_or("", |(_, after)| after));
    let text = rest.fold(first, |text, piece| format!("{text}{{}}{piece}"));
    text.replace('\u{1}', "{").replace('\u{2}', "}")
}

/// Whether a sentence is translated, whatever is in its holes; or, where it is put together from
/// several literals, whether every part with several words is part of a sentence in the tables.
fn is_covered(literal: &str, catalog: &Catalog, keys: &[String]) -> bool {
    let sample = literal.replace("{}", "7");
    if catalog.translate(&sample).is_some() {
        return true;
    }
    let parts = literal.split("{}").flat_map(str::lines).map(str::trim);
    let words = |part: &str| part.split(' ').filter(|word| word.len() > 1).count();
    let is_sentence = |part: &&str| words(part) > 1 && part.contains(|c: char| c.is_lowercase());
    parts.filter(is_sentence).all(|part| keys.iter().any(|key| key.contains(part)))
}
