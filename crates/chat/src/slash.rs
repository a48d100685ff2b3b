//! Slash commands: their table and their parser.

use foxwedge_core::nearest_name;
use foxwedge_local::{language::localize, screen::pad};

/// An entry of the command table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlashCommandSpec {
    /// Its name, without the slash.
    pub(crate) name: &'static str,
    /// Its arguments, as shown in the help; empty if it takes none.
    pub(crate) arguments: &'static str,
    /// What it does.
    pub(crate) help: &'static str,
    build: fn(Option<&str>) -> SlashCommand,
}

/// The only argument that `/undo` takes.
const UNDO_FILES: &str = "files";

/// A parsed command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SlashCommand {
    /// List the commands.
    Help,
    /// Compact the history; the argument names what matters.
    Compact(Option<String>),
    /// Resume another session; without an id, list them.
    Resume(Option<String>),
    /// Continue without a new prompt.
    Continue,
    /// Switch to a copy of the session.
    Fork,
    /// Export the conversation; the argument is a format or a file.
    Export(Option<String>),
    /// Undo the last prompt; the argument says whether the files that it changed are restored.
    Undo(UndoScope),
    /// Show or change the model.
    Model(Option<String>),
    /// List the tools.
    Tools,
    /// Show the status of the session.
    Status,
    /// Start a new session.
    New,
    /// Exit.
    Quit,
}

/// What `/undo` undoes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UndoScope {
    /// The prompt and its replies.
    Conversation,
    /// Also the changes of files that tools made.
    WithFiles,
}

/// All commands, in the order of the help.
pub(crate) const SLASH_COMMANDS: [SlashCommandSpec; 12] = [
    command_spec("help", "", "list the commands", |_| SlashCommand::Help),
    command_spec("continue", "", "continue without a new prompt", |_| SlashCommand::Continue),
    command_spec("undo", "[files]", "undo the last prompt, or also its changes of files", |rest| {
        SlashCommand::Undo(match rest {
            Some(_) => UndoScope::WithFiles,
            None => UndoScope::Conversation,
        })
    }),
    command_spec("compact", "[what matters]", "compact the history now", |rest| {
        SlashCommand::Compact(rest.map(str::to_owned))
    }),
    command_spec("new", "", "start a new session", |_| SlashCommand::New),
    command_spec("resume", "[ID]", "resume another session; without an id, list them", |rest| {
        SlashCommand::Resume(rest.map(str::to_owned))
    }),
    command_spec("fork", "", "switch to a copy of this session", |_| SlashCommand::Fork),
    command_spec("export", "[FILE|md|html|json]", "export the conversation", |rest| {
        SlashCommand::Export(rest.map(str::to_owned))
    }),
    command_spec("model", "[NAME]", "show or change the model", |rest| {
        SlashCommand::Model(rest.map(str::to_owned))
    }),
    command_spec("tools", "", "list the tools, and which of them ask first", |_| {
        SlashCommand::Tools
    }),
    command_spec("status", "", "show the session, its size, cost and health", |_| {
        SlashCommand::Status
    }),
    command_spec("quit", "", "exit", |_| SlashCommand::Quit),
];

/// Aliases of commands.
const ALIASES: [(&str, &str); 3] = [("exit", "quit"), ("clear", "new"), ("?", "help")];

const fn command_spec(
    name: &'static str,
    arguments: &'static str,
    help: &'static str,
    build: fn(Option<&str>) -> SlashCommand,
) -> SlashCommandSpec {
    SlashCommandSpec { name, arguments, help, build }
}

/// A parsed input line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ChatInputLine {
    /// A blank line.
    Empty,
    /// A prompt for the model.
    Prompt(String),
    /// A command.
    Command(SlashCommand),
    /// An unknown command, or one with unexpected arguments.
    Unknown(UnknownSlashCommand),
}

/// The error for an unknown command or unexpected arguments.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct UnknownSlashCommand {
    /// The error message.
    pub(crate) message: String,
    /// The hint.
    pub(crate) help: String,
}

