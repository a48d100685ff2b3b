//! SARIF 2.1.0, for code scanning.

use std::{
    collections::BTreeSet,
    fmt,
    io::{self, Write},
};

use foxwedge_core::{Rule, rules};
use foxwedge_dialect::Position;
use serde::{Serialize, Serializer};

use super::{
    Seen,
    edits::{self, LossCounts, StepList},
    findings,
    json::{fix, pretty},
    judged, level, unlisted_by_rule,
};
use crate::{
    outcome::{Failure, Outcome, Verdict},
    target::STDIN,
};

mod shape;

use shape::{
    Artifact, Configuration, Descriptor, Driver, Entry, Help, Invocation, Location, Log, Logical,
    Notification, Physical, Properties, Region, Run, RunProperties, Text, Tool,
};

/// One run with all findings.
pub(super) fn write(out: &mut dyn Write, outcomes: &[Outcome], repaired: bool) -> io::Result<()> {
    let broken: BTreeSet<u16> =
        findings(outcomes).map(|seen| seen.found.finding.rule.code).collect();
    let mut rules: Vec<&Rule> = rules::ALL.to_vec();
    rules.retain(|rule| broken.contains(&rule.code));
    rules.sort_by_key(|rule| rule.code);
    let failures: Vec<Notification<'_>> =
        failures(outcomes).map(|(path, failure)| notification(path, failure)).collect();
    let unlisted = judged(outcomes).flat_map(|(path, judged)| {
        let more = unlisted_by_rule(judged).into_iter();
        more.map(move |(rule, _, more)| (path, format!("{}: … and {more} more", rule.label())))
    });
    let unlisted: Vec<(&str, String)> = unlisted.collect();
    let start = Position { line: 1, column: 1 };
    let notes = unlisted.iter().map(|(path, text)| Notification {
        level: "note",
        message: Text { text },
        locations: [location(path, start)],
    });
    let successful = failures.is_empty();
    let notifications: Vec<Notification<'_>> = failures.into_iter().chain(notes).collect();
    let driver = Driver {
        name: "foxwedge",
        version: env!("CARGO_PKG_VERSION"),
        rules: rules.iter().map(|rule| descriptor(rule)).collect(),
    };
    let run = Run {
        tool: Tool { driver },
        invocations: [Invocation {
            execution_successful: successful,
            tool_execution_notifications: notifications,
        }],
        column_kind: "unicodeCodePoints",
        results: Results { outcomes, rules: &rules },
        properties: repaired.then(|| RunProperties {
            edits: StepList(outcomes),
            losses: LossCounts(edits::losses(outcomes)),
        }),
    };
    let schema = "https://json.schemastore.org/sarif-2.1.0.json";
    pretty(out, &Log { schema, version: "2.1.0", runs: [run] })
}

/// All findings; each is described when its turn comes.
struct Results<'a> {
    outcomes: &'a [Outcome],
    /// By code.
    rules: &'a [&'static Rule],
}

impl Serialize for Results<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let index = |code: u16| self.rules.binary_search_by_key(&code, |rule| rule.code);
        serializer.collect_seq(
            findings(self.outcomes)
                .map(|seen| entry(seen, index(seen.found.finding.rule.code).unwrap_or(0))),
        )
    }
}

fn descriptor(rule: &'static Rule) -> Descriptor {
    Descriptor {
        id: rule.label(),
        name: rule.name,
        short_description: Text { text: rule.summary },
        help: Help { text: rule.summary, markdown: rule.explain },
        default_configuration: Configuration { level: "error" },
    }
}

fn entry(seen: Seen<'_>, rule_index: usize) -> Entry<'_> {
    let finding = &seen.found.finding;
    let logical = Logical { fully_qualified_name: seen.found.message(), kind: "element" };
    Entry {
        rule_id: finding.rule.label(),
        rule_index,
        level: level(finding.severity),
        message: Text { text: &finding.message },
        locations: [Location {
            logical_locations: Some([logical]),
            ..location(seen.path, seen.found.position)
        }],
        related_locations: seen.found.partner.map(|partner| {
            [Location {
                id: Some(0),
                message: Some(Text { text: "the other half" }),
                ..location(seen.path, partner)
            }]
        }),
        properties: Properties {
            call_ids: &finding.ids,
            tool_name: finding.tool.as_deref(),
            profile: finding.profile.name(),
            agent: seen.session.map(|session| session.agent.name()),
            session_id: seen.session.and_then(|session| session.id.as_deref()),
            fix: fix(seen),
        },
    }
}

fn location(path: &str, position: Position) -> Location<'_> {
    let region = Region { start_line: position.line, start_column: position.column };
    let artifact_location = Artifact { uri: Uri(path) };
    Location {
        id: None,
        message: None,
        physical_location: Physical { artifact_location, region },
        logical_locations: None,
    }
}

/// A path as a relative reference: what an address may not hold is written as `%XX`.
struct Uri<'a>(&'a str);

impl fmt::Display for Uri<'_> {
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

impl Serialize for Uri<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn failures(outcomes: &[Outcome]) -> impl Iterator<Item = (&str, &Failure)> {
    outcomes.iter().flat_map(|outcome| {
        let failures = match &outcome.result {
            Verdict::Failed(failure) => std::slice::from_ref(failure),
            Verdict::Judged(judged) => &judged.failures,
            Verdict::Skipped => &[],
        };
        failures.iter().map(|failure| (outcome.path.as_str(), failure))
    })
}

fn notification<'a>(path: &'a str, failure: &'a Failure) -> Notification<'a> {
    let position = failure.position.unwrap_or(Position { line: 1, column: 1 });
    Notification {
        level: "error",
        message: Text { text: &failure.message },
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
            assert_eq!(super::Uri(path).to_string(), expected);
        }
    }
}
