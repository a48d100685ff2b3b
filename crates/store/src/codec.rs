//! The JSON columns: events, and how a run ended.

use std::fmt::Write as _;

use foxwedge_run::{Outcome, RunEnd, RunEvent, RunProblem, RunSummary, RunUsage, ToolStatus, wire};
use serde_json::Value;

use crate::{Result, StoreError, chain::damage_error};

/// Encodes an event.
pub(crate) fn write_event(event: &RunEvent) -> String {
    wire::write(event)
}

/// Parses an event.
pub(crate) fn read_event(run: &str, seq: u64, body: &str) -> Result<RunEvent> {
    wire::read(body).map_err(|error| damage_error(run, seq, error.to_string()))
}

/// Encodes the end of a run. Every run has one, so it is written without a `Value` tree. The field
/// names are in alphabetical order.
pub(crate) fn write_end(ended: &RunEnd) -> String {
    let text_bytes = ended.text.as_ref().map_or(0, String::len);
    let mut json = String::with_capacity(128 + text_bytes + text_bytes / 8);
    json.push('{');
    if let Some(outcome) = ended.outcome {
        push_field(&mut json, "outcome");
        push_quoted(&mut json, outcome.name());
    }
    if let Some(problem) = &ended.problem {
        push_field(&mut json, "problem");
        json.push_str(&write_problem(problem));
    }
    if let Some(text) = &ended.text {
        push_field(&mut json, "text");
        push_quoted(&mut json, text);
    }
    if let Some(RunUsage { input, output, cached, reasoning }) = ended.usage {
        push_field(&mut json, "usage");
        // Writing to a text does not fail.
        let _ = write!(
            json,
            "{{\"cached\":{cached},\"input\":{input},\"output\":{output},\"reasoning\":{reasoning}}}"
        );
    }
    json.push('}');
    json
}

/// Parses the end of a run.
pub(crate) fn read_end(run: &str, text: &str) -> Result<RunEnd> {
    let value = read("the end", run, text)?;
    let outcome = match value.get("outcome").and_then(Value::as_str) {
        Some(name) => Some(Outcome::from_name(name).ok_or_else(|| StoreError::Corrupt {
            what: format!("the end of run `{run}`"),
            why: format!("unknown outcome `{name}`"),
        })?),
        None => None,
    };
    Ok(RunEnd {
        outcome,
        text: string(&value, "text"),
        problem: value.get("problem").map(read_problem),
        usage: value.get("usage").map(read_usage),
    })
}

/// Encodes the totals of a run. Leaves out statuses with a count of 0.
pub(crate) fn write_summary(summary: &RunSummary) -> String {
    let mut json = String::with_capacity(64);
    json.push_str("{\"available\":");
    // Writing to a text does not fail.
    let _ = match summary.available {
        Some(number) => write!(json, "{number}"),
        None => json.write_str("null"),
    };
    json.push_str(",\"by_status\":{");
    // In alphabetical order, too.
    let counts = ToolStatus::ALL.iter().zip(summary.by_status).filter(|(_, count)| *count > 0);
    let mut counts: Vec<(&str, usize)> =
        counts.map(|(status, count)| (status.name(), count)).collect();
    counts.sort_unstable();
    for (index, (name, count)) in counts.into_iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        let _ = write!(json, "{comma}\"{name}\":{count}");
    }
    let _ = write!(json, "}},\"calls\":{}}}", summary.calls);
    json
}

/// Parses the totals of a run.
pub(crate) fn read_summary(run: &str, text: &str) -> Result<RunSummary> {
    let value = read("the summary", run, text)?;
    let mut summary = RunSummary {
        available: value.get("available").and_then(Value::as_u64).map(wide),
        calls: wide(number(&value, "calls")),
        ..RunSummary::default()
    };
    let counts = value.get("by_status").unwrap_or(&Value::Null);
    for (status, count) in ToolStatus::ALL.iter().zip(&mut summary.by_status) {
        *count = wide(number(counts, status.name()));
    }
    Ok(summary)
}

fn write_problem(problem: &RunProblem) -> String {
    let code = problem.code.as_deref().map_or("null".to_owned(), quote);
    let (fatal, message) = (problem.fatal, quote(&problem.message));
    format!("{{\"code\":{code},\"fatal\":{fatal},\"message\":{message}}}")
}

fn read_problem(value: &Value) -> RunProblem {
    RunProblem {
        message: string(value, "message").unwrap_or_default(),
        code: value.get("code").and_then(Value::as_str).map(Into::into),
        fatal: value.get("fatal").and_then(Value::as_bool).unwrap_or(false),
    }
}

