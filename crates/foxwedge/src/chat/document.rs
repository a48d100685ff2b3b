//! A run as one object for programs. Field names are a promise.

use foxwedge_engine::tool_loop::Told;
use foxwedge_run::{Change, Effect, Ended, Id, Reason, Status, ToolRef};
use serde::Serialize;

/// Collects what the object says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collected {
    calls: Vec<(ToolRef, Id, Status, Option<Reason>)>,
}

impl Collected {
    /// Takes what happened.
    pub(crate) fn told(&mut self, told: &Told) {
        let Told::Run(Effect::Show { change, .. }) = told else { return };
        match change {
            Change::ToolOpened { tool, name, .. } => {
                self.calls.push((tool.clone(), name.clone(), Status::Pending, None));
            }
            Change::ToolSettled { tool, status, reason, .. }
            | Change::ToolCorrected { tool, status, reason, .. } => {
                if let Some(call) = self.calls.iter_mut().rev().find(|call| call.0 == *tool) {
                    (call.2, call.3) = (*status, *reason);
                }
            }
            _ => {}
        }
    }

    /// The object, with a line break at its end.
    pub(crate) fn write(&self, session: &str, run: &str, model: &str, ended: &Ended) -> String {
        let usage = ended.usage.unwrap_or_default();
        let document = Document {
            version: 1,
            session,
            run,
            model,
            outcome: ended.outcome.map_or("failed", |outcome| outcome.name()),
            text: ended.text.as_deref(),
            problem: ended.problem.as_ref().map(|problem| Problem {
                code: problem.code.as_deref(),
                message: &problem.message,
            }),
            usage: Usage {
                input: usage.input,
                output: usage.output,
                cached: usage.cached,
                reasoning: usage.reasoning,
            },
            tools: self.calls.iter().map(Tool::of).collect(),
        };
        // Strings and numbers only: nothing here can fail.
        let mut text = serde_json::to_string(&document).unwrap_or_default();
        text.push('\n');
        text
    }
}

#[derive(Serialize)]
struct Document<'d> {
    version: u32,
    session: &'d str,
    run: &'d str,
    model: &'d str,
    outcome: &'static str,
    text: Option<&'d str>,
    problem: Option<Problem<'d>>,
    usage: Usage,
    tools: Vec<Tool<'d>>,
}

#[derive(Serialize)]
struct Problem<'d> {
    code: Option<&'d str>,
    message: &'d str,
}

#[derive(Serialize)]
struct Usage {
    input: u64,
    output: u64,
    cached: u64,
    reasoning: u64,
}

#[derive(Serialize)]
struct Tool<'d> {
    call: &'d str,
    name: &'d str,
    status: &'static str,
    reason: Option<&'static str>,
}

impl<'d> Tool<'d> {
    fn of((tool, name, status, reason): &'d (ToolRef, Id, Status, Option<Reason>)) -> Tool<'d> {
        let reason = reason.map(Reason::name);
        Tool { call: &tool.call, name, status: status.name(), reason }
    }
}

#[cfg(test)]
mod tests {
    use foxwedge_run::{Json, Outcome};

    use super::*;

    #[test]
    fn every_call_has_its_status() {
        let run: Id = "r".into();
        let tool = |call: &str, turn| ToolRef { call: call.into(), turn };
        let show = |change| Told::Run(Effect::Show { run: run.clone(), change });
        let opened =
            |tool| Change::ToolOpened { tool, name: "run".into(), parent: None, title: None };
        let settled = |tool, status| Change::ToolSettled {
            tool,
            status,
            reason: None,
            content: Json::string("x"),
        };
        let mut collected = Collected::default();
        // An id that is used again belongs to its turn.
        for change in [
            opened(tool("a", 1)),
            settled(tool("a", 1), Status::Succeeded),
            opened(tool("a", 2)),
            settled(tool("a", 2), Status::Interrupted),
        ] {
            collected.told(&show(change));
        }
        let ended = Ended { outcome: Some(Outcome::Stopped), ..Ended::default() };
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
