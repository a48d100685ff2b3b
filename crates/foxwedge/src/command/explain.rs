//! `foxwedge explain`: what a provider's error text means.

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
};

use foxwedge_core::{Explanation, Language, explain, rules};

use crate::{
    cli::{ExplainArgs, RuleArgs},
    command::rule,
    say::{BOLD, DIM, ERROR, Trouble, clean, complaint, cut, out, paint, talk},
};

/// Explains the text.
pub(crate) fn run(args: ExplainArgs) -> anyhow::Result<ExitCode> {
    let text = text(&args)?;
    // A code or a rule's name is a question too.
    if let Some(known) = rules::find(&text) {
        return rule::run(RuleArgs { rule: known.label() });
    }
    match explain(&text) {
        Some(explanation) => {
            out(&told(&explanation, args.language.unwrap_or_default()))?;
            Ok(ExitCode::SUCCESS)
        }
        None => {
            talk(&complaint(
                "this error text is not about the shape of a conversation, or not one we know",
                Some(
                    "`foxwedge check FILE` looks at the conversation itself; `foxwedge rules` lists what it looks for",
                ),
            ));
            Ok(ExitCode::FAILURE)
        }
    }
}

fn text(args: &ExplainArgs) -> anyhow::Result<String> {
    let words = args.text.join(" ");
    if !words.is_empty() && words != "-" {
        return Ok(words);
    }
    let bytes = match io::stdin().is_terminal() {
        true => Vec::new(),
        false => crate::size_limit::read_stdin()?,
    };
    let text = String::from_utf8_lossy(&bytes).into_owned();
    if text.trim().is_empty() {
        let trouble = Trouble::new("there is no error text");
        return Err(trouble.help("`foxwedge explain \"messages.3: …\"`, or pipe it in").into());
    }
    Ok(text)
}

fn told(explanation: &Explanation<'_>, language: Language) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        text.push_str(&format!("{}  {value}\n", paint(DIM, format_args!("{name:<8}"))));
    };
    line("rule", &titled(explanation.code));
    line("wording", explanation.provider);
    if let Some(index) = explanation.message_index {
        line("message", &format!("{index}, counted from 0"));
    }
    if !explanation.ids.is_empty() {
        let ids: Vec<String> =
            explanation.ids.iter().take(20).map(|id| clean(&cut(id, 64))).collect();
        line("ids", &ids.join(", "));
    }
    for code in explanation.also {
        line("also", &titled(*code));
    }
    let advice = match language {
        Language::English => explanation.advice,
        Language::Chinese => explanation.advice_zh,
    };
    format!("{text}\n{advice}\n")
}

/// A rule on one line.
fn titled(code: u16) -> String {
    let label = format!("FW{code}");
    match rules::find(&label) {
        Some(rule) => {
            format!("{} {}: {}", paint(ERROR, label), paint(BOLD, rule.name), rule.summary)
        }
        None => label,
    }
}
