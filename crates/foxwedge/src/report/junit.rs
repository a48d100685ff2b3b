//! JUnit XML, which most CI servers show: a test case per file, a failure per finding.

use std::io::{self, Write};

use super::{ReportTotals, edits, file_findings, severity_name, unlisted_by_rule};
use foxwedge_local::{
    outcome::{TargetOutcome, TargetResult},
    output::clean,
};

/// Writes one test case for each target that was read or could not be read.
pub(super) fn write(out: &mut dyn Write, outcomes: &[TargetOutcome]) -> io::Result<()> {
    let totals = ReportTotals::of(outcomes);
    let failures = outcomes.iter().filter(|outcome| match &outcome.result {
        TargetResult::Checked(report) => report.counts.total() > 0,
        TargetResult::Skipped | TargetResult::Failed(_) => false,
    });
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\"",
        totals.files + totals.failed,
        failures.count(),
        totals.failed,
    );
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<testsuites name=\"foxwedge\" {counts}>")?;
    writeln!(out, "  <testsuite name=\"foxwedge\" {counts}>")?;
    for outcome in outcomes {
        write_case(out, outcome)?;
    }
    writeln!(out, "  </testsuite>\n</testsuites>")
}

fn write_case(out: &mut dyn Write, outcome: &TargetOutcome) -> io::Result<()> {
    let name = escape_xml(&outcome.path);
    let opening = format!("    <testcase classname=\"foxwedge\" name=\"{name}\"");
    match &outcome.result {
        TargetResult::Skipped => Ok(()),
        TargetResult::Failed(failure) => {
            let message = escape_xml(&failure.message);
            writeln!(out, "{opening}>\n      <error message=\"{message}\"/>\n    </testcase>")
        }
        TargetResult::Checked(report) => {
            writeln!(out, "{opening}>")?;
            for reported in file_findings(&outcome.path, report) {
                let finding = &reported.located.finding;
                let position = reported.located.position;
                let text = format!(
                    "{}:{}:{} {} ({}, fix: {})",
                    outcome.path,
                    position.line,
                    position.column,
                    reported.located.message(),
                    severity_name(finding.severity),
                    finding.fix.applicability.name(),
                );
                writeln!(
                    out,
                    "      <failure type=\"{} {}\" message=\"{}\">{}</failure>",
                    finding.rule.label(),
                    finding.rule.name,
                    escape_xml(&finding.message),
                    escape_xml(&text),
                )?;
            }
            for (rule, _, unlisted) in unlisted_by_rule(report) {
                writeln!(
                    out,
                    "      <failure type=\"{} {}\" message=\"… and {unlisted} more\"/>",
                    rule.label(),
                    rule.name,
                )?;
            }
            for failure in &report.failures {
                writeln!(out, "      <error message=\"{}\"/>", escape_xml(&failure.message))?;
            }
            write_repairs(out, outcome)?;
            writeln!(out, "    </testcase>")
        }
    }
}

/// Writes the edits of a repair as the output of the test case.
fn write_repairs(out: &mut dyn Write, outcome: &TargetOutcome) -> io::Result<()> {
    let mut steps = edits::steps(std::slice::from_ref(outcome)).peekable();
    if steps.peek().is_none() {
        return Ok(());
    }
    writeln!(out, "      <system-out>")?;
    for step in steps {
        let edit = &step.applied.edit;
        let line =
            format!("fixed FW{} {} {}: {}", edit.code, step.name(), step.message(), edit.note);
        writeln!(out, "{}", escape_xml(&line))?;
    }
    writeln!(out, "      </system-out>")
}

/// Escapes text for content and attributes. Characters that XML does not allow are replaced.
fn escape_xml(text: &str) -> String {
    clean(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        let escaped = escape_xml("a<b> & \"c\"\u{0}\u{1b}");
        assert!(escaped.starts_with("a&lt;b&gt; &amp; &quot;c&quot;"), "{escaped}");
        assert!(!escaped.contains(['\u{0}', '\u{1b}']), "{escaped}");
    }
}
