//! A model that plays a script, piece by piece, and judges every request as its provider does.

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
    script::{self, Reply, Say, USAGE, reply, short, text, trouble},
    world::{Class, Fate, Seen, World},
};

/// A model that plays a script. Behind its end it says the same few words.
pub(crate) struct Player {
    about: ModelDescription,
    provider: ScriptedProvider,
    world: World,
    script: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<Value>>,
}

/// What it says behind the end of its script.
pub(crate) const DONE: &str = "That is all.";

impl Player {
    pub(crate) fn new(wire: Format, world: &World, script: Vec<Reply>) -> Arc<Player> {
        Player::of(script::provider(wire), world, script, None)
    }

    /// One of a provider, with a window.
    pub(crate) fn of(
        provider: ScriptedProvider,
        world: &World,
        script: Vec<Reply>,
        window: Option<u64>,
    ) -> Arc<Player> {
        let (name, profile) = script::named(provider);
        let about = ModelDescription {
            name: name.into(),
            wire: provider.request_format(),
            profile,
            window,
        };
        let (script, requests) = (Mutex::new(script.into()), Mutex::default());
        Arc::new(Player { about, provider, world: world.clone(), script, requests })
    }

    /// What it says from now on.
    pub(crate) fn rehearse(&self, script: Vec<Reply>) {
        *self.script.lock().unwrap_or_else(PoisonError::into_inner) = script.into();
    }

    /// Everything that it was asked.
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

impl ChatModel for Player {
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
        self.world.see(Seen::Asked);
        self.world.expects_answers("the model is asked");
        let next = self.script.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Reply { says, stop } = next.unwrap_or_else(|| reply([text(DONE)]));
        let mut pieces: VecDeque<Line> = says.into_iter().map(Line::Say).collect();
        if !pieces.iter().any(|line| matches!(line, Line::Say(Say::Break(_) | Say::Hang))) {
            pieces.push_back(Line::Piece(ReplyDelta::Stop(stop)));
            pieces.push_back(Line::Piece(ReplyDelta::Usage(USAGE)));
        }
        let (world, provider) = (self.world.clone(), self.provider);
        Box::new(Words { world, provider, number, lines: pieces, said: Vec::new(), passed: 0 })
    }
}

enum Line {
    Say(Say),
    Piece(ReplyDelta),
}

/// A reply of it, on its way.
struct Words {
    world: World,
    provider: ScriptedProvider,
    number: usize,
    lines: VecDeque<Line>,
    said: Vec<Say>,
    /// Points of the piece in front that were passed: whoever is dropped while it waits does not
    /// pass them again.
    passed: usize,
}

impl Words {
    async fn piece(&mut self) -> Result<Option<ReplyDelta>, ModelError> {
        for side in ["before", "behind"].into_iter().skip(self.passed) {
            let name = format!("{side} a piece of reply {}", self.number);
            self.passed += 1;
            if self.world.point(Class::Model, name).await == Fate::Fail {
                return Err(trouble());
            }
            tokio::task::yield_now().await;
        }
        match self.lines.front() {
            Some(Line::Say(Say::Hang)) => std::future::pending().await,
            Some(Line::Say(Say::Break(error))) => return Err(error.clone()),
            Some(_) | None => {}
        }
        self.passed = 0;
        let Some(line) = self.lines.pop_front() else {
            self.world.see(Seen::Heard);
            return Ok(None);
        };
        Ok(Some(match line {
            Line::Piece(piece) => piece,
            Line::Say(say) => {
                self.said.push(say.clone());
                match say {
                    Say::Text(text) => {
                        self.world.see(Seen::Spoke(text.clone()));
                        ReplyDelta::Text(text)
                    }
                    Say::Thought(text) => ReplyDelta::Reasoning(text),
                    Say::Call(call) => {
                        self.world.see(Seen::Called(call.id.clone()));
                        ReplyDelta::Call(call)
                    }
                    Say::Break(_) | Say::Hang => return Err(trouble()),
                }
            }
        }))
    }
}

impl ReplyStream for Words {
    fn next_delta(&mut self) -> ToolFuture<'_, Result<Option<ReplyDelta>, ModelError>> {
        Box::pin(self.piece())
    }

    fn take_message(&mut self) -> Option<String> {
        script::message(self.provider, self.number, &self.said)
    }
}
