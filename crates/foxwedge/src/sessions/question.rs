//! Questions on the terminal that a user answers with yes or no.

use std::io::{self, IsTerminal};

use foxwedge_local::output::write_stderr;

/// The answer to a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum QuestionAnswer {
    Yes,
    No,
    /// There is no terminal to ask on.
    NoTerminal,
}

/// Asks on the terminal. Only `y` and `yes` mean yes.
pub(crate) fn ask(question: &str) -> QuestionAnswer {
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return QuestionAnswer::NoTerminal;
    }
    write_stderr(&format!("{question} [y/N] "));
    let mut line = String::new();
    match io::stdin().read_line(&mut line) {
        Ok(_) if matches!(line.trim().to_lowercase().as_str(), "y" | "yes") => QuestionAnswer::Yes,
        Ok(_) | Err(_) => QuestionAnswer::No,
    }
}
