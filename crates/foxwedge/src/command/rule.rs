//! `foxwedge rule`: the page of one rule, or the list of a family.

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
};

use crate::{
    ask,
    cli::RuleArgs,
    command::rules::table,
    say::{BOLD, DIM, FRAME, out, paint},
};

/// Prints the page: plain Markdown into a pipe, lightly dressed on a terminal. A family is listed.
pub(crate) fn run(args: RuleArgs) -> anyhow::Result<ExitCode> {
    let found = ask::rules_of(&args.rule)?;
    let [rule] = found.as_slice() else {
        out(&table(found))?;
        return Ok(ExitCode::SUCCESS);
    };
    let page = rule.explain;
    if io::stdout().is_terminal() {
        out(&dressed(page))?
    } else {
        out(page)?
    }
    Ok(ExitCode::SUCCESS)
}

/// Headings bold, examples dim.
fn dressed(page: &str) -> String {
    let mut text = String::new();
    let mut example = false;
    for line in page.lines() {
        if line.starts_with("```") {
            example = !example;
            continue;
        }
        let line = match line.trim_start_matches('#') {
            _ if example => paint(DIM, format_args!("    {line}")),
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
    fn a_dressed_page_reads_without_marks() {
        let page = "# FW1 x\n\nText.\n\n## Part\n\n```text\n# kept\n```\n";
        let plain = anstream::adapter::strip_str(&super::dressed(page)).to_string();
        assert_eq!(plain, "FW1 x\n\nText.\n\nPart\n\n    # kept\n");
    }
}
