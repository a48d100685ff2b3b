//! What is wrong with a configuration, for people.

use std::process::ExitCode;

use foxwedge_gateway::config::{ConfigError, ConfigIssue, ConfigIssueSeverity};

use crate::{
    agents,
    cli_output::{self, ERROR, HELP, WARNING, clean, paint, pluralize},
    screen::abbreviate_home,
};

/// Everything that stands in the way.
pub(crate) fn report_refused(refused: &ConfigError) -> ExitCode {
    let mut lines: String = refused.complaints.iter().map(draw_complaint).collect();
    let errors =
        refused.complaints.iter().filter(|it| it.severity == ConfigIssueSeverity::Error).count();
    if errors > 1 {
        lines.push_str(&format!(
            "{} in the configuration; nothing was started.\n",
            pluralize(errors, "error")
        ));
    }
    cli_output::write_stderr(&lines);
    ExitCode::from(2)
}

/// What somebody should know.
pub(crate) fn report_warnings(warnings: &[ConfigIssue]) {
    cli_output::write_stderr(&warnings.iter().map(draw_complaint).collect::<String>());
}

fn draw_complaint(complaint: &ConfigIssue) -> String {
    let word = match complaint.severity {
        ConfigIssueSeverity::Error => paint(ERROR, "error"),
        ConfigIssueSeverity::Warning => paint(WARNING, "warning"),
    };
    let mut lines = format!("{word}: {}\n", display_text(&complaint.to_string()));
    if let Some(help) = &complaint.help {
        lines.push_str(&format!("  {}: {}\n", paint(HELP, "help"), display_text(help)));
    }
    lines
}

/// A line that may quote a file: safe to show, and short where it names a path of the user's.
pub(crate) fn display_text(text: &str) -> String {
    clean(&abbreviate_home(text, agents::home_folder().as_deref()))
}

/// The address of a store, short where it is a file of the user's.
pub(crate) fn display_store(address: &str) -> String {
    match address.strip_prefix("sqlite:") {
        Some(path) => format!("sqlite:{}", display_text(path)),
        None => clean(address),
    }
}
