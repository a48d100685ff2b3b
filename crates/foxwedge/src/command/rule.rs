//! `foxwedge rule`: the page of one rule, or the list of a family.

use std::{
    io::{self, IsTerminal},
    process::ExitCode,
};

use crate::{
    check_settings,
    cli::RuleArgs,
    cli_output::{BOLD, DIM, FRAME, paint, write_stdout},
    command::rules::table,
};

/// Prints the page: plain Markdown into a pipe, lightly dressed on a terminal. A family is listed.
pub(crate) fn run(args: RuleArgs) -> anyhow::Result<ExitCode> {
    let found = check_settings::find_rules(&args.rule)?;
    let [rule] = found.as_slice() else {
        write_stdout(&table(found))?;
        return Ok(ExitCode::SUCCESS);
    };
    let page = rule.explain;
    if io::stdout().is_terminal() {
        write_stdout(&style_page(page))?
    } else {
        write_stdout(page)?
    }
    Ok(ExitCode::SUCCESS)
}

/// Headings bold, examples dim.
fn style_page(page: &str) -> String {
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
        let plain = anstream::adapter::strip_str(&super::style_page(page)).to_string();
        assert_eq!(plain, "FW1 x\n\nText.\n\nPart\n\n    # kept\n");
    }
}
