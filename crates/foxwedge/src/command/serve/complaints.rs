//! What is wrong with a configuration, for people.

use std::process::ExitCode;

use foxwedge_engine::config::{Complaint, Refused, Weight};

use crate::{
    agents,
    say::{self, ERROR, HELP, WARNING, clean, count, paint},
    screen::tilde,
};

/// Everything that stands in the way.
pub(crate) fn refused(refused: &Refused) -> ExitCode {
    let mut lines: String = refused.complaints.iter().map(draw).collect();
    let errors = refused.complaints.iter().filter(|it| it.weight == Weight::Error).count();
    if errors > 1 {
        lines.push_str(&format!(
            "{} in the configuration; nothing was started.\n",
            count(errors, "error")
        ));
    }
    say::talk(&lines);
    ExitCode::from(2)
}

/// What somebody should know.
pub(crate) fn warn(warnings: &[Complaint]) {
    say::talk(&warnings.iter().map(draw).collect::<String>());
}

fn draw(complaint: &Complaint) -> String {
    let word = match complaint.weight {
        Weight::Error => paint(ERROR, "error"),
        Weight::Warning => paint(WARNING, "warning"),
    };
    let mut lines = format!("{word}: {}\n", told(&complaint.to_string()));
    if let Some(help) = &complaint.help {
        lines.push_str(&format!("  {}: {}\n", paint(HELP, "help"), told(help)));
    }
    lines
}

/// A line that may quote a file: safe to show, and short where it names a path of the user's.
pub(crate) fn told(text: &str) -> String {
    clean(&tilde(text, agents::home().as_deref()))
}

/// The address of a store, short where it is a file of the user's.
pub(crate) fn store(address: &str) -> String {
    match address.strip_prefix("sqlite:") {
        Some(path) => format!("sqlite:{}", told(path)),
        None => clean(address),
    }
}
