//! `foxwedge explain`: explains a provider's error text.

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
};

use foxwedge_core::{ErrorExplanation, PlaceholderLanguage, explain, explain_other, rules};

use crate::{
    cli::{ExplainArgs, RuleArgs},
    command::rule,
};
use foxwedge_local::{
    language::{is_translated, localize},
    output::{
        BOLD, DIM, ERROR, HelpfulError, clean, cut, format_error, paint, write_stderr, write_stdout,
    },
    screen::pad,
};

pub(crate) fn run(args: ExplainArgs) -> anyhow::Result<ExitCode> {
    let text = error_text(&args)?;
    // A rule code or rule name shows that rule.
    if let Some(rule) = rules::find_rule(&text) {
        return rule::run(RuleArgs { rule: rule.label() });
    }
    let language = args.language.unwrap_or_else(screen_language);
    if let Some(explanation) = explain(&text) {
        write_stdout(&explanation_text(&explanation, language))?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(error) = explain_other(&text) {
        let advice = in_language(error.advice, error.advice_zh, language);
        let wording = paint(DIM, pad(&localize("wording"), 8));
        write_stdout(&format!("{wording}  {}\n\n{advice}\n", error.provider))?;
        return Ok(ExitCode::SUCCESS);
    }
    write_stderr(&format_error(
        "unknown error text: it matches no known conversation error",
        Some("`foxwedge check FILE` checks the conversation; `foxwedge rules` lists the rules"),
    ));
    Ok(ExitCode::FAILURE)
}

fn error_text(args: &ExplainArgs) -> anyhow::Result<String> {
    let text = args.text.join(" ");
    if !text.is_empty() && text != "-" {
        return Ok(text);
    }
    let bytes = match io::stdin().is_terminal() {
        true => Vec::new(),
        false => foxwedge_local::size_limit::read_stdin()?,
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    if text.trim().is_empty() {
        let error = HelpfulError::new("no error text given");
        return Err(error.help("`foxwedge explain \"messages.3: …\"`, or pipe it in").into());
    }
    Ok(text)
}

fn explanation_text(explanation: &ErrorExplanation<'_>, language: PlaceholderLanguage) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        text.push_str(&format!("{}  {value}\n", paint(DIM, pad(&localize(name), 8))));
    };
    line("rule", &rule_line(explanation.code));
    line("wording", explanation.provider);
    if let Some(index) = explanation.message_index {
        line("message", &localize(format!("{index}, counted from 0")));
    }
    if !explanation.ids.is_empty() {
        let ids: Vec<String> =
            explanation.ids.iter().take(20).map(|id| clean(&cut(id, 64))).collect();
        line("ids", &ids.join(", "));
    }
    for code in explanation.other_codes {
        line("also", &rule_line(*code));
    }
    let advice = in_language(explanation.advice, explanation.advice_zh, language);
    format!("{text}\n{advice}\n")
}

/// The language of the screen.
fn screen_language() -> PlaceholderLanguage {
    match is_translated() {
        true => PlaceholderLanguage::Chinese,
        false => PlaceholderLanguage::English,
    }
}

fn in_language<'a>(english: &'a str, chinese: &'a str, language: PlaceholderLanguage) -> &'a str {
    match language {
        PlaceholderLanguage::English => english,
        PlaceholderLanguage::Chinese => chinese,
    }
}

/// Code, name and summary of a rule on one line.
fn rule_line(code: u16) -> String {
    let label = format!("FW{code}");
    match rules::find_rule(&label) {
        Some(rule) => {
            let summary = localize(rule.summary);
            format!("{} {}: {summary}", paint(ERROR, label), paint(BOLD, rule.name))
        }
        None => label,
    }
}
