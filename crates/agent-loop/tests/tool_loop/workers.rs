//! Tools that do nothing but what a play needs, somebody who allows them, and somebody who listens.

use std::{sync::Arc, time::Duration};

use foxwedge_agent_loop::tool_loop::{
    LoopEvent, LoopObserver, ToolApprovalRequest, ToolApprover, ToolDecision,
};
use foxwedge_run::RunEffect;
use foxwedge_testkit::runs::laws::Watch;
use foxwedge_tools::{
    StopLevel, Tool, ToolCallResult, ToolCompletion, ToolEffect, ToolFuture, ToolInvocation,
    ToolResultContent, ToolSpec, Toolbox,
};
use serde_json::json;

use crate::world::{Class, Fate, Seen, World};

/// What tools do when they are asked to stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Manner {
    /// They finish.
    Finishes,
    /// They stop, and say how far they came.
    Stops,
    /// They do not listen, and never end.
    Ignores,
    /// They never end, whether anybody asks or not, until their time is over.
    Hangs,
}

/// What every tool says in the middle of its work.
pub(crate) const HALF: &str = "half of it";
/// What it answers if it stops there.
pub(crate) const STOPPED: &str = "stopped in the middle";

/// The real answer to a call.
pub(crate) fn real(name: &str, call: &str) -> String {
    format!("the whole answer of {name} to {call}")
}

/// A tool of a play.
pub(crate) struct Worker {
    about: ToolSpec,
    world: World,
    manner: Manner,
    /// How many have to be at work before it goes on.
    company: usize,
}

pub(crate) fn about(name: &str, effect: ToolEffect) -> ToolSpec {
    ToolSpec {
        name: name.to_owned().into(),
        description: format!("does {name}").into(),
        schema: json!({ "type": "object", "properties": { "path": { "type": "string" } } }),
        effect,
        limit: Duration::from_secs(60),
    }
}

impl Worker {
    pub(crate) fn new(name: &str, effect: ToolEffect, world: &World, manner: Manner) -> Worker {
        let mut about = about(name, effect);
        if manner == Manner::Hangs {
            about.limit = Duration::from_millis(30);
        }
        Worker { about, world: world.clone(), manner, company: 0 }
    }

    /// Goes on only beside others.
    pub(crate) fn beside(mut self, company: usize) -> Worker {
        self.company = company;
        self
    }

    async fn point(&self, call: &str, what: &str) {
        let name = format!("{} {call} {what}", self.about.name);
        if self.world.point(Class::Tool, name).await == Fate::Fail {
            panic!("the tool panics, as it was planned");
        }
        tokio::task::yield_now().await;
    }
}

impl Tool for Worker {
    fn spec(&self) -> &ToolSpec {
        &self.about
    }

    fn run<'a>(&'a self, work: ToolInvocation<'a>) -> ToolFuture<'a, ToolCallResult> {
        let presence = self.world.enter(work.call_id);
        if self.about.effect == ToolEffect::Writes {
            self.world.expects_answers(work.call_id);
        }
        Box::pin(async move {
            let mut work = work;
            self.point(work.call_id, "begins").await;
            work.output.push(HALF.as_bytes());
            self.world.see(Seen::Murmured(work.call_id.to_owned()));
            if self.company > 0 {
                tokio::select! {
                    () = self.world.company(self.company) => {}
                    () = work.stop.wait_for(StopLevel::Graceful) => {}
                }
            }
            self.point(work.call_id, "is in its middle").await;
            if self.manner == Manner::Hangs {
                std::future::pending::<()>().await;
            }
            if work.stop.level() > StopLevel::None {
                match self.manner {
                    Manner::Finishes => {}
                    Manner::Stops => {
                        presence.give_up();
                        let content = ToolResultContent::Text(STOPPED.to_owned());
                        return ToolCallResult { completion: ToolCompletion::Stopped, content };
                    }
                    Manner::Ignores | Manner::Hangs => std::future::pending().await,
                }
            }
            self.point(work.call_id, "is done").await;
            presence.finish();
            ToolCallResult::done(real(&self.about.name, work.call_id))
        })
    }
}

/// A set of tools.
pub(crate) fn toolbox(tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Toolbox {
    let mut toolbox = Toolbox::new();
    for tool in tools {
        toolbox.add(tool).expect("names of their own");
    }
    toolbox
}

/// Asks about everything that writes; allows all of it but `forbidden`.
pub(crate) struct Gate(pub(crate) World);

/// What the gate says when it does not allow something.
pub(crate) const NO: &str = "not today";

impl ToolApprover for Gate {
    fn needs_approval(&self, asking: &ToolApprovalRequest<'_>) -> bool {
        asking.tool.effect == ToolEffect::Writes
    }

    fn decide<'a>(&'a self, asking: ToolApprovalRequest<'a>) -> ToolFuture<'a, ToolDecision> {
        Box::pin(async move {
            self.0.point(Class::Approver, format!("before {} is decided", asking.call)).await;
            tokio::task::yield_now().await;
            self.0.point(Class::Approver, format!("{} is decided", asking.call)).await;
            let allowed = asking.tool.name != "forbidden";
            self.0.see(Seen::Decided(asking.call.to_owned(), allowed));
            if allowed { ToolDecision::Allow } else { ToolDecision::Deny(Some(NO.to_owned())) }
        })
    }
}

/// Hears everything, and compares it with what is stored.
pub(crate) struct Audience {
    world: World,
    watch: Watch,
}

impl Audience {
    pub(crate) fn new(world: &World) -> Audience {
        Audience { world: world.clone(), watch: Watch::default() }
    }
}

impl LoopObserver for Audience {
    fn on_event(&mut self, told: LoopEvent) {
        let LoopEvent::Run(effect) = told else { return };
        if let RunEffect::Emit(event) = &effect {
            self.world.strike(Class::Listener, "something is told");
            if !self.world.is_stored(event) {
                self.world.breach(format!("told before it is stored: {event:?}"));
            }
        }
        if let Err(trouble) = self.watch.take(std::slice::from_ref(&effect)) {
            self.world.breach(format!("not well formed: {trouble}"));
        }
        self.world.see(Seen::Told(Box::new(effect)));
    }
}
