//! Plans the calls of a turn: calls that only read run in parallel, every other call runs alone and
//! in order. A call that cannot run gets an error result at once. Pure.

use foxwedge_tools::{ToolEffect, Toolbox};
use serde_json::{Map, Value};

use foxwedge_upstream::model::ReplyToolCall;

/// One step of running the calls of a turn.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum ToolStep {
    /// These run in parallel: their indexes among the calls, and their arguments.
    Parallel(Vec<(usize, Value)>),
    /// This one runs alone.
    Alone(usize, Value),
    /// This one cannot run; its result is this error.
    Reject(usize, String),
}

/// Maximum number of tool names in the error for an unknown tool.
const MAX_NAMES: usize = 40;
/// Maximum characters of invalid arguments that an error quotes.
const MAX_EXCERPT: usize = 200;

/// Plans the calls of a turn.
pub(super) fn plan_steps(calls: &[ReplyToolCall], tools: &Toolbox) -> Vec<ToolStep> {
    let mut steps: Vec<ToolStep> = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        match check_call(call, tools) {
            Err(error) => steps.push(ToolStep::Reject(index, error)),
            Ok((ToolEffect::Writes, input)) => steps.push(ToolStep::Alone(index, input)),
            Ok((ToolEffect::Reads, input)) => {
                // A rejected call does not split a parallel step.
                let last =
                    steps.iter_mut().rev().find(|step| !matches!(step, ToolStep::Reject(..)));
                match last {
                    Some(ToolStep::Parallel(batch)) => batch.push((index, input)),
                    Some(ToolStep::Alone(..) | ToolStep::Reject(..)) | None => {
                        steps.push(ToolStep::Parallel(vec![(index, input)]));
                    }
                }
            }
        }
    }
    steps
}

fn check_call(call: &ReplyToolCall, tools: &Toolbox) -> Result<(ToolEffect, Value), String> {
    let Some(tool) = tools.get(&call.name) else {
        return Err(unknown_tool_error(&call.name, tools));
    };
    let text = call.arguments.trim();
    // Models leave out the arguments of tools that take none.
    let text = if text.is_empty() { "{}" } else { text };
    match serde_json::from_str::<Value>(text) {
        Ok(input @ Value::Object(_)) => Ok((tool.spec().effect, input)),
        Ok(Value::Null) => Ok((tool.spec().effect, Value::Object(Map::new()))),
        Ok(other) => Err(format!(
            "The call did not run: its arguments have to be a JSON object, not {}.",
            json_kind(&other)
        )),
        Err(error) => Err(format!(
            "The call did not run: its arguments are not JSON ({error}). They begin with: {}",
            excerpt(text)
        )),
    }
}

fn unknown_tool_error(name: &str, tools: &Toolbox) -> String {
    if tools.is_empty() {
        return format!(
            "The call did not run: there is no tool `{}`, and no other.",
            excerpt(name)
        );
    }
    let names: Vec<String> =
        tools.iter().take(MAX_NAMES).map(|tool| format!("`{}`", tool.spec().name)).collect();
    let more = tools.len().saturating_sub(MAX_NAMES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!(
        "The call did not run: there is no tool `{}`. There are: {}{more}.",
        excerpt(name),
        names.join(", ")
    )
}

fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn excerpt(text: &str) -> String {
    let cut: String = text.chars().take(MAX_EXCERPT).collect();
    if cut.len() < text.len() { format!("{cut}…") } else { cut }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use foxwedge_tools::{Tool, ToolCallResult, ToolFuture, ToolInvocation, ToolSpec};
    use serde_json::json;

    use super::*;

    struct Fake(ToolSpec);

    impl Tool for Fake {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        fn run<'a>(&'a self, _: ToolInvocation<'a>) -> ToolFuture<'a, ToolCallResult> {
            Box::pin(async { ToolCallResult::done("") })
        }
    }

    fn tools() -> Toolbox {
        let mut tools = Toolbox::new();
        for (name, effect) in [("read", ToolEffect::Reads), ("write", ToolEffect::Writes)] {
            let spec = ToolSpec {
                name: name.into(),
                description: "".into(),
                schema: json!({ "type": "object" }),
                effect,
                limit: Duration::from_secs(1),
            };
            tools.add(Arc::new(Fake(spec))).expect("two names");
        }
        tools
    }

    fn planned(calls: &[(&str, &str)]) -> String {
        let calls: Vec<ReplyToolCall> = calls
            .iter()
            .map(|(name, arguments)| ReplyToolCall {
                id: "x".to_owned(),
                name: (*name).to_owned(),
                arguments: (*arguments).to_owned(),
            })
            .collect();
        let steps = plan_steps(&calls, &tools()).into_iter().map(|step| match step {
            ToolStep::Parallel(calls) => {
                let places: Vec<String> =
                    calls.iter().map(|(place, _)| place.to_string()).collect();
                format!("[{}]", places.join(" "))
            }
            ToolStep::Alone(place, _) => place.to_string(),
            ToolStep::Reject(place, text) => format!("{place}: {text}"),
        });
        steps.collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn reads_run_in_parallel_and_writes_run_alone() {
        let table: [(&[(&str, &str)], &str); 5] = [
            (&[], ""),
            (&[("read", "{}"), ("read", ""), ("read", "null")], "[0 1 2]"),
            (&[("read", "{}"), ("write", "{}"), ("read", "{}")], "[0] | 1 | [2]"),
            (&[("write", "{}"), ("write", "{}")], "0 | 1"),
            (
                &[("read", "{}"), ("none", "{}"), ("read", "{}")],
                "[0 2] | 1: The call did not run: there is no tool `none`. There are: `read`, `write`.",
            ),
        ];
        for (calls, expected) in table {
            assert_eq!(planned(calls), expected, "{calls:?}");
        }
    }

    #[test]
    fn invalid_arguments_are_rejected_with_the_reason() {
        let table = [
            (
                "{\"a\":",
                "its arguments are not JSON (EOF while parsing a value at line 1 column 5). They begin with: {\"a\":",
            ),
            ("[1]", "its arguments have to be a JSON object, not a list."),
            ("\"x\"", "its arguments have to be a JSON object, not a string."),
        ];
        for (arguments, expected) in table {
            let steps = planned(&[("write", arguments)]);
            assert_eq!(steps, format!("0: The call did not run: {expected}"));
        }
    }
}
