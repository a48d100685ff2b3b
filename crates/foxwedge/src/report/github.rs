//! Annotations for GitHub Actions.

use std::io::{self, Write};

use super::{edits, file_reports, findings, severity_name, unlisted_by_rule};
use foxwedge_local::outcome::STDIN;
use foxwedge_local::{
    outcome::TargetOutcome,
    output::{clean, cut, is_harmful},
};

/// Writes one workflow command for each finding and each applied edit.
pub(super) fn write(out: &mut dyn Write, outcomes: &[TargetOutcome]) -> io::Result<()> {
    for reported in findings(outcomes) {
        let finding = &reported.located.finding;
        let file = match reported.path {
            STDIN => String::new(),
            path => format!("file={},", escape_property(path)),
        };
        let title = escape_property(&format!("{} {}", finding.rule.label(), finding.rule.name));
        let text = cut(&clean(&finding.message), 240);
        let request = reported.located.request.as_deref();
        let ids = request.map(|request| format!(", {}", clean(&request.ids())));
        let place = format!("{}{}", reported.located.message(), ids.unwrap_or_default());
        let message = escape_data(&format!("{text} ({place})"));
        let (line, column) = (reported.located.position.line, reported.located.position.column);
        let level = severity_name(finding.severity);
        writeln!(out, "::{level} {file}line={line},col={column},title={title}::{message}")?;
    }
    for (path, report) in file_reports(outcomes) {
        let file = match path {
            STDIN => String::new(),
            path => format!("file={},", escape_property(path)),
        };
        for (rule, severity, unlisted) in unlisted_by_rule(report) {
            let title = escape_property(&format!("{} {}", rule.label(), rule.name));
            let level = severity_name(severity);
            writeln!(out, "::{level} {file}title={title}::… and {unlisted} more")?;
        }
    }
    for step in edits::steps(outcomes) {
        let edit = &step.applied.edit;
        let mut properties = String::new();
        if step.path != STDIN {
            properties.push_str(&format!("file={},", escape_property(step.path)));
        }
        if let Some(position) = step.applied.position {
            properties.push_str(&format!("line={},col={},", position.line, position.column));
        }
        let title = escape_property(&format!("fixed FW{} {}", edit.code, step.name()));
        let text = cut(&clean(&edit.note), 240);
        let message = escape_data(&format!("{text} ({})", step.message()));
        writeln!(out, "::notice {properties}title={title}::{message}")?;
    }
    Ok(())
}

/// Escapes a message. Characters that are unsafe in a log are percent-encoded.
fn escape_data(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '%' || is_harmful(c) {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                escaped.push_str(&format!("%{byte:02X}"));
            }
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// Escapes the value of a property.
fn escape_property(text: &str) -> String {
    escape_data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_and_messages_are_escaped() {
        assert_eq!(escape_property("a:b,c%d\r\n"), "a%3Ab%2Cc%25d%0D%0A");
        assert_eq!(escape_data("a:b,c%d\r\n"), "a:b,c%25d%0D%0A");
        assert_eq!(escape_data("\u{1b}[31m中\u{202e}"), "%1B[31m中%E2%80%AE");
    }
}
