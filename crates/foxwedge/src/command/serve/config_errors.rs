//! Errors and warnings of a configuration as text.

use std::process::ExitCode;

use foxwedge_gateway::config::{ConfigError, ConfigIssue, ConfigIssueSeverity};

use foxwedge_local::{
    agents,
    language::localize,
    output::{self, ERROR, HELP, WARNING, clean, paint, pluralize},
    screen::abbreviate_home,
};

/// Prints all configuration errors and returns the exit code.
pub(crate) fn report_refused(error: &ConfigError) -> ExitCode {
    let mut lines: String = error.complaints.iter().map(draw_issue).collect();
    let errors = error
        .complaints
        .iter()
        .filter(|issue| issue.severity == ConfigIssueSeverity::Error)
        .count();
    if errors > 1 {
        let errors = pluralize(errors, "error");
        lines.push_str(&localize(format!("{errors} in the configuration; nothing was started.\n")));
    }
    output::write_stderr(&lines);
    ExitCode::from(2)
}

/// Prints configuration warnings.
pub(crate) fn report_warnings(warnings: &[ConfigIssue]) {
    output::write_stderr(&warnings.iter().map(draw_issue).collect::<String>());
}

fn draw_issue(issue: &ConfigIssue) -> String {
    let severity = match issue.severity {
        ConfigIssueSeverity::Error => paint(ERROR, localize("error")),
        ConfigIssueSeverity::Warning => paint(WARNING, localize("warning")),
    };
    let mut lines = format!("{severity}: {}\n", display_text(&localize(issue.to_string())));
    if let Some(help) = &issue.help {
        let label = paint(HELP, localize("help"));
        lines.push_str(&format!("  {label}: {}\n", display_text(&localize(help.as_str()))));
    }
    lines
}

/// Removes control characters and abbreviates the home folder. The text may quote a file.
pub(crate) fn display_text(text: &str) -> String {
    clean(&abbreviate_home(text, agents::home_folder().as_deref()))
}

/// The URL of a store, with the home folder abbreviated.
pub(crate) fn display_store(address: &str) -> String {
    match address.strip_prefix("sqlite:") {
        Some(path) => format!("sqlite:{}", display_text(path)),
        None => clean(address),
    }
}
