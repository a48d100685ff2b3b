//! Usage errors and help screens of clap in Chinese.

use std::io::Write;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use foxwedge_local::output::{ERROR, HELP, paint};

use super::command_help::translate_screen;

/// Prints a help screen or a usage error, and exits as clap does.
pub(crate) fn exit_with(error: &Error) -> ! {
    let text = match describe(error) {
        Some(text) => format!("{}: {text}\n{}", paint(ERROR, "错误"), ending(error)),
        None => translate_screen(error.render().ansi().to_string()),
    };
    // A closed stream cannot be reported anywhere.
    let _ = match error.use_stderr() {
        true => anstream::stderr().write_all(text.as_bytes()),
        false => anstream::stdout().write_all(text.as_bytes()),
    };
    std::process::exit(error.exit_code())
}

/// What is wrong, with the possible values or the nearest name; `None` for a help screen.
fn describe(error: &Error) -> Option<String> {
    let arg = context(error, ContextKind::InvalidArg);
    let value = context(error, ContextKind::InvalidValue);
    let text = match error.kind() {
        ErrorKind::UnknownArgument => format!("没有参数 '{arg}'"),
        ErrorKind::InvalidSubcommand => {
            format!("没有命令 '{}'", context(error, ContextKind::InvalidSubcommand))
        }
        ErrorKind::InvalidValue if value.is_empty() => format!("参数 '{arg}' 需要一个值"),
        ErrorKind::InvalidValue => format!("参数 '{arg}' 的值 '{value}' 无效"),
        ErrorKind::ValueValidation => {
            let cause = std::error::Error::source(error).map(|cause| format!(": {cause}"));
            format!("参数 '{arg}' 的值 '{value}' 无效{}", cause.unwrap_or_default())
        }
        ErrorKind::MissingRequiredArgument => format!("缺少必需的参数: {arg}"),
        ErrorKind::ArgumentConflict => match context(error, ContextKind::PriorArg) {
            other if other.is_empty() || other == arg => format!("参数 '{arg}' 不能使用多次"),
            other => format!("参数 '{arg}' 不能与 {other} 一起使用"),
        },
        ErrorKind::TooManyValues => format!("参数 '{arg}' 不接受更多的值: '{value}'"),
        ErrorKind::TooFewValues | ErrorKind::WrongNumberOfValues => {
            format!("参数 '{arg}' 的值的个数不对")
        }
        ErrorKind::NoEquals => format!("给参数 '{arg}' 赋值时需要等号"),
        ErrorKind::MissingSubcommand => "需要一个子命令".to_owned(),
        ErrorKind::InvalidUtf8 => "有一个参数不是有效的 UTF-8".to_owned(),
        _ => return None,
    };
    let values = context(error, ContextKind::ValidValue);
    let values = if values.is_empty() { values } else { format!("\n  [可选值: {values}]") };
    Some(format!("{text}{values}{}", suggestion(error)))
}

/// The nearest known name, as a line of its own.
fn suggestion(error: &Error) -> String {
    let kinds =
        [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue];
    let mut names = kinds.into_iter().map(|kind| context(error, kind));
    match names.find(|name| !name.is_empty()) {
        Some(name) => format!("\n\n  {}: 是不是 '{name}'？", paint(HELP, "提示")),
        None => String::new(),
    }
}

fn ending(error: &Error) -> String {
    let usage = match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => format!("\n{}\n", usage.ansi()),
        _ => String::new(),
    };
    format!("{}\n更多信息请用 '--help'。\n", translate_screen(usage))
}

/// A part of the error as text; empty if it has none.
fn context(error: &Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        Some(ContextValue::Strings(texts)) => texts.join(", "),
        Some(ContextValue::StyledStr(text)) => text.to_string(),
        Some(ContextValue::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}
