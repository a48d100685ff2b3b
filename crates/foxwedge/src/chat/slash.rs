//! What may be typed behind a slash: one table, one parser.

use crate::nearest::nearest;

/// A command that may be typed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlashCommandSpec {
    /// Its name, without the slash.
    pub(crate) name: &'static str,
    /// What may stand behind it.
    pub(crate) arguments: &'static str,
    /// What it does.
    pub(crate) help: &'static str,
    build: fn(Option<&str>) -> SlashCommand,
}

/// What was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SlashCommand {
    /// Say what can be typed.
    Help,
    /// Make the history shorter; what has to be kept in it, if somebody says so.
    Compact(Option<String>),
    /// Go on with another session.
    Resume(Option<String>),
    /// Go on with what is there, without a new prompt.
    Continue,
    /// Go on in a copy.
    Fork,
    /// Write the conversation as a document: a format, or a file.
    Export(Option<String>),
    /// Take the last prompt back.
    Undo,
    /// Say which model is asked, or ask another.
    Model(Option<String>),
    /// List the tools.
    Tools,
    /// Say how things are.
    Status,
    /// Begin a new session.
    New,
    /// End.
    Quit,
}

/// Everything that may be typed, in the order in which it is told.
pub(crate) const SLASH_COMMANDS: [SlashCommandSpec; 12] = [
    command_spec("help", "", "what can be typed", |_| SlashCommand::Help),
    command_spec("continue", "", "go on with what is there, without a new prompt", |_| {
        SlashCommand::Continue
    }),
    command_spec("undo", "", "take the last prompt back; files are not put back", |_| {
        SlashCommand::Undo
    }),
    command_spec("compact", "[what matters]", "make the history shorter now", |rest| {
        SlashCommand::Compact(rest.map(str::to_owned))
    }),
    command_spec("new", "", "begin a new session", |_| SlashCommand::New),
    command_spec(
        "resume",
        "[ID]",
        "go on with another session; without an id, list them",
        |rest| SlashCommand::Resume(rest.map(str::to_owned)),
    ),
    command_spec("fork", "", "go on in a copy of this session", |_| SlashCommand::Fork),
    command_spec("export", "[FILE|md|html|json]", "write the conversation as a document", |rest| {
        SlashCommand::Export(rest.map(str::to_owned))
    }),
    command_spec("model", "[NAME]", "which model is asked, or ask another", |rest| {
        SlashCommand::Model(rest.map(str::to_owned))
    }),
    command_spec("tools", "", "the tools, and which of them ask first", |_| SlashCommand::Tools),
    command_spec("status", "", "session, size, cost and health", |_| SlashCommand::Status),
    command_spec("quit", "", "end", |_| SlashCommand::Quit),
];

/// Names that mean the same as another.
const ALIASES: [(&str, &str); 3] = [("exit", "quit"), ("clear", "new"), ("?", "help")];

const fn command_spec(
    name: &'static str,
    arguments: &'static str,
    help: &'static str,
    make: fn(Option<&str>) -> SlashCommand,
) -> SlashCommandSpec {
    SlashCommandSpec { name, arguments, help, build: make }
}

/// What a line is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum ChatInputLine {
    /// Nothing.
    Empty,
    /// Something for the model.
    Prompt(String),
    /// A command.
    Command(SlashCommand),
    /// A slash and a word that nobody knows.
    Unknown(UnknownSlashCommand),
}

/// A command that nobody knows, or that takes nothing and got something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct UnknownSlashCommand {
    /// What is wrong.
    pub(crate) message: String,
    /// What to do.
    pub(crate) help: String,
}

/// Reads a line. A path such as `/etc/hosts` is no command, and two slashes are one for the model.
pub(crate) fn parse(line: &str) -> ChatInputLine {
    let text = line.trim();
    if text.is_empty() {
        return ChatInputLine::Empty;
    }
    let Some(rest) = text.strip_prefix('/') else { return ChatInputLine::Prompt(text.to_owned()) };
    if rest.starts_with('/') {
        return ChatInputLine::Prompt(rest.to_owned());
    }
    let (word, behind) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let plain = |c: char| c.is_ascii_alphabetic() || matches!(c, '-' | '_' | '?');
    if word.is_empty() || !word.chars().all(plain) {
        return ChatInputLine::Prompt(text.to_owned());
    }
    let behind = Some(behind.trim()).filter(|behind| !behind.is_empty());
    let named = ALIASES.iter().find(|(also, _)| *also == word).map_or(word, |(_, name)| name);
    match SLASH_COMMANDS.iter().find(|entry| entry.name == named) {
        Some(entry) if entry.arguments.is_empty() && behind.is_some() => {
            ChatInputLine::Unknown(UnknownSlashCommand {
                message: format!("`/{}` takes nothing behind it", entry.name),
                help: format!("two slashes begin a prompt that begins with one: `//{word} …`"),
            })
        }
        Some(entry) => ChatInputLine::Command((entry.build)(behind)),
        None => ChatInputLine::Unknown(unknown_command(word)),
    }
}

/// What can be typed, as lines.
pub(crate) fn help_text() -> String {
    let wide = |entry: &SlashCommandSpec| entry.name.len() + entry.arguments.len() + 2;
    let widest = SLASH_COMMANDS.iter().map(wide).max().unwrap_or(0);
    let mut lines = String::new();
    for entry in &SLASH_COMMANDS {
        let head = format!("/{} {}", entry.name, entry.arguments);
        lines.push_str(&format!("{head:widest$}  {}\n", entry.help));
    }
    // The screen's own, which it hears before us.
    lines.push_str(&format!("{:widest$}  show or hide thoughts, in the terminal\n", "/thoughts"));
    lines.push_str("Everything else is a prompt; `//` begins one that begins with a slash.\n");
    lines
}

fn unknown_command(word: &str) -> UnknownSlashCommand {
    let names =
        SLASH_COMMANDS.iter().map(|entry| entry.name).chain(ALIASES.iter().map(|(also, _)| *also));
    let help = match nearest(word, names) {
        Some(name) => format!("did you mean `/{name}`? `/help` lists all"),
        None => "`/help` lists all; `//` begins a prompt that begins with a slash".to_owned(),
    };
    let shown = crate::cli_output::cut(word, 40);
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
    fn a_slip_is_told_with_what_was_meant() {
        let told = |line: &str| match parse(line) {
            ChatInputLine::Unknown(unknown) => format!("{}; {}", unknown.message, unknown.help),
            other => format!("{other:?}"),
        };
        assert_eq!(
            told("/staus"),
            "there is no command `/staus`; did you mean `/status`? `/help` lists all"
        );
        assert!(told("/banana split").starts_with("there is no command `/banana`; `/help`"));
        assert!(told("/undo that").starts_with("`/undo` takes nothing"), "{}", told("/undo that"));
    }

    #[test]
    fn names_are_told_once_and_every_one_is_found() {
        for entry in &SLASH_COMMANDS {
            assert!(matches!(parse(&format!("/{}", entry.name)), ChatInputLine::Command(_)));
            assert_eq!(SLASH_COMMANDS.iter().filter(|other| other.name == entry.name).count(), 1);
            assert!(help_text().contains(&format!("/{} ", entry.name)));
        }
        for (also, name) in ALIASES {
            assert_eq!(parse(&format!("/{also}")), parse(&format!("/{name}")));
        }
    }
}
