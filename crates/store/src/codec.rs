//! What stands in the columns that hold JSON: events, and how a run ended.

use foxwedge_run::{Outcome, RunEnd, RunEvent, RunProblem, RunSummary, RunUsage, ToolStatus, wire};
use serde_json::Value;

use crate::{Result, StoreError, chain::damage_error};

/// An event, spelled.
pub(crate) fn write_event(event: &RunEvent) -> String {
    wire::write(event)
}

/// An event, read.
pub(crate) fn read_event(run: &str, place: u64, body: &str) -> Result<RunEvent> {
    wire::read(body).map_err(|error| damage_error(run, place, error.to_string()))
}

/// How a run ended, spelled. Every run has one, so that it is written without a tree of values; the
/// names stand in the order of the alphabet.
pub(crate) fn write_end(ended: &RunEnd) -> String {
    let fields = [
        ("outcome", ended.outcome.map(|outcome| quote(outcome.name()))),
        ("problem", ended.problem.as_ref().map(write_problem)),
        ("text", ended.text.as_deref().map(quote)),
        ("usage", ended.usage.as_ref().map(write_usage)),
    ];
    let mut spelled = String::from("{");
    for (name, value) in fields {
        let Some(value) = value else { continue };
        let comma = if spelled.len() > 1 { "," } else { "" };
        spelled.extend([comma, "\"", name, "\":", &value]);
    }
    spelled.push('}');
    spelled
}

/// How a run ended, read.
pub(crate) fn read_end(run: &str, text: &str) -> Result<RunEnd> {
    let value = read("the end", run, text)?;
    let outcome = match value.get("outcome").and_then(Value::as_str) {
        Some(name) => Some(Outcome::from_name(name).ok_or_else(|| StoreError::Corrupt {
            what: format!("the end of run `{run}`"),
            why: format!("nobody knows the outcome `{name}`"),
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

/// A run in numbers, spelled. Statuses that no call has are left out.
pub(crate) fn write_summary(summary: &RunSummary) -> String {
    let available = summary.available.map_or("null".to_owned(), |number| number.to_string());
    let mut spelled = format!("{{\"available\":{available},\"by_status\":{{");
    // In the order of the alphabet, too.
    let counts = ToolStatus::ALL.iter().zip(summary.by_status).filter(|(_, count)| *count > 0);
    let mut counts: Vec<(&str, usize)> =
        counts.map(|(status, count)| (status.name(), count)).collect();
    counts.sort_unstable();
    for (place, (name, count)) in counts.into_iter().enumerate() {
        let comma = if place > 0 { "," } else { "" };
        spelled.extend([comma, "\"", name, "\":", &count.to_string()]);
    }
    spelled.extend(["},\"calls\":", &summary.calls.to_string(), "}"]);
    spelled
}

/// A run in numbers, read.
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

fn write_usage(usage: &RunUsage) -> String {
    let RunUsage { input, output, cached, reasoning } = usage;
    format!(
        "{{\"cached\":{cached},\"input\":{input},\"output\":{output},\"reasoning\":{reasoning}}}"
    )
}

/// A text as JSON. No text is too much for that.
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
    fn ends_are_read_as_they_were_spelled() {
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
        for told in table {
            assert_eq!(read_end("r", &write_end(&told)).expect("read"), told);
        }
    }

    #[test]
    fn summaries_are_read_as_they_were_spelled() {
        let mut by_status = [0; ToolStatus::ALL.len()];
        for (place, count) in by_status.iter_mut().enumerate() {
            *count = place * 3;
        }
        for told in [
            RunSummary::default(),
            RunSummary { available: Some(0), calls: 7, ..RunSummary::default() },
            RunSummary { available: None, calls: 99, by_status },
        ] {
            assert_eq!(read_summary("r", &write_summary(&told)).expect("read"), told);
        }
    }

    /// Two stores that hold the same have the same bytes, whoever wrote them.
    #[test]
    fn the_same_is_spelled_the_same() {
        let told = RunEnd {
            outcome: Some(Outcome::Failed),
            text: Some("\"a\"\n".to_owned()),
            problem: Some(RunProblem { message: "m".to_owned(), code: None, fatal: true }),
            usage: Some(RunUsage { input: 1, output: 2, cached: 3, reasoning: 4 }),
        };
        let spelled = write_end(&told);
        let value: Value = serde_json::from_str(&spelled).expect("JSON");
        assert_eq!(spelled, value.to_string());
        assert_eq!(
            (write_end(&RunEnd::default()), value.as_object().map(|all| all.len())),
            ("{}".to_owned(), Some(4))
        );
        let mut by_status = [0; ToolStatus::ALL.len()];
        by_status.iter_mut().zip(1..).for_each(|(count, number)| *count = number);
        for told in [
            RunSummary { available: Some(0), calls: 7, by_status },
            RunSummary { available: None, ..RunSummary::default() },
        ] {
            let spelled = write_summary(&told);
            let value: Value = serde_json::from_str(&spelled).expect("JSON");
            assert_eq!(spelled, value.to_string());
        }
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let broken = read_end("r", "{").expect_err("a refusal").to_string();
        assert!(broken.starts_with("the end of run `r` is damaged: "), "{broken}");
        let odd = read_end("r", "{\"outcome\":\"odd\"}").expect_err("a refusal").to_string();
        assert_eq!(odd, "the end of run `r` is damaged: nobody knows the outcome `odd`");
        let broken = read_summary("r", "").expect_err("a refusal").to_string();
        assert!(broken.starts_with("the summary of run `r` is damaged: "), "{broken}");
        let broken = read_event("r", 7, "{").expect_err("a refusal").to_string();
        assert!(broken.starts_with("event 7 of run `r` is damaged: "), "{broken}");
    }
}
