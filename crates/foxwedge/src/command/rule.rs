//! `foxwedge rule`: the documentation of one rule, or the list of a rule family.

use crate::check_flags;
use std::{
    borrow::Cow,
    io::{self, IsTerminal},
    process::ExitCode,
};

use foxwedge_core::Rule;

use crate::{cli::RuleArgs, command::rules::table};
use foxwedge_local::{
    language::is_translated,
    output::{BOLD, DIM, FRAME, paint, write_stdout},
    pager::write_paged,
};

/// Prints the documentation: plain Markdown into a pipe, styled on a terminal.
pub(crate) fn run(args: RuleArgs) -> anyhow::Result<ExitCode> {
    let rules = check_flags::find_rules(&args.rule)?;
    let [rule] = rules.as_slice() else {
        write_stdout(&table(rules))?;
        return Ok(ExitCode::SUCCESS);
    };
    let markdown = page(rule);
    if io::stdout().is_terminal() {
        write_paged(|out| out.write_all(style_markdown(&markdown).as_bytes()))?
    } else {
        write_stdout(&markdown)?
    }
    Ok(ExitCode::SUCCESS)
}

/// The page of a rule. In Chinese it is shorter.
fn page(rule: &Rule) -> Cow<'static, str> {
    let translated = is_translated().then(|| rule.chinese_page()).flatten();
    translated.map_or(Cow::Borrowed(rule.explain), Cow::Owned)
}

/// Makes headings bold and examples dim.
fn style_markdown(markdown: &str) -> String {
    let mut text = String::new();
    let mut in_example = false;
    for line in markdown.lines() {
        if line.starts_with("```") {
            in_example = !in_example;
            continue;
        }
        let line = match line.trim_start_matches('#') {
            _ if in_example => paint(DIM, format_args!("    {line}")),
            title if title.len() + 1 == line.len() => paint(FRAME, title.trim_start()),
            title if title.len() < line.len() => paint(BOLD, title.trim_start()),
            _ => line.to_owned(),
        };
        text.push_str(&line);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn styled_markdown_has_no_markup_characters() {
        let markdown = "# FW1 x\n\nText.\n\n## Part\n\n```text\n# kept\n```\n";
        let plain = anstream::adapter::strip_str(&super::style_markdown(markdown)).to_string();
        assert_eq!(plain, "FW1 x\n\nText.\n\nPart\n\n    # kept\n");
    }
}
