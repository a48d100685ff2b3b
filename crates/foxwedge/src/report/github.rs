//! Annotations of GitHub Actions.

use foxwedge_core::Severity;

use super::findings;
use crate::{outcome::Outcome, say::clean, target::STDIN};

/// One workflow command for each finding.
pub(crate) fn render(outcomes: &[Outcome]) -> String {
    findings(outcomes)
        .map(|(path, found)| {
            let level = match found.finding.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            };
            let file = match path {
                STDIN => String::new(),
                path => format!("file={},", property(path)),
            };
            let rule = found.finding.rule;
            let title = property(&format!("{} {}", rule.label(), rule.name));
            let message = data(&format!("{} ({})", clean(&found.finding.message), found.message()));
            let (line, column) = (found.position.line, found.position.column);
            format!("::{level} {file}line={line},col={column},title={title}::{message}\n")
        })
        .collect()
}

/// Escapes a message.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_and_messages_are_escaped() {
        assert_eq!(property("a:b,c%d\r\n"), "a%3Ab%2Cc%25d%0D%0A");
        assert_eq!(data("a:b,c%d\r\n"), "a:b,c%25d%0D%0A");
    }
}
