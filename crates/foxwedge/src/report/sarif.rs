//! SARIF 2.1.0, for code scanning.

use foxwedge_core::{Rule, Severity};
use serde_json::{Value, json};

use super::{findings, json::fix};
use crate::{
    outcome::{Failure, Found, Outcome, Verdict},
    target::STDIN,
};

/// One run with all findings.
pub(crate) fn render(outcomes: &[Outcome]) -> anyhow::Result<String> {
    let mut rules: Vec<&'static Rule> = findings(outcomes).map(|(_, f)| f.finding.rule).collect();
    rules.sort_by_key(|rule| rule.code);
    rules.dedup_by_key(|rule| rule.code);
    let index = |code: u16| rules.binary_search_by_key(&code, |rule| rule.code).unwrap_or(0);
    let mut results = Vec::new();
    for (path, found) in findings(outcomes) {
        results.push(result(path, found, index(found.finding.rule.code))?);
    }
    let failures: Vec<Value> =
        failures(outcomes).map(|(path, failure)| notification(path, failure)).collect();
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "foxwedge",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(|rule| described(rule)).collect::<Vec<_>>(),
            }},
            "invocations": [{
                "executionSuccessful": failures.is_empty(),
                "toolExecutionNotifications": failures,
            }],
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn described(rule: &Rule) -> Value {
    json!({
        "id": rule.label(),
        "name": rule.name,
        "shortDescription": { "text": rule.summary },
        "help": { "text": rule.summary, "markdown": rule.explain },
        "defaultConfiguration": { "level": "error" },
    })
}

fn result(path: &str, found: &Found, index: usize) -> anyhow::Result<Value> {
    let finding = &found.finding;
    let mut result = json!({
        "ruleId": finding.rule.label(),
        "ruleIndex": index,
        "level": match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        "message": { "text": finding.message },
        "locations": [{
            "physicalLocation": physical(path, found.position),
            "logicalLocations": [{ "fullyQualifiedName": found.message(), "kind": "element" }],
        }],
        "properties": {
            "callIds": finding.ids,
            "toolName": finding.tool,
            "profile": finding.profile.name(),
            "fix": serde_json::to_value(fix(found))?,
        },
    });
    if let Some(partner) = found.partner {
        result["relatedLocations"] = json!([{
            "id": 0,
            "message": { "text": "the other half" },
            "physicalLocation": physical(path, partner),
        }]);
    }
    Ok(result)
}

fn physical(path: &str, position: foxwedge_dialect::Position) -> Value {
    json!({
        "artifactLocation": { "uri": uri(path) },
        "region": { "startLine": position.line, "startColumn": position.column },
    })
}

/// A path as a relative reference: what an address may not hold is written as `%XX`.
fn uri(path: &str) -> String {
    if path == STDIN {
        return "stdin".to_owned();
    }
    let path = path.strip_prefix("./").unwrap_or(path).replace('\\', "/");
    let mut text = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
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

fn notification(path: &str, failure: &Failure) -> Value {
    let position = failure.position.unwrap_or(foxwedge_dialect::Position { line: 1, column: 1 });
    json!({
        "level": "error",
        "message": { "text": failure.message },
        "locations": [{ "physicalLocation": physical(path, position) }],
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn paths_become_references() {
        let table =
            [("a b/ü.json", "a%20b/%C3%BC.json"), ("./x.json", "x.json"), ("<stdin>", "stdin")];
        for (path, expected) in table {
            assert_eq!(super::uri(path), expected);
        }
    }
}
