//! A run as one JSON object for programs. The field names are stable.

use foxwedge_agent_loop::tool_loop::LoopEvent;
use foxwedge_run::{RunEffect, RunEnd, SharedId, ToolRef, ToolStatus, ToolStatusReason, UiChange};
use serde::Serialize;

/// Collects the tool calls of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReplyCollector {
    calls: Vec<(ToolRef, SharedId, ToolStatus, Option<ToolStatusReason>)>,
}

impl ReplyCollector {
    /// Records an event.
    pub(crate) fn record_event(&mut self, event: &LoopEvent) {
        let LoopEvent::Run(RunEffect::Show { change, .. }) = event else { return };
        match change {
            UiChange::ToolOpened { tool, name, .. } => {
                self.calls.push((tool.clone(), name.clone(), ToolStatus::Pending, None));
            }
            UiChange::ToolSettled { tool, status, reason, .. }
            | UiChange::ToolCorrected { tool, status, reason, .. } => {
                if let Some(call) = self.calls.iter_mut().rev().find(|call| call.0 == *tool) {
                    (call.2, call.3) = (*status, *reason);
                }
            }
            _ => {}
        }
    }

    /// The JSON object, followed by a line break.
    pub(crate) fn write(&self, session: &str, run: &str, model: &str, ended: &RunEnd) -> String {
        let usage = ended.usage.unwrap_or_default();
        let document = ReplyJson {
            version: 1,
            session,
            run,
            model,
            outcome: ended.outcome.map_or("failed", |outcome| outcome.name()),
            text: ended.text.as_deref(),
            problem: ended.problem.as_ref().map(|problem| ReplyProblemJson {
                code: problem.code.as_deref(),
                message: &problem.message,
            }),
            usage: ReplyUsageJson {
                input: usage.input,
                output: usage.output,
                cached: usage.cached,
                reasoning: usage.reasoning,
            },
            tools: self.calls.iter().map(ReplyToolJson::of).collect(),
        };
        // Serializing strings and numbers cannot fail.
        let mut text = serde_json::to_string(&document).unwrap_or_default();
        text.push('\n');
        text
    }
}

#[derive(Serialize)]
struct ReplyJson<'d> {
    version: u32,
    session: &'d str,
    run: &'d str,
    model: &'d str,
    outcome: &'static str,
    text: Option<&'d str>,
    problem: Option<ReplyProblemJson<'d>>,
    usage: ReplyUsageJson,
    tools: Vec<ReplyToolJson<'d>>,
}

#[derive(Serialize)]
struct ReplyProblemJson<'d> {
    code: Option<&'d str>,
    message: &'d str,
}

#[derive(Serialize)]
struct ReplyUsageJson {
    input: u64,
    output: u64,
    cached: u64,
    reasoning: u64,
}

#[derive(Serialize)]
struct ReplyToolJson<'d> {
    call: &'d str,
    name: &'d str,
    status: &'static str,
    reason: Option<&'static str>,
}

impl<'d> ReplyToolJson<'d> {
    fn of(
        (tool, name, status, reason): &'d (ToolRef, SharedId, ToolStatus, Option<ToolStatusReason>),
    ) -> ReplyToolJson<'d> {
        let reason = reason.map(ToolStatusReason::name);
        ReplyToolJson { call: &tool.call, name, status: status.name(), reason }
    }
}

#[cfg(test)]
mod tests {
    use foxwedge_run::{Outcome, RawJson};

    use super::*;

    #[test]
    fn every_call_has_its_status() {
        let run: SharedId = "r".into();
        let tool = |call: &str, turn| ToolRef { call: call.into(), turn };
        let show = |change| LoopEvent::Run(RunEffect::Show { run: run.clone(), change });
        let opened =
            |tool| UiChange::ToolOpened { tool, name: "run".into(), parent: None, title: None };
        let settled = |tool, status| UiChange::ToolSettled {
            tool,
            status,
            reason: None,
            content: RawJson::string("x"),
        };
        let mut collected = ReplyCollector::default();
        // A reused id belongs to its turn.
        for change in [
            opened(tool("a", 1)),
            settled(tool("a", 1), ToolStatus::Succeeded),
            opened(tool("a", 2)),
            settled(tool("a", 2), ToolStatus::Interrupted),
        ] {
            collected.record_event(&show(change));
        }
        let ended = RunEnd { outcome: Some(Outcome::Stopped), ..RunEnd::default() };
        let text = collected.write("s", "r", "m", &ended);
        let expected = concat!(
            r#"{"version":1,"session":"s","run":"r","model":"m","outcome":"stopped","text":null,"#,
            r#""problem":null,"usage":{"input":0,"output":0,"cached":0,"reasoning":0},"tools":["#,
            r#"{"call":"a","name":"run","status":"succeeded","reason":null},"#,
            r#"{"call":"a","name":"run","status":"interrupted","reason":null}]}"#,
            "\n"
        );
        assert_eq!(text, expected);
    }
}
