//! What stands in the columns that hold JSON: events, and how a run ended.

use foxwedge_run::{Ended, Event, Outcome, Problem, Status, Summary, Usage, wire};
use serde_json::Value;

use crate::{Result, StoreError, chain::damaged};

/// An event, spelled.
pub(crate) fn event(event: &Event) -> String {
    wire::write(event)
}

/// An event, read.
pub(crate) fn read_event(run: &str, place: u64, body: &str) -> Result<Event> {
    wire::read(body).map_err(|error| damaged(run, place, error.to_string()))
}

/// How a run ended, spelled. Every run has one, so that it is written without a tree of values; the
/// names stand in the order of the alphabet.
pub(crate) fn ended(ended: &Ended) -> String {
    let fields = [
        ("outcome", ended.outcome.map(|outcome| string_of(outcome.name()))),
        ("problem", ended.problem.as_ref().map(problem)),
        ("text", ended.text.as_deref().map(string_of)),
        ("usage", ended.usage.as_ref().map(usage)),
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
pub(crate) fn read_ended(run: &str, text: &str) -> Result<Ended> {
    let value = read("the end", run, text)?;
    let outcome = match value.get("outcome").and_then(Value::as_str) {
        Some(name) => Some(Outcome::from_name(name).ok_or_else(|| StoreError::Corrupt {
            what: format!("the end of run `{run}`"),
            why: format!("nobody knows the outcome `{name}`"),
        })?),
        None => None,
    };
    Ok(Ended {
        outcome,
        text: string(&value, "text"),
        problem: value.get("problem").map(read_problem),
        usage: value.get("usage").map(read_usage),
    })
}

/// A run in numbers, spelled. Statuses that no call has are left out.
pub(crate) fn summary(summary: &Summary) -> String {
    let available = summary.available.map_or("null".to_owned(), |number| number.to_string());
    let mut spelled = format!("{{\"available\":{available},\"by_status\":{{");
    // In the order of the alphabet, too.
    let counts = Status::ALL.iter().zip(summary.by_status).filter(|(_, count)| *count > 0);
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
pub(crate) fn read_summary(run: &str, text: &str) -> Result<Summary> {
    let value = read("the summary", run, text)?;
    let mut summary = Summary {
        available: value.get("available").and_then(Value::as_u64).map(wide),
        calls: wide(number(&value, "calls")),
        ..Summary::default()
    };
    let counts = value.get("by_status").unwrap_or(&Value::Null);
    for (status, count) in Status::ALL.iter().zip(&mut summary.by_status) {
        *count = wide(number(counts, status.name()));
    }
    Ok(summary)
}

fn problem(problem: &Problem) -> String {
    let code = problem.code.as_deref().map_or("null".to_owned(), string_of);
    let (fatal, message) = (problem.fatal, string_of(&problem.message));
    format!("{{\"code\":{code},\"fatal\":{fatal},\"message\":{message}}}")
}

fn read_problem(value: &Value) -> Problem {
    Problem {
        message: string(value, "message").unwrap_or_default(),
        code: value.get("code").and_then(Value::as_str).map(Into::into),
        fatal: value.get("fatal").and_then(Value::as_bool).unwrap_or(false),
    }
}

fn usage(usage: &Usage) -> String {
    let Usage { input, output, cached, reasoning } = usage;
    format!(
        "{{\"cached\":{cached},\"input\":{input},\"output\":{output},\"reasoning\":{reasoning}}}"
    )
}

/// A text as JSON. No text is too much for that.
fn string_of(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_else(|_| "null".to_owned())
}

fn read_usage(value: &Value) -> Usage {
    Usage {
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
        let problem = |code: Option<&str>| Problem {
            message: "\"broken\"\n".to_owned(),
            code: code.map(Into::into),
            fatal: true,
        };
        let usage = Usage { input: u64::MAX, output: 0, cached: 1, reasoning: 2 };
        let mut table = vec![
            Ended::default(),
            Ended { text: Some(String::new()), ..Ended::default() },
            Ended { text: Some("\0é".to_owned()), usage: Some(usage), ..Ended::default() },
            Ended { problem: Some(problem(None)), ..Ended::default() },
            Ended { problem: Some(problem(Some("code"))), ..Ended::default() },
        ];
        table.extend(
            Outcome::ALL.map(|outcome| Ended { outcome: Some(outcome), ..Ended::default() }),
        );
        for told in table {
            assert_eq!(read_ended("r", &ended(&told)).expect("read"), told);
        }
    }

    #[test]
    fn summaries_are_read_as_they_were_spelled() {
        let mut by_status = [0; Status::ALL.len()];
        for (place, count) in by_status.iter_mut().enumerate() {
            *count = place * 3;
        }
        for told in [
            Summary::default(),
            Summary { available: Some(0), calls: 7, ..Summary::default() },
            Summary { available: None, calls: 99, by_status },
        ] {
            assert_eq!(read_summary("r", &summary(&told)).expect("read"), told);
        }
    }

    /// Two stores that hold the same have the same bytes, whoever wrote them.
    #[test]
    fn the_same_is_spelled_the_same() {
        let told = Ended {
            outcome: Some(Outcome::Failed),
            text: Some("\"a\"\n".to_owned()),
            problem: Some(Problem { message: "m".to_owned(), code: None, fatal: true }),
            usage: Some(Usage { input: 1, output: 2, cached: 3, reasoning: 4 }),
        };
        let spelled = ended(&told);
        let value: Value = serde_json::from_str(&spelled).expect("JSON");
        assert_eq!(spelled, value.to_string());
        assert_eq!(
            (ended(&Ended::default()), value.as_object().map(|all| all.len())),
            ("{}".to_owned(), Some(4))
        );
        let mut by_status = [0; Status::ALL.len()];
        by_status.iter_mut().zip(1..).for_each(|(count, number)| *count = number);
        for told in [
            Summary { available: Some(0), calls: 7, by_status },
            Summary { available: None, ..Summary::default() },
        ] {
            let spelled = summary(&told);
            let value: Value = serde_json::from_str(&spelled).expect("JSON");
            assert_eq!(spelled, value.to_string());
        }
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let broken = read_ended("r", "{").expect_err("a refusal").to_string();
        assert!(broken.starts_with("the end of run `r` is damaged: "), "{broken}");
        let odd = read_ended("r", "{\"outcome\":\"odd\"}").expect_err("a refusal").to_string();
        assert_eq!(odd, "the end of run `r` is damaged: nobody knows the outcome `odd`");
        let broken = read_summary("r", "").expect_err("a refusal").to_string();
        assert!(broken.starts_with("the summary of run `r` is damaged: "), "{broken}");
        let broken = read_event("r", 7, "{").expect_err("a refusal").to_string();
        assert!(broken.starts_with("event 7 of run `r` is damaged: "), "{broken}");
    }
}
