//! A model that follows a script, delta by delta, and checks every request as its provider does.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use foxwedge_core::Format;
use foxwedge_scripted::{ScriptedProvider, check_request};
use foxwedge_testkit::violations;
use foxwedge_tools::ToolFuture;
use foxwedge_upstream::model::{
    ChatModel, ModelDescription, ModelError, ReplyDelta, ReplyStream, ValidRequest,
};
use serde_json::Value;

use crate::{
    script::{self, Reply, Step, USAGE, failure, reply, short, text},
    world::{Class, Fate, LogEntry, World},
};

/// A model that follows a script. After its end, every reply is [`DONE`].
pub(crate) struct ScriptedModel {
    about: ModelDescription,
    provider: ScriptedProvider,
    world: World,
    script: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<Value>>,
}

/// The reply after the end of the script.
pub(crate) const DONE: &str = "That is all.";

impl ScriptedModel {
    pub(crate) fn new(wire: Format, world: &World, script: Vec<Reply>) -> Arc<ScriptedModel> {
        ScriptedModel::of(script::provider(wire), world, script, None)
    }

    /// A model of a provider, with a context window.
    pub(crate) fn of(
        provider: ScriptedProvider,
        world: &World,
        script: Vec<Reply>,
        window: Option<u64>,
    ) -> Arc<ScriptedModel> {
        let (name, profile) = script::named(provider);
        let about = ModelDescription {
            name: name.into(),
            wire: provider.request_format(),
            profile,
            window,
        };
        let (script, requests) = (Mutex::new(script.into()), Mutex::default());
        Arc::new(ScriptedModel { about, provider, world: world.clone(), script, requests })
    }

    /// Replaces the script.
    pub(crate) fn set_script(&self, script: Vec<Reply>) {
        *self.script.lock().unwrap_or_else(PoisonError::into_inner) = script.into();
    }

    /// All requests that it received.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn judge(&self, request: &ValidRequest) -> Value {
        if request.wire() != self.about.wire {
            self.world.breach(format!("it was asked in {:?}", request.wire()));
        }
        if let Some(refused) = check_request(self.provider, request.body()) {
            let body = short(&String::from_utf8_lossy(request.body()));
            self.world.breach(format!("the provider refuses: {}\n{body}", refused.message));
        }
        let body: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let (wire, profile) = (self.about.wire.name(), self.about.profile.name());
        let found = violations(wire, profile, false, &body);
        if !found.is_empty() {
            let body = short(&body.to_string());
            self.world.breach(format!("the oracle objects: {found:?}\n{body}"));
        }
        body
    }
}

impl ChatModel for ScriptedModel {
    fn about(&self) -> &ModelDescription {
        &self.about
    }

    fn send(&self, request: ValidRequest) -> Box<dyn ReplyStream> {
        let body = self.judge(&request);
        let number = {
            let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
            requests.push(body);
            requests.len()
        };
        self.world.record(LogEntry::RequestSent);
        self.world.expect_stored_results("the model is asked");
        let next = self.script.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Reply { steps, stop } = next.unwrap_or_else(|| reply([text(DONE)]));
        let mut deltas: VecDeque<Line> = steps.into_iter().map(Line::Step).collect();
        if !deltas.iter().any(|line| matches!(line, Line::Step(Step::Break(_) | Step::Hang))) {
            deltas.push_back(Line::Delta(ReplyDelta::Stop(stop)));
            deltas.push_back(Line::Delta(ReplyDelta::Usage(USAGE)));
        }
        let (world, provider) = (self.world.clone(), self.provider);
        Box::new(ScriptedReplyStream {
            world,
            provider,
            number,
            lines: deltas,
            delivered: Vec::new(),
            passed: 0,
        })
    }
}

enum Line {
    Step(Step),
    Delta(ReplyDelta),
}

/// A reply in progress.
struct ScriptedReplyStream {
    world: World,
    provider: ScriptedProvider,
    number: usize,
    lines: VecDeque<Line>,
    delivered: Vec<Step>,
    /// Points of the next delta that were passed: a future that is polled again after a drop does
    /// not pass them twice.
    passed: usize,
}

impl ScriptedReplyStream {
    async fn delta(&mut self) -> Result<Option<ReplyDelta>, ModelError> {
        for side in ["before", "behind"].into_iter().skip(self.passed) {
            let name = format!("{side} a piece of reply {}", self.number);
            self.passed += 1;
            if self.world.point(Class::Model, name).await == Fate::Fail {
                return Err(failure());
            }
            tokio::task::yield_now().await;
        }
        match self.lines.front() {
            Some(Line::Step(Step::Hang)) => std::future::pending().await,
            Some(Line::Step(Step::Break(error))) => return Err(error.clone()),
            Some(_) | None => {}
        }
        self.passed = 0;
        let Some(line) = self.lines.pop_front() else {
            self.world.record(LogEntry::ReplyEnded);
            return Ok(None);
        };
        Ok(Some(match line {
            Line::Delta(delta) => delta,
            Line::Step(step) => {
                self.delivered.push(step.clone());
                match step {
                    Step::Text(text) => {
                        self.world.record(LogEntry::TextSent(text.clone()));
                        ReplyDelta::Text(text)
                    }
                    Step::Thought(text) => ReplyDelta::Reasoning(text),
                    Step::Call(call) => {
                        self.world.record(LogEntry::CallSent(call.id.clone()));
                        ReplyDelta::Call(call)
                    }
                    Step::Break(_) | Step::Hang => return Err(failure()),
                }
            }
        }))
    }
}

impl ReplyStream for ScriptedReplyStream {
    fn next_delta(&mut self) -> ToolFuture<'_, Result<Option<ReplyDelta>, ModelError>> {
        Box::pin(self.delta())
    }

    fn take_message(&mut self) -> Option<String> {
        script::message(self.provider, self.number, &self.delivered)
    }
}
