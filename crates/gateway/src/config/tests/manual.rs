//! `docs/gateway/configuration.md` follows the table of settings. Run the tests with
//! `FOXWEDGE_UPDATE_DOCS=1` to write it.

use super::{
    super::{
        setting_row::{SectionTable, SettingRow},
        table,
    },
    *,
};

const MANUAL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/gateway/configuration.md");

/// The column of comments in the file.
const COMMENT_COLUMN: usize = 32;

/// Variables and flags that are not for one key of the file.
const OTHER_ROWS: &str = "\
| the certificates of the system | `SSL_CERT_FILE`, `SSL_CERT_DIR` | |
| the token | `FOXWEDGE_TOKEN` | `--token-file`, `--no-token` |
| the upstream of every model | `FOXWEDGE_UPSTREAM` (and `FOXWEDGE_UPSTREAM_KEY`) | `--upstream` |
| keys of providers | `OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, `GEMINI_API_KEY`, `GOOGLE_API_KEY` | |
";

/// A file with every key.
fn whole_file() -> String {
    let sections = table::sections();
    let texts = sections.iter().map(|SectionTable { header, rows, .. }| {
        let header = if header.is_empty() { String::new() } else { format!("{header}\n") };
        header + &rows.iter().map(file_line).collect::<String>()
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn file_line(SettingRow { key, doc, value, is_unset, words, .. }: &SettingRow) -> String {
    let setting = format!("{}{key} = {value}", if *is_unset { "# " } else { "" });
    let comment = match words.as_slice() {
        [] | ["true", "false"] => (*doc).to_owned(),
        words => format!("{doc}: {}", words.join(" | ")),
    };
    let width = COMMENT_COLUMN.max(setting.chars().count() + 2);
    match comment.as_str() {
        "" => format!("{setting}\n"),
        comment => format!("{setting:width$}# {comment}\n"),
    }
}

/// The variables and flags of the settings.
fn variable_table() -> String {
    let mut text = "| setting | variable | flag |\n|---|---|---|\n".to_owned();
    for section in table::sections() {
        let prefix = if section.name.is_empty() { "" } else { "." };
        for SettingRow { key, variables, flag, .. } in &section.rows {
            if variables.is_empty() && flag.is_none() {
                continue;
            }
            let names: Vec<String> = variables.iter().map(|name| format!("`{name}`")).collect();
            let flag = flag.map(|(name, _)| format!("`{name}` ")).unwrap_or_default();
            let name = format!("{}{prefix}{key}", section.name);
            text.push_str(&format!("| `{name}` | {} | {flag}|\n", names.join(", ")));
        }
    }
    text + OTHER_ROWS
}

/// Replaces the text between two markers.
fn replace_between(text: &str, start: &str, end: &str, new: &str) -> String {
    let (before, rest) = text.split_once(start).expect(start);
    let (_, after) = rest.split_once(end).expect(end);
    format!("{before}{start}{new}{end}{after}")
}

#[test]
fn the_manual_follows_the_table_of_settings() {
    let found = std::fs::read_to_string(MANUAL).expect("the manual");
    let start = "what to do; the exit code is 2.\n\n";
    let expected = replace_between(&found, start, "\nA variable that is set", &variable_table());
    let expected = replace_between(&expected, "\n```toml\n", "```\n", &whole_file());
    if std::env::var_os("FOXWEDGE_UPDATE_DOCS").is_some() {
        std::fs::write(MANUAL, &expected).expect("the manual");
    } else {
        assert!(found == expected, "the manual differs: test with FOXWEDGE_UPDATE_DOCS=1");
    }
}

#[test]
fn the_file_of_the_manual_is_valid() {
    let here = Here::new().with("ALICE_TOKEN", "0123456789abcdef").saying(&whole_file());
    assert_eq!(here.complaints(), [""; 0]);
    // Values of sections that are not lists are the defaults.
    let changed = here.loaded().sections.into_iter().filter(|it| !it.header.starts_with("[["));
    let changed: Vec<String> = changed
        .flat_map(|section| section.settings)
        .filter(|setting| !setting.is_default)
        .map(|setting| setting.key)
        .collect();
    assert_eq!(changed, [""; 0]);
}

#[test]
fn former_names_are_free() {
    for section in table::sections() {
        for row in &section.rows {
            let is_used = section.rows.iter().any(|other| other.key == row.former);
            assert!(!is_used, "{}.{}", section.name, row.former);
            assert!(!row.doc.is_empty(), "{}.{}", section.name, row.key);
        }
    }
}
