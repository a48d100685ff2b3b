//! `foxwedge.toml` of a project: what a team checks its requests against.
//!
//! Its table `[check]` holds flags of `check` and `fix`. They apply to requests, not to the sessions
//! of agents, whose rules follow from the agent. A flag on the command line wins.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use clap::{Args, FromArgMatches};
use foxwedge_core::nearest_name;
use foxwedge_gateway::config::root_keys;
use serde::Deserialize;
use toml::de::DeTable;

use crate::cli::CheckArgs;
use foxwedge_local::output::{HelpfulError, clean};

/// The name of the file.
const FILE_NAME: &str = "foxwedge.toml";

/// The keys of the table `[check]`.
const CHECK_KEYS: [&str; 7] =
    ["profile", "select", "ignore", "policy", "orphans", "tail", "language"];
const CHECK_HELP: &str =
    "its table `[check]` takes profile, select, ignore, policy, orphans, tail, language";

/// The file. Tables beside `[check]` configure the gateway.
#[derive(Deserialize)]
struct ProjectFile {
    check: Option<CheckTable>,
}

/// The table `[check]`. Keys and values are those of the flags.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct CheckTable {
    profile: Option<String>,
    #[serde(default)]
    select: Vec<String>,
    #[serde(default)]
    ignore: Vec<String>,
    policy: Option<String>,
    orphans: Option<String>,
    tail: Option<String>,
    language: Option<String>,
}

/// Reads the flags of the project: those of `--config`, or of the next `foxwedge.toml` between the
/// working folder and the root of its repository. `None` if there are none.
pub(crate) fn read_flags(args: &CheckArgs) -> Result<Option<CheckArgs>, HelpfulError> {
    if args.isolated {
        return Ok(None);
    }
    let Some(path) = args.config.clone().or_else(find_file) else { return Ok(None) };
    let shown = clean(&path.to_string_lossy());
    let text = fs::read_to_string(&path).map_err(|error| {
        HelpfulError::new(format!("`{shown}` cannot be read: {error}"))
            .help("--isolated checks without the file of the project")
    })?;
    let file: ProjectFile = toml::from_str(&text).map_err(|error| {
        let line = line_of(&text, error.span().unwrap_or_default().start);
        HelpfulError::new(format!("{shown}:{line}: {}", error.message())).help(CHECK_HELP)
    })?;
    check_root_keys(&text, &shown)?;
    file.check.map(|table| parse_flags(table, &shown)).transpose()
}

/// Refuses keys outside of `[check]` that have no effect, neither here nor in the gateway.
fn check_root_keys(text: &str, shown: &str) -> Result<(), HelpfulError> {
    let Ok(root) = DeTable::parse(text) else { return Ok(()) };
    let mut known = root_keys();
    known.push("check");
    for key in root.get_ref().keys() {
        let name: &str = key.get_ref().as_ref();
        let line = line_of(text, key.span().start);
        if known.contains(&name) {
            continue;
        }
        let help = match nearest_name(name, known.iter().copied()) {
            _ if CHECK_KEYS.contains(&name) => "did you mean `[check]`?".to_owned(),
            Some(meant) => format!("did you mean `{meant}`?"),
            None => CHECK_HELP.to_owned(),
        };
        let name = clean(name);
        return Err(HelpfulError::new(format!("{shown}:{line}: unknown key `{name}`")).help(help));
    }
    Ok(())
}

/// The line of a byte.
fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or_default().matches('\n').count() + 1
}

fn find_file() -> Option<PathBuf> {
    let folder = env::current_dir().ok()?;
    let found = project_folders(&folder).map(|folder| folder.join(FILE_NAME));
    found.into_iter().find(|path| path.is_file())
}

/// A folder and its parents, up to the root of its repository.
fn project_folders(folder: &Path) -> impl Iterator<Item = &Path> {
    let mut left_repository = false;
    folder.ancestors().take_while(move |folder| {
        !std::mem::replace(&mut left_repository, folder.join(".git").exists())
    })
}

/// Parses the table as the flags that it names.
fn parse_flags(table: CheckTable, shown: &str) -> Result<CheckArgs, HelpfulError> {
    let single = [
        ("--profile", table.profile),
        ("--policy", table.policy),
        ("--orphans", table.orphans),
        ("--tail", table.tail),
        ("--language", table.language),
    ];
    let mut words: Vec<String> = Vec::new();
    for (flag, value) in single {
        words.extend(value.map(|value| format!("{flag}={value}")));
    }
    for (flag, values) in [("--select", table.select), ("--ignore", table.ignore)] {
        words.extend(values.iter().map(|value| format!("{flag}={value}")));
    }
    let command = clap::Command::new(FILE_NAME).no_binary_name(true).disable_help_flag(true);
    let parsed = CheckArgs::augment_args(command)
        .try_get_matches_from(words)
        .and_then(|matches| CheckArgs::from_arg_matches(&matches));
    parsed.map_err(|error| {
        let text = error.to_string();
        let text = text.trim_start_matches("error: ").lines().take_while(|line| !line.is_empty());
        let text: Vec<&str> = text.map(str::trim).collect();
        HelpfulError::new(format!("{shown}: {}", text.join(" ")))
            .help("keys and values of `[check]` are those of the flags of `foxwedge check`")
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<CheckArgs, String> {
        let file: ProjectFile = toml::from_str(text).map_err(|error| error.to_string())?;
        parse_flags(file.check.unwrap_or_default(), "foxwedge.toml").map_err(|e| e.to_string())
    }

    #[test]
    fn keys_are_flags() {
        let args = parse(
            "[check]\nprofile = \"claude\"\nignore = [\"FW3\", \"FW101\"]\ntail = \"pending\"\n\
             [gateway]\nlisten = \"127.0.0.1:1\"\n",
        )
        .unwrap();
        assert_eq!(args.profile, Some(foxwedge_core::Profile::Anthropic));
        assert_eq!(args.ignore, ["FW3", "FW101"]);
        assert!(!args.repair.spares_tail());
    }

    #[test]
    fn mistakes_are_named() {
        let unknown = parse("[check]\nprofiles = \"claude\"\n").unwrap_err();
        assert!(unknown.contains("unknown field `profiles`"), "{unknown}");
        let wrong = parse("[check]\nprofile = \"llama\"\n").unwrap_err();
        assert!(wrong.contains("'llama'") && wrong.contains("anthropic"), "{wrong}");
    }
}
