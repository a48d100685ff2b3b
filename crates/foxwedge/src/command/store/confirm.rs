//! Asks before something is deleted.

use std::io::{self, BufRead, IsTerminal};

use anyhow::{Context, bail};

use crate::cli_output::{self, CliError, WARNING, paint};

/// Whether it may be done. Somebody has to be there to say so, or to have said so before.
pub(super) fn confirm(yes: bool, question: &str) -> anyhow::Result<bool> {
    if yes {
        return Ok(true);
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        bail!(
            CliError::new(format!("{question} Nobody is there to answer"))
                .help("nothing was deleted; --yes says yes before it is asked")
        );
    }
    cli_output::write_stderr(&format!("{} [y/N] ", paint(WARNING, question)));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).context("no answer can be read")?;
    let said_yes = matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes");
    if !said_yes {
        cli_output::write_stderr("Nothing was deleted.\n");
    }
    Ok(said_yes)
}
