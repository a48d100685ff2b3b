//! Asks for confirmation before a deletion.

use std::io::{self, BufRead, IsTerminal};

use anyhow::{Context, bail};

use foxwedge_local::language::localize;
use foxwedge_local::output::{self, HelpfulError, WARNING, paint};

/// Whether the user confirmed, with `--yes` or at the terminal.
pub(super) fn confirm(yes: bool, question: &str) -> anyhow::Result<bool> {
    if yes {
        return Ok(true);
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        bail!(
            HelpfulError::new(format!("{question} Cannot ask: there is no terminal"))
                .help("nothing was deleted; --yes confirms without asking")
        );
    }
    output::write_stderr(&localize(format!("{} [y/N] ", paint(WARNING, localize(question)))));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).context("cannot read the answer")?;
    let confirmed = matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes");
    if !confirmed {
        output::write_stderr(&localize("Nothing was deleted.\n"));
    }
    Ok(confirmed)
}
