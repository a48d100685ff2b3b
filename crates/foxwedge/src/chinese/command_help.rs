//! The help of all commands in Chinese.

use clap::{Arg, Command};
use foxwedge_local::language::localize;

/// Text that clap itself writes into a help screen.
pub(super) const CLAP_WORDS: [(&str, &str); 16] = [
    ("Usage:", "用法:"),
    ("Options:", "选项:"),
    ("Arguments:", "参数:"),
    ("Commands:", "命令:"),
    ("Possible values:", "可选值:"),
    ("[default:", "[默认:"),
    ("[possible values:", "[可选值:"),
    ("[env:", "[环境变量:"),
    ("[aliases:", "[别名:"),
    ("Print help (see more with '--help')", "显示帮助（'--help' 更详细）"),
    ("Print help (see a summary with '-h')", "显示帮助（'-h' 更简短）"),
    ("Print this message or the help of the given subcommand(s)", "显示本帮助，或某个子命令的帮助"),
    ("Print help", "显示帮助"),
    ("Print version", "显示版本"),
    ("(see more with '--help')", "（'--help' 更详细）"),
    ("(see a summary with '-h')", "（'-h' 更简短）"),
];

/// Translates the descriptions of a command, its arguments and its subcommands.
pub(crate) fn translate_command(mut command: Command) -> Command {
    if let Some(about) = command.get_about().map(ToString::to_string) {
        command = command.about(localize(about).into_owned());
    }
    if let Some(about) = command.get_long_about().map(ToString::to_string) {
        command = command.long_about(localize(about).into_owned());
    }
    if let Some(text) = command.get_after_help().map(ToString::to_string) {
        command = command.after_help(translate_lines(&text));
    }
    command.mut_args(translate_arg).mut_subcommands(translate_command)
}

fn translate_arg(mut arg: Arg) -> Arg {
    if let Some(help) = arg.get_help().map(ToString::to_string) {
        arg = arg.help(localize(help).into_owned());
    }
    if let Some(help) = arg.get_long_help().map(ToString::to_string) {
        arg = arg.long_help(localize(help).into_owned());
    }
    if let Some(heading) = arg.get_help_heading().map(str::to_owned) {
        // Clap keeps headings for as long as the process runs.
        let heading: &'static str = localize(heading).into_owned().leak();
        arg = arg.help_heading(heading);
    }
    arg
}

fn translate_lines(text: &str) -> String {
    text.split_inclusive('\n').map(localize).collect()
}

/// Translates what clap wrote around the descriptions, and the descriptions of possible values,
/// which cannot be replaced in a command.
pub(super) fn translate_screen(mut screen: String) -> String {
    for (english, chinese) in CLAP_WORDS {
        screen = screen.replace(english, chinese);
    }
    screen = translate_wrapped_values(&screen);
    let lines = screen.split_inclusive('\n').map(|line| {
        let value = line.trim_start().strip_prefix("- ").and_then(|line| line.split_once(": "));
        match value {
            Some((_, help)) => {
                let start = line.strip_suffix(help).unwrap_or_default();
                format!("{start}{}", localize(help))
            }
            None => line.to_owned(),
        }
    });
    lines.collect()
}

/// Translates `[possible values:` where clap wrapped the line between the two words.
fn translate_wrapped_values(screen: &str) -> String {
    let mut pieces = screen.split("[possible");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.trim_start().strip_prefix("values:") {
            Some(rest) => {
                let gap = piece.len() - piece.trim_start().len();
                text.truncate(text.trim_end().len());
                text.push_str(piece.get(..gap).unwrap_or_default());
                text.push_str("[可选值:");
                text.push_str(rest);
            }
            None => {
                text.push_str("[possible");
                text.push_str(piece);
            }
        }
    }
    text
}

/// Every text of a command tree that needs a translation.
#[cfg(test)]
pub(super) fn texts(command: &Command) -> Vec<String> {
    let styled = [command.get_about(), command.get_long_about(), command.get_after_help()];
    let mut texts: Vec<String> = styled.into_iter().flatten().map(ToString::to_string).collect();
    for arg in command.get_arguments() {
        let helps = [arg.get_help(), arg.get_long_help()].into_iter().flatten();
        texts.extend(helps.map(ToString::to_string));
        texts.extend(arg.get_help_heading().map(str::to_owned));
        let values = arg.get_possible_values();
        texts.extend(values.iter().filter_map(|value| value.get_help()).map(ToString::to_string));
    }
    texts.extend(command.get_subcommands().flat_map(texts_of));
    texts
}

#[cfg(test)]
fn texts_of(command: &Command) -> Vec<String> {
    texts(command)
}
