//! The command line in Chinese. Tables have every sentence that people read: help, findings, edits,
//! errors and the words of every screen. Output for programs stays English.

use std::ffi::OsString;

use foxwedge_core::rules;
use foxwedge_local::language::{Catalog, offer_chinese, use_catalog};

mod command_help;
mod usage_errors;
#[cfg(test)]
mod tests;

pub(crate) use command_help::translate_command;
pub(crate) use usage_errors::exit_with;

/// Sentences, by what they are about.
const TABLES: [&str; 17] = [
    include_str!("chinese/help.txt"),
    include_str!("chinese/runs_help.txt"),
    include_str!("chinese/findings.txt"),
    include_str!("chinese/screens.txt"),
    include_str!("chinese/reading.txt"),
    include_str!("chinese/demo.txt"),
    include_str!("chinese/runs.txt"),
    include_str!("chinese/serving.txt"),
    include_str!("chinese/configuration.txt"),
    include_str!("chinese/conversion.txt"),
    include_str!("chinese/losses.txt"),
    include_str!("chinese/many_sessions.txt"),
    include_str!("chinese/errors.txt"),
    include_str!("chinese/error_helps.txt"),
    include_str!("chinese/suite.txt"),
    include_str!("chinese/console.txt"),
    include_str!("chinese/chat.txt"),
];

/// Switches this process to Chinese if the command line or the environment asks for it. Readers of the
/// console may ask for Chinese in any case.
pub(crate) fn choose_language() {
    offer_chinese(catalog);
    let variable = |name: &str| std::env::var(name).ok();
    if is_chosen(std::env::args_os().skip(1), variable) {
        use_catalog(catalog());
    }
}

/// Whether `--lang`, `FOXWEDGE_LANG` or the locale chooses Chinese; the first one that is set
/// decides.
fn is_chosen(
    args: impl IntoIterator<Item = OsString>,
    variable: impl Fn(&str) -> Option<String>,
) -> bool {
    let variables = ["FOXWEDGE_LANG", "LC_ALL", "LC_MESSAGES", "LANG"].into_iter();
    let mut set = variables.filter_map(variable).filter(|value| !value.is_empty());
    let chosen = language_flag(args).or_else(|| set.next());
    chosen.is_some_and(|language| language.to_ascii_lowercase().starts_with("zh"))
}

/// The value of `--lang`. It is needed before the command line is parsed, because help and usage
/// errors are in this language too.
fn language_flag(args: impl IntoIterator<Item = OsString>) -> Option<String> {
    let mut args = args.into_iter().map(|arg| arg.to_string_lossy().into_owned());
    let mut value = None;
    while let Some(arg) = args.next().filter(|arg| arg != "--") {
        match arg.strip_prefix("--lang") {
            Some("") => value = args.next().or(value),
            Some(rest) => value = rest.strip_prefix('=').map(str::to_owned).or(value),
            None => {}
        }
    }
    value
}

/// All sentences.
fn catalog() -> Catalog {
    let mut catalog = Catalog::parse(&TABLES);
    for rule in rules::ALL {
        if let Some(chinese) = rule.chinese() {
            catalog.insert_fixed(rule.summary, chinese.summary);
        }
    }
    catalog
}