/// Begins a field of an object.
fn push_field(json: &mut String, name: &str) {
    let comma = if json.len() > 1 { "," } else { "" };
    json.extend([comma, "\"", name, "\":"]);
}

/// Appends a text as JSON.
fn push_quoted(json: &mut String, text: &str) {
    match text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
        true => json.extend(["\"", text, "\""]),
        false => json.push_str(&quote(text)),
    }
}

/// Encodes a text as JSON. This cannot fail.
fn quote(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_else(|_| "null".to_owned())
}

fn read_usage(value: &Value) -> RunUsage {
    RunUsage {
        input: number(value, "input"),
        output: number(value, "output"),
        cached: number(value, "cached"),
        reasoning: number(value, "reasoning"),
    }
}

fn read(what: &str, run: &str, text: &str) -> Result<Value> {
    serde_json::from_str(text).map_err(|error| StoreError::Corrupt {
        what: format!("{what} of run `{run}`"),
        why: error.to_string(),
    })
}

fn string(value: &Value, field: &str) -> Option<String> {
    value.get(field).and_then(Value::as_str).map(str::to_owned)
}

fn number(value: &Value, field: &str) -> u64 {
    value.get(field).and_then(Value::as_u64).unwrap_or(0)
}

fn wide(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_survive_a_round_trip() {
        let problem = |code: Option<&str>| RunProblem {
            message: "\"broken\"\n".to_owned(),
            code: code.map(Into::into),
            fatal: true,
        };
        let usage = RunUsage { input: u64::MAX, output: 0, cached: 1, reasoning: 2 };
        let mut table = vec![
            RunEnd::default(),
            RunEnd { text: Some(String::new()), ..RunEnd::default() },
            RunEnd { text: Some("\0é".to_owned()), usage: Some(usage), ..RunEnd::default() },
            RunEnd { problem: Some(problem(None)), ..RunEnd::default() },
            RunEnd { problem: Some(problem(Some("code"))), ..RunEnd::default() },
        ];
        table.extend(
            Outcome::ALL.map(|outcome| RunEnd { outcome: Some(outcome), ..RunEnd::default() }),
        );
        for end in table {
            assert_eq!(read_end("r", &write_end(&end)).expect("read"), end);
        }
    }

    #[test]
    fn summaries_survive_a_round_trip() {
        let mut by_status = [0; ToolStatus::ALL.len()];
        for (index, count) in by_status.iter_mut().enumerate() {
            *count = index * 3;
        }
        for summary in [
            RunSummary::default(),
            RunSummary { available: Some(0), calls: 7, ..RunSummary::default() },
            RunSummary { available: None, calls: 99, by_status },
        ] {
            assert_eq!(read_summary("r", &write_summary(&summary)).expect("read"), summary);
        }
    }

    /// Two stores with the same content have the same bytes, whichever backend wrote them.
    #[test]
    fn equal_values_have_equal_json() {
        let end = RunEnd {
            outcome: Some(Outcome::Failed),
            text: Some("\"a\"\n".to_owned()),
            problem: Some(RunProblem { message: "m".to_owned(), code: None, fatal: true }),
            usage: Some(RunUsage { input: 1, output: 2, cached: 3, reasoning: 4 }),
        };
        let json = write_end(&end);
        let value: Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(json, value.to_string());
        assert_eq!(
            (write_end(&RunEnd::default()), value.as_object().map(|all| all.len())),
            ("{}".to_owned(), Some(4))
        );
        let mut by_status = [0; ToolStatus::ALL.len()];
        by_status.iter_mut().zip(1..).for_each(|(count, number)| *count = number);
        for summary in [
            RunSummary { available: Some(0), calls: 7, by_status },
            RunSummary { available: None, ..RunSummary::default() },
        ] {
            let json = write_summary(&summary);
            let value: Value = serde_json::from_str(&json).expect("JSON");
            assert_eq!(json, value.to_string());
        }
    }

    #[test]
    fn parse_errors_name_what_is_damaged() {
        let broken = read_end("r", "{").expect_err("a refusal").to_string();
        assert!(broken.starts_with("the end of run `r` is damaged: "), "{broken}");
        let odd = read_end("r", "{\"outcome\":\"odd\"}").expect_err("a refusal").to_string();
        assert_eq!(odd, "the end of run `r` is damaged: unknown outcome `odd`");
        let broken = read_summary("r", "").expect_err("a refusal").to_string();
        assert!(broken.starts_with("the summary of run `r` is damaged: "), "{broken}");
        let broken = read_event("r", 7, "{").expect_err("a refusal").to_string();
        assert!(broken.starts_with("event 7 of run `r` is damaged: "), "{broken}");
    }
}
