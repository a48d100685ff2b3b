//! The first help screen: commands in groups instead of one long list.

use clap::Command;
use foxwedge_local::language::localize;

/// The commands in the order of the help, by what they are for.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Requests and files", &["check", "fix", "undo", "convert", "compact", "explain"]),
    (
        "Sessions of agents",
        &["list", "search", "show", "continue", "run", "resume", "export", "fork"],
    ),
    ("Gateway", &["serve", "env"]),
    ("Agents and runs", &["chat", "acp", "mcp", "follow", "runs", "store"]),
    ("Rules", &["rule", "rules"]),
    ("Other", &["demo", "rpc", "hook", "suite", "probe", "scripted", "completions", "man", "help"]),
];

/// Replaces the flat list of commands with groups.
pub(super) fn group_commands(command: Command) -> Command {
    let groups = format_groups(&command);
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{groups}\nOptions:\n{{options}}"
    );
    command.help_template(template)
}

fn format_groups(command: &Command) -> String {
    let styles = command.get_styles();
    let (heading, literal) = (styles.get_header(), styles.get_literal());
    let columns = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max();
    let columns = columns.unwrap_or(0);
    let mut text = String::new();
    for (title, names) in GROUPS {
        let title = localize(title);
        text.push_str(&format!("\n{heading}{title}:{heading:#}\n"));
        for name in names {
            let about = match command.find_subcommand(name).and_then(Command::get_about) {
                Some(about) => about.to_string(),
                None => localize("Print this help, or the help of a command").into_owned(),
            };
            text.push_str(&format!("  {literal}{name:columns$}{literal:#}  {about}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::CommandLine;

    #[test]
    fn every_command_is_in_one_group() {
        let command = CommandLine::command();
        let mut names: Vec<&str> = command
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
            .map(Command::get_name)
            .chain(["help"])
            .collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        names.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(names, grouped);
    }
}
