//! Findings as SARIF 2.1.0, for code scanning.

use std::{
    collections::BTreeSet,
    fmt,
    io::{self, Write},
};

use foxwedge_core::{Rule, rules};
use foxwedge_formats::TextPosition;
use serde::{Serialize, Serializer};

use super::{
    ReportedFinding,
    edits::{self, LossCounts, StepList},
    file_reports, findings,
    json::{TraceRequestEntry, fix_entry, write_pretty},
    severity_name, unlisted_by_rule,
};
use foxwedge_local::outcome::STDIN;
use foxwedge_local::outcome::{TargetFailure, TargetOutcome, TargetResult};

mod sarif_objects;

use sarif_objects::{
    SarifArtifactLocation, SarifDriver, SarifHelp, SarifInvocation, SarifLocation, SarifLog,
    SarifLogicalLocation, SarifMessage, SarifNotification, SarifPhysicalLocation, SarifRegion,
    SarifResult, SarifResultProperties, SarifRuleConfiguration, SarifRuleDescriptor, SarifRun,
    SarifRunProperties, SarifTool,
};

/// Writes one run with all findings.
pub(super) fn write(
    out: &mut dyn Write,
    outcomes: &[TargetOutcome],
    repaired: bool,
) -> io::Result<()> {
    let codes: BTreeSet<u16> =
        findings(outcomes).map(|reported| reported.located.finding.rule.code).collect();
    let mut rules: Vec<&Rule> = rules::ALL.to_vec();
    rules.retain(|rule| codes.contains(&rule.code));
    rules.sort_by_key(|rule| rule.code);
    let failures: Vec<SarifNotification<'_>> =
        failures(outcomes).map(|(path, failure)| notification(path, failure)).collect();
    let unlisted = file_reports(outcomes).flat_map(|(path, report)| {
        let more = unlisted_by_rule(report).into_iter();
        more.map(move |(rule, _, more)| (path, format!("{}: … and {more} more", rule.label())))
    });
    let unlisted: Vec<(&str, String)> = unlisted.collect();
    let start = TextPosition { line: 1, column: 1 };
    let notes = unlisted.iter().map(|(path, text)| SarifNotification {
        level: "note",
        message: SarifMessage { text },
        locations: [location(path, start)],
    });
    let successful = failures.is_empty();
    let notifications: Vec<SarifNotification<'_>> = failures.into_iter().chain(notes).collect();
    let driver = SarifDriver {
        name: "foxwedge",
        version: env!("CARGO_PKG_VERSION"),
        rules: rules.iter().map(|rule| descriptor(rule)).collect(),
    };
    let run = SarifRun {
        tool: SarifTool { driver },
        invocations: [SarifInvocation {
            execution_successful: successful,
            tool_execution_notifications: notifications,
        }],
        column_kind: "unicodeCodePoints",
        results: SarifResults { outcomes, rules: &rules },
        properties: repaired.then(|| SarifRunProperties {
            edits: StepList(outcomes),
            losses: LossCounts(edits::losses(outcomes)),
        }),
    };
    let schema = "https://json.schemastore.org/sarif-2.1.0.json";
    write_pretty(out, &SarifLog { schema, version: "2.1.0", runs: [run] })
}

/// All findings, serialized one by one.
struct SarifResults<'a> {
    outcomes: &'a [TargetOutcome],
    /// Sorted by code.
    rules: &'a [&'static Rule],
}

impl Serialize for SarifResults<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let index = |code: u16| self.rules.binary_search_by_key(&code, |rule| rule.code);
        serializer.collect_seq(findings(self.outcomes).map(|reported| {
            result_entry(reported, index(reported.located.finding.rule.code).unwrap_or(0))
        }))
    }
}

fn descriptor(rule: &'static Rule) -> SarifRuleDescriptor {
    SarifRuleDescriptor {
        id: rule.label(),
        name: rule.name,
        short_description: SarifMessage { text: rule.summary },
        help: SarifHelp { text: rule.summary, markdown: rule.explain },
        default_configuration: SarifRuleConfiguration { level: "error" },
    }
}

fn result_entry(reported: ReportedFinding<'_>, rule_index: usize) -> SarifResult<'_> {
    let finding = &reported.located.finding;
    let logical =
        SarifLogicalLocation { fully_qualified_name: reported.located.message(), kind: "element" };
    SarifResult {
        rule_id: finding.rule.label(),
        rule_index,
        level: severity_name(finding.severity),
        message: SarifMessage { text: &finding.message },
        locations: [SarifLocation {
            logical_locations: Some([logical]),
            ..location(reported.path, reported.located.position)
        }],
        related_locations: reported.located.partner.map(|partner| {
            [SarifLocation {
                id: Some(0),
                message: Some(SarifMessage { text: "the matching call or result" }),
                ..location(reported.path, partner)
            }]
        }),
        properties: SarifResultProperties {
            call_ids: &finding.ids,
            tool_name: finding.tool.as_deref(),
            profile: finding.profile.name(),
            agent: reported.session.map(|session| session.agent.name()),
            session_id: reported.session.and_then(|session| session.id.as_deref()),
            request: TraceRequestEntry::of(reported),
            fix: fix_entry(reported),
        },
    }
}

fn location(path: &str, position: TextPosition) -> SarifLocation<'_> {
    let region = SarifRegion { start_line: position.line, start_column: position.column };
    let artifact_location = SarifArtifactLocation { uri: SarifUri(path) };
    SarifLocation {
        id: None,
        message: None,
        physical_location: SarifPhysicalLocation { artifact_location, region },
        logical_locations: None,
    }
}

/// A path as a relative URI reference. Characters that a URI may not contain are percent-encoded.
struct SarifUri<'a>(&'a str);

impl fmt::Display for SarifUri<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == STDIN {
            return f.write_str("stdin");
        }
        for byte in self.0.strip_prefix("./").unwrap_or(self.0).bytes() {
            match byte {
                b'\\' => f.write_str("/")?,
                b'-' | b'.' | b'_' | b'~' | b'/' => write!(f, "{}", char::from(byte))?,
                byte if byte.is_ascii_alphanumeric() => write!(f, "{}", char::from(byte))?,
                byte => write!(f, "%{byte:02X}")?,
            }
        }
        Ok(())
    }
}

impl Serialize for SarifUri<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn failures(outcomes: &[TargetOutcome]) -> impl Iterator<Item = (&str, &TargetFailure)> {
    outcomes.iter().flat_map(|outcome| {
        let failures = match &outcome.result {
            TargetResult::Failed(failure) => std::slice::from_ref(failure),
            TargetResult::Checked(report) => &report.failures,
            TargetResult::Skipped => &[],
        };
        failures.iter().map(|failure| (outcome.path.as_str(), failure))
    })
}

fn notification<'a>(path: &'a str, failure: &'a TargetFailure) -> SarifNotification<'a> {
    let position = failure.position.unwrap_or(TextPosition { line: 1, column: 1 });
    SarifNotification {
        level: "error",
        message: SarifMessage { text: &failure.message },
        locations: [location(path, position)],
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn paths_become_references() {
        let table =
            [("a b/ü.json", "a%20b/%C3%BC.json"), ("./x.json", "x.json"), ("<stdin>", "stdin")];
        for (path, expected) in table {
            assert_eq!(super::SarifUri(path).to_string(), expected);
        }
    }
}
