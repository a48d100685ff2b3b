//! Compares what a client got with what the model says.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    client::ClientHabit,
    job::{ClientTask, GatewayJob, TestUpstream},
};

/// What the model says when both tools have answered.
const ANSWERED: &str = "The tools said: sunny in Ulm | noon in CET";
/// What it says to the second question.
const SECOND: &str = "You said: good night";
/// What it says to one question.
const PLAIN: &str = "You said: a word with you";

/// Judges a result. The sessions are those that the gateway knows, with their numbers of runs.
pub(super) fn judge(
    job: &GatewayJob,
    answer: &Value,
    sessions: &BTreeMap<String, u64>,
) -> Result<(), String> {
    let result = ClientResult { job, answer };
    match job.task {
        ClientTask::Talk | ClientTask::Think => {
            result.ended_well()?;
            result.has_texts(&[ANSWERED, SECOND])?;
            result.called_both()?;
            result.statuses(&[200, 200, 200])?;
            result.one_conversation(sessions)
        }
        ClientTask::Broken => {
            result.ended_well()?;
            result.is_repaired()
        }
        ClientTask::Limited => result.raised(job.client.limited, 429),
        ClientTask::Refused => result.raised(job.client.refused, 400),
        ClientTask::Cut => result.broke_off(),
        ClientTask::Retried => {
            result.ended_well()?;
            result.has_texts(&[PLAIN])?;
            result.statuses(&[200])
        }
        ClientTask::Models => {
            result.ended_well()?;
            result.listed()
        }
        ClientTask::Count => {
            result.ended_well()?;
            let counted = result.texts().first().and_then(|text| text.parse::<u64>().ok());
            check(counted.is_some_and(|tokens| tokens > 0), "a number of tokens", answer)
        }
        ClientTask::Threads => {
            result.ended_well()?;
            result.has_texts(&[ANSWERED])?;
            result.called_both()?;
            // One refusal, and then everything without threads.
            result.statuses(match job.upstream {
                TestUpstream::Every => &[400, 200, 200],
                TestUpstream::Only(_) => &[200, 400, 200],
            })
        }
    }
}

struct ClientResult<'a> {
    job: &'a GatewayJob,
    answer: &'a Value,
}

impl ClientResult<'_> {
    fn texts(&self) -> Vec<&str> {
        let texts = self.answer["texts"].as_array().into_iter().flatten();
        texts.map(|text| text.as_str().unwrap_or_default()).collect()
    }

    fn headers(&self, name: &str) -> Vec<&str> {
        let replies = self.answer["replies"].as_array().into_iter().flatten();
        replies.map(|reply| reply["headers"][name].as_str().unwrap_or_default()).collect()
    }

    fn ended_well(&self) -> Result<(), String> {
        check(self.answer["error"].is_null(), "no error", &self.answer["error"])
    }

    fn has_texts(&self, expected: &[&str]) -> Result<(), String> {
        check(self.texts() == expected, &format!("{expected:?}"), &self.answer["texts"])
    }

    /// The tools may be run in either order, since they are called at once.
    fn called_both(&self) -> Result<(), String> {
        let calls = self.answer["calls"].as_array().into_iter().flatten();
        let calls: BTreeSet<String> = calls.map(Value::to_string).collect();
        let weather = json!({ "name": "weather", "arguments": { "city": "Ulm" } });
        let clock = json!({ "name": "clock", "arguments": { "zone": "CET" } });
        let expected = BTreeSet::from([weather.to_string(), clock.to_string()]);
        check(calls == expected, "two calls", &self.answer["calls"])
    }

    fn statuses(&self, expected: &[u64]) -> Result<(), String> {
        let replies = self.answer["replies"].as_array().into_iter().flatten();
        let statuses: Vec<u64> =
            replies.map(|reply| reply["status"].as_u64().unwrap_or(0)).collect();
        check(statuses == expected, &format!("{expected:?}"), &self.answer["replies"])
    }

    /// Every reply belongs to one session, which has a run for each question.
    fn one_conversation(&self, sessions: &BTreeMap<String, u64>) -> Result<(), String> {
        let named = self.headers("x-foxwedge-session");
        let own: BTreeSet<&str> = named.iter().copied().collect();
        let parted =
            self.job.task == ClientTask::Think && self.job.client.habit == ClientHabit::Rewrites;
        let most = if parted { 2 } else { 1 };
        check((1..=most).contains(&own.len()), "one session", &json!(named))?;
        let runs: Option<u64> = own.iter().map(|session| sessions.get(*session)).sum();
        // A run that goes on in another session is another run.
        let expected = if own.len() == 1 { 2 } else { 3 };
        let found = json!({ "sessions": named, "runs": runs });
        check(runs == Some(expected), "a run for each question", &found)
    }

    fn is_repaired(&self) -> Result<(), String> {
        let said = self.texts().first().is_some_and(|text| text.contains("a word with you"));
        check(said, "the text of the question", &self.answer["texts"])?;
        let expected = match self.job.client.habit {
            ClientHabit::Plain => "fixed",
            ClientHabit::Rewrites => "none",
        };
        let actions = self.headers("x-foxwedge-action");
        check(actions == [expected], expected, &self.answer["replies"])
    }

    fn raised(&self, kind: &str, status: u64) -> Result<(), String> {
        let error = &self.answer["error"];
        let kinds = error["kinds"].as_array().into_iter().flatten();
        let right = kinds.into_iter().any(|it| it == kind) && error["status"] == status;
        check(right, &format!("{kind} with {status}"), error)
    }

    /// The answer must not look whole, and nobody waits for the rest of it.
    fn broke_off(&self) -> Result<(), String> {
        let kinds = self.answer["error"]["kinds"].as_array().into_iter().flatten();
        let kinds: Vec<&str> = kinds.filter_map(Value::as_str).collect();
        let right = match self.job.client.broke {
            Some(kind) => kinds.contains(&kind),
            None => !kinds.is_empty(),
        };
        check(right, self.job.client.broke.unwrap_or("an error"), self.answer)
    }

    fn listed(&self) -> Result<(), String> {
        let texts = self.texts();
        let all = TestUpstream::FORMATS.iter().all(|format| {
            let name = format!("only-{format}");
            texts.iter().any(|text| *text == name)
        });
        check(all && texts.contains(&"scripted"), "every model", &self.answer["texts"])
    }
}