/// Parses a line. A path such as `/etc/hosts` is not a command; `//` escapes a leading slash.
pub(crate) fn parse(line: &str) -> ChatInputLine {
    let text = line.trim();
    if text.is_empty() {
        return ChatInputLine::Empty;
    }
    let Some(rest) = text.strip_prefix('/') else { return ChatInputLine::Prompt(text.to_owned()) };
    if rest.starts_with('/') {
        return ChatInputLine::Prompt(rest.to_owned());
    }
    let (word, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let plain = |c: char| c.is_ascii_alphabetic() || matches!(c, '-' | '_' | '?');
    if word.is_empty() || !word.chars().all(plain) {
        return ChatInputLine::Prompt(text.to_owned());
    }
    let arguments = Some(arguments.trim()).filter(|arguments| !arguments.is_empty());
    let named = ALIASES.iter().find(|(alias, _)| *alias == word).map_or(word, |(_, name)| name);
    match SLASH_COMMANDS.iter().find(|entry| entry.name == named) {
        Some(entry) if entry.arguments.is_empty() && arguments.is_some() => {
            ChatInputLine::Unknown(UnknownSlashCommand {
                message: format!("`/{}` takes no arguments", entry.name),
                help: format!("to send it as a prompt, type two slashes: `//{word} …`"),
            })
        }
        Some(entry)
            if entry.name == "undo" && arguments.is_some_and(|given| given != UNDO_FILES) =>
        {
            ChatInputLine::Unknown(UnknownSlashCommand {
                message: format!("`/undo` takes no arguments but `{UNDO_FILES}`"),
                help: format!("to send it as a prompt, type two slashes: `//{word} …`"),
            })
        }
        Some(entry) => ChatInputLine::Command((entry.build)(arguments)),
        None => ChatInputLine::Unknown(unknown_command(word)),
    }
}

/// The help text: one line per command.
pub(crate) fn help_text() -> String {
    let wide = |entry: &SlashCommandSpec| entry.name.len() + entry.arguments.len() + 2;
    let widest = SLASH_COMMANDS.iter().map(wide).max().unwrap_or(0);
    let mut lines = String::new();
    for entry in &SLASH_COMMANDS {
        let head = format!("/{} {}", entry.name, localize(entry.arguments));
        lines.push_str(&format!("{}  {}\n", pad(&head, widest), localize(entry.help)));
    }
    // The terminal handles this command itself.
    let thoughts = localize("show or hide thoughts (terminal only)");
    lines.push_str(&format!("{:widest$}  {thoughts}\n", "/thoughts"));
    lines.push_str(
        "In the terminal, `@file` adds a file or a picture, `!command` runs a command.\n",
    );
    lines.push_str("Everything else is a prompt; one that starts with a slash needs two: `//`.\n");
    lines
}

fn unknown_command(word: &str) -> UnknownSlashCommand {
    let names = SLASH_COMMANDS
        .iter()
        .map(|entry| entry.name)
        .chain(ALIASES.iter().map(|(alias, _)| *alias));
    let help = match nearest_name(word, names) {
        Some(name) => format!("did you mean `/{name}`? `/help` lists all"),
        None => "`/help` lists all; a prompt that starts with a slash needs two: `//`".to_owned(),
    };
    let shown = foxwedge_local::output::cut(word, 40);
    UnknownSlashCommand { message: format!("there is no command `/{shown}`"), help }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_prompts_unless_they_name_a_command() {
        let prompt = |text: &str| ChatInputLine::Prompt(text.to_owned());
        let some = |text: &str| Some(text.to_owned());
        let table = [
            ("", ChatInputLine::Empty),
            ("  \t", ChatInputLine::Empty),
            (" hello ", prompt("hello")),
            ("/etc/hosts is what?", prompt("/etc/hosts is what?")),
            ("/ alone", prompt("/ alone")),
            ("//help", prompt("/help")),
            ("/help", ChatInputLine::Command(SlashCommand::Help)),
            (" /quit ", ChatInputLine::Command(SlashCommand::Quit)),
            ("/exit", ChatInputLine::Command(SlashCommand::Quit)),
            ("/undo", ChatInputLine::Command(SlashCommand::Undo(UndoScope::Conversation))),
            ("/undo files ", ChatInputLine::Command(SlashCommand::Undo(UndoScope::WithFiles))),
            ("/clear", ChatInputLine::Command(SlashCommand::New)),
            ("/compact", ChatInputLine::Command(SlashCommand::Compact(None))),
            (
                "/compact the  tests",
                ChatInputLine::Command(SlashCommand::Compact(some("the  tests"))),
            ),
            ("/resume chat-12", ChatInputLine::Command(SlashCommand::Resume(some("chat-12")))),
            ("/export\ta b.md", ChatInputLine::Command(SlashCommand::Export(some("a b.md")))),
            ("/model\u{a0}x", ChatInputLine::Command(SlashCommand::Model(some("x")))),
        ];
        for (line, expected) in table {
            assert_eq!(parse(line), expected, "{line:?}");
        }
    }

    #[test]
    fn typo_gets_a_suggestion() {
        let error = |line: &str| match parse(line) {
            ChatInputLine::Unknown(unknown) => format!("{}; {}", unknown.message, unknown.help),
            other => format!("{other:?}"),
        };
        assert_eq!(
            error("/staus"),
            "there is no command `/staus`; did you mean `/status`? `/help` lists all"
        );
        assert!(error("/banana split").starts_with("there is no command `/banana`; `/help`"));
        assert!(
            error("/fork that").starts_with("`/fork` takes no arguments"),
            "{}",
            error("/fork that")
        );
        for line in ["/undo filesx", "/undo\n!touch pasted", "/undo files now"] {
            assert!(error(line).starts_with("`/undo` takes no arguments but `files`"), "{line}");
        }
    }

    #[test]
    fn names_are_unique_and_every_command_is_found() {
        for entry in &SLASH_COMMANDS {
            assert!(matches!(parse(&format!("/{}", entry.name)), ChatInputLine::Command(_)));
            assert_eq!(SLASH_COMMANDS.iter().filter(|other| other.name == entry.name).count(), 1);
            assert!(help_text().contains(&format!("/{} ", entry.name)));
        }
        for (alias, name) in ALIASES {
            assert_eq!(parse(&format!("/{alias}")), parse(&format!("/{name}")));
        }
    }
}
