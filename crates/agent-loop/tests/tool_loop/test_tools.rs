//! Fake tools, an approver and an observer for scenarios.

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

use crate::world::{Class, Fate, LogEntry, World};

/// What a tool does on a stop request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StopBehavior {
    /// They finish.
    Finishes,
    /// They stop with a partial result.
    Stops,
    /// They ignore it and never end.
    Ignores,
    /// They never end, with or without a stop request, until their timeout.
    Hangs,
}

/// Output of every tool in the middle of its work.
pub(crate) const HALF: &str = "half of it";
/// Result of a tool that stops there.
pub(crate) const STOPPED: &str = "stopped in the middle";

/// The full result of a call.
pub(crate) fn full_result(name: &str, call: &str) -> String {
    format!("the whole answer of {name} to {call}")
}

/// A tool of a scenario.
pub(crate) struct TestTool {
    about: ToolSpec,
    world: World,
    stop_behavior: StopBehavior,
    /// Number of tools that must have started before it continues.
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

impl TestTool {
    pub(crate) fn new(
        name: &str,
        effect: ToolEffect,
        world: &World,
        stop_behavior: StopBehavior,
    ) -> TestTool {
        let mut about = about(name, effect);
        if stop_behavior == StopBehavior::Hangs {
            about.limit = Duration::from_millis(30);
        }
        TestTool { about, world: world.clone(), stop_behavior, company: 0 }
    }

    /// Continues only after this many tools have started.
    pub(crate) fn beside(mut self, company: usize) -> TestTool {
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

impl Tool for TestTool {
    fn spec(&self) -> &ToolSpec {
        &self.about
    }

    fn run<'a>(&'a self, work: ToolInvocation<'a>) -> ToolFuture<'a, ToolCallResult> {
        let guard = self.world.enter(work.call_id);
        if self.about.effect == ToolEffect::Writes {
            self.world.expect_stored_results(work.call_id);
        }
        Box::pin(async move {
            let mut work = work;
            self.point(work.call_id, "begins").await;
            work.output.push(HALF.as_bytes());
            self.world.record(LogEntry::OutputWritten(work.call_id.to_owned()));
            if self.company > 0 {
                tokio::select! {
                    () = self.world.company(self.company) => {}
                    () = work.stop.wait_for(StopLevel::Graceful) => {}
                }
            }
            self.point(work.call_id, "is in its middle").await;
            if self.stop_behavior == StopBehavior::Hangs {
                std::future::pending::<()>().await;
            }
            if work.stop.level() > StopLevel::None {
                match self.stop_behavior {
                    StopBehavior::Finishes => {}
                    StopBehavior::Stops => {
                        guard.give_up();
                        let content = ToolResultContent::Text(STOPPED.to_owned());
                        return ToolCallResult { completion: ToolCompletion::Stopped, content };
                    }
                    StopBehavior::Ignores | StopBehavior::Hangs => std::future::pending().await,
                }
            }
            self.point(work.call_id, "is done").await;
            guard.finish();
            ToolCallResult::done(full_result(&self.about.name, work.call_id))
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

/// Requires approval for every tool that writes; allows all but `forbidden`.
pub(crate) struct TestApprover(pub(crate) World);

/// The reason of a denial.
pub(crate) const DENIAL: &str = "not today";

impl ToolApprover for TestApprover {
    fn needs_approval(&self, request: &ToolApprovalRequest<'_>) -> bool {
        request.tool.effect == ToolEffect::Writes
    }

    fn decide<'a>(&'a self, request: ToolApprovalRequest<'a>) -> ToolFuture<'a, ToolDecision> {
        Box::pin(async move {
            self.0.point(Class::Approver, format!("before {} is decided", request.call)).await;
            tokio::task::yield_now().await;
            self.0.point(Class::Approver, format!("{} is decided", request.call)).await;
            let allowed = request.tool.name != "forbidden";
            self.0.record(LogEntry::Decided(request.call.to_owned(), allowed));
            if allowed { ToolDecision::Allow } else { ToolDecision::Deny(Some(DENIAL.to_owned())) }
        })
    }
}

/// Records every event and compares it with the store.
pub(crate) struct RecordingObserver {
    world: World,
    watch: Watch,
}

impl RecordingObserver {
    pub(crate) fn new(world: &World) -> RecordingObserver {
        RecordingObserver { world: world.clone(), watch: Watch::default() }
    }
}

impl LoopObserver for RecordingObserver {
    fn on_event(&mut self, event: LoopEvent) {
        let LoopEvent::Run(effect) = event else { return };
        if let RunEffect::Emit(event) = &effect {
            self.world.hit_point(Class::Listener, "something is told");
            if !self.world.is_stored(event) {
                self.world.breach(format!("told before it is stored: {event:?}"));
            }
        }
        if let Err(error) = self.watch.take(std::slice::from_ref(&effect)) {
            self.world.breach(format!("not well formed: {error}"));
        }
        self.world.record(LogEntry::Delivered(Box::new(effect)));
    }
}