fn check(right: bool, expected: &str, found: &Value) -> Result<(), String> {
    if right { Ok(()) } else { Err(format!("expected {expected}, got {found}")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acceptance::gateway::{client::CLIENTS, job};

    /// A reply of the gateway.
    fn reply(status: u16, session: &str, action: &str) -> Value {
        json!({ "status": status, "headers": {
            "x-foxwedge-session": session, "x-foxwedge-action": action,
        } })
    }

    fn conversation() -> Value {
        json!({
            "texts": [ANSWERED, SECOND],
            "calls": [
                { "name": "clock", "arguments": { "zone": "CET" } },
                { "name": "weather", "arguments": { "city": "Ulm" } },
            ],
            "replies": [reply(200, "s", "none"), reply(200, "s", "none"), reply(200, "s", "none")],
            "error": null,
        })
    }

    fn judged(task: ClientTask, change: impl FnOnce(&mut Value)) -> bool {
        let mut answer = conversation();
        change(&mut answer);
        let job = job::one(&CLIENTS[0], task);
        judge(&job, &answer, &BTreeMap::from([("s".to_owned(), 2), ("t".to_owned(), 1)])).is_ok()
    }

    #[test]
    fn a_conversation_passes_only_as_a_whole() {
        assert!(judged(ClientTask::Talk, |_| {}));
        type Change = fn(&mut Value);
        let table: [(&str, Change); 6] = [
            ("an error", |it| it["error"] = json!({ "kinds": ["Error"] })),
            ("other words", |it| it["texts"][0] = json!("The tool said: sunny in Ulm")),
            ("a call twice", |it| it["calls"][0] = it["calls"][1].clone()),
            ("a session of its own", |it| it["replies"][2] = reply(200, "t", "none")),
            ("a session that nobody knows", |it| {
                (0..3).for_each(|at| it["replies"][at] = reply(200, "u", "none"));
            }),
            ("a reply more", |it| {
                it["replies"]
                    .as_array_mut()
                    .into_iter()
                    .for_each(|it| it.extend(it.first().cloned()));
            }),
        ];
        for (name, change) in table {
            assert!(!judged(ClientTask::Talk, change), "{name}");
        }
    }

    #[test]
    fn an_error_has_its_class_and_its_status() {
        let error = |kinds: &[&str], status: u64| {
            let error = json!({ "kinds": kinds, "status": status });
            move |it: &mut Value| it["error"] = error
        };
        assert!(judged(ClientTask::Limited, error(&["RateLimitError", "APIError"], 429)));
        assert!(!judged(ClientTask::Limited, error(&["APIError"], 429)));
        assert!(!judged(ClientTask::Limited, error(&["RateLimitError"], 400)));
        assert!(judged(ClientTask::Cut, error(&["APIError"], 200)));
        assert!(!judged(ClientTask::Cut, error(&["RuntimeError"], 200)));
        // Nothing for too long is no error of the client's.
        assert!(!judged(ClientTask::Cut, error(&[], 0)));
        assert!(!judged(ClientTask::Cut, |_| {}));
    }
}
