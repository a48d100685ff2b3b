//! A scenario: a conversation of four replies and five calls in which something fails, and its
//! continuation.

use std::{
    collections::BTreeMap, future::poll_fn, pin::pin, sync::Arc, task::Poll, time::Duration,
};

use foxwedge_agent_loop::tool_loop::{
    InterruptResult, LoopError, LoopHandle, LoopLimits, LoopSetup, ToolLoop,
};
use foxwedge_core::Format;
use foxwedge_run::{Outcome, RunEvent};
use foxwedge_store::{AnyStore, ListFilter, ListPage, RunRow, Store};
use foxwedge_tools::{ToolEffect, Toolbox};
use serde_json::Value;

use crate::{
    history::HistoryView,
    observed_store::{Leases, ObservedStore},
    script::{FORMATS, Reply, call, reply, text, thought},
    scripted_model::ScriptedModel,
    stand_in::ProcessStandIn,
    test_store::{self, StoreKind, TestStore},
    test_tools::{RecordingObserver, StopBehavior, TestApprover, TestTool, toolbox},
    world::{Class, InterruptEffect, LogEntry, Plan, World},
};

/// The first prompt.
pub(crate) const PROMPT: &str = "Look at both, then write.";
/// The prompt of the continuation.
pub(crate) const NEXT: &str = "And what now?";
/// The prompt in the queue.
pub(crate) const LATER: &str = "And one more thing, later.";
/// The session.
pub(crate) const SESSION: &str = "play";
/// The calls, in order, with their tools.
pub(crate) const CALLS: [(&str, &str); 5] =
    [("c1", "look"), ("c2", "peek"), ("c3", "write"), ("c4", "forbidden"), ("c5", "build")];

/// Two parallel reads, then a write next to a denied call, then one call alone.
pub(crate) fn conversation() -> Vec<Reply> {
    vec![
        reply([
            thought("Two files. "),
            thought("Both at once."),
            text("alpha "),
            text("beta"),
            call("c1", "look", r#"{"path":"a"}"#),
            call("c2", "peek", r#"{"path":"b"}"#),
        ]),
        reply([
            text("gamma"),
            call("c3", "write", r#"{"path":"c"}"#),
            call("c4", "forbidden", r#"{"path":"d"}"#),
        ]),
        reply([thought("The last one."), text("delta"), call("c5", "build", "{}")]),
        reply([text("epsilon "), text("omega")]),
    ]
}

/// A shorter conversation, for tests that cost a process each.
pub(crate) fn short_conversation() -> Vec<Reply> {
    let mut conversation = conversation();
    conversation.truncate(1);
    conversation.push(reply([call("c3", "write", r#"{"path":"c"}"#)]));
    conversation.push(reply([text("omega")]));
    conversation
}

/// The settings of a scenario.
#[derive(Clone)]
pub(crate) struct Scenario {
    pub(crate) kind: StoreKind,
    pub(crate) wire: Format,
    pub(crate) stop_behavior: StopBehavior,
    pub(crate) plan: Plan,
    pub(crate) limits: LoopLimits,
    pub(crate) conversation: Vec<Reply>,
    pub(crate) continuation: Continuation,
    pub(crate) name: OwnerName,
    /// The tool that never ends.
    pub(crate) hanging_tool: Option<&'static str>,
}

/// The owner name of a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OwnerName {
    /// A process that dies with the loop.
    StandIn,
    /// This process, which continues to run.
    Own,
}

/// How the session continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Continuation {
    /// With the next prompt.
    Prompt,
    /// Without one, then with the next prompt.
    Resume,
}

impl Scenario {
    /// A scenario without failures, on a file store.
    pub(crate) fn new(wire: Format) -> Scenario {
        Scenario {
            kind: StoreKind::File,
            wire,
            stop_behavior: StopBehavior::Finishes,
            plan: Plan::new(),
            limits: limits(),
            conversation: conversation(),
            continuation: Continuation::Prompt,
            name: OwnerName::StandIn,
            hanging_tool: None,
        }
    }

    pub(crate) fn tools(&self, world: &World) -> Toolbox {
        let test_tool = |name, effect| {
            let stop_behavior = if self.hanging_tool == Some(name) {
                StopBehavior::Hangs
            } else {
                self.stop_behavior
            };
            TestTool::new(name, effect, world, stop_behavior)
        };
        toolbox([
            Arc::new(test_tool("look", ToolEffect::Reads).beside(2))
                as Arc<dyn foxwedge_tools::Tool>,
            Arc::new(test_tool("peek", ToolEffect::Reads).beside(2)),
            Arc::new(test_tool("write", ToolEffect::Writes)),
            Arc::new(test_tool("forbidden", ToolEffect::Writes)),
            Arc::new(test_tool("build", ToolEffect::Writes)),
        ])
    }

    /// Runs the scenario and its continuation. `None` if there is no store for it.
    pub(crate) async fn run(&self) -> Option<ScenarioReport> {
        let test_store = TestStore::new(self.kind)?;
        let world = World::new(self.plan.clone());
        let end = self.act(test_store.address(), &world).await;
        Some(self.afterwards(test_store.address(), &world, end).await)
    }

    /// Runs the part in which something fails.
    pub(crate) async fn act(&self, address: &str, world: &World) -> End {
        let store = test_store::open(address).await;
        let store = Arc::new(ObservedStore::new(store, world.clone(), Leases::Real));
        let model = ScriptedModel::new(self.wire, world, self.conversation.clone());
        let stand_in = (self.name == OwnerName::StandIn).then(ProcessStandIn::new);
        let work = async {
            let (tools, approver) = (self.tools(world), Arc::new(TestApprover(world.clone())));
            let process = stand_in
                .as_ref()
                .map_or_else(foxwedge_store::process::current_owner, ProcessStandIn::name);
            let setup = LoopSetup { process, ..self.setup() };
            let mut tool_loop = ToolLoop::open(store, setup, model, tools, approver).await?;
            world.set_interrupt(interrupt_through(tool_loop.handle()));
            tool_loop.inbox().replace(&[LATER.to_owned()]).await?;
            world.record(LogEntry::Queued);
            tool_loop.prompt(PROMPT, &mut RecordingObserver::new(world)).await
        };
        let end = tokio::select! {
            biased;
            () = world.killed() => End::Gone,
            result = counted(work, world) => match result {
                Ok(finished) => End::Finished(finished.ended.outcome),
                Err(error) => End::Broken(format!("{error:?}")),
            },
        };
        world.mark_dead();
        end
    }

    /// Reads the stored state and continues the session, as another process would.
    pub(crate) async fn afterwards(
        &self,
        address: &str,
        world: &World,
        end: End,
    ) -> ScenarioReport {
        settled(world).await;
        let before = last_outcome(&*test_store::open(address).await).await;
        let second = World::quiet();
        let store = test_store::open(address).await;
        let observed_store =
            Arc::new(ObservedStore::new(store.clone(), second.clone(), Leases::Real));
        let model = ScriptedModel::new(self.wire, &second, Vec::new());
        let (tools, approver) = (self.tools(&second), Arc::new(TestApprover(second.clone())));
        let setup = self.setup();
        let open = ToolLoop::open(observed_store, setup, model.clone(), tools, approver);
        let mut tool_loop = open.await.expect("a loop that goes on");
        let state = SessionState::of(&tool_loop, &store).await;
        let mut observer = RecordingObserver::new(&second);
        let mut ends = Vec::new();
        if self.continuation == Continuation::Resume {
            match tool_loop.resume(&mut observer).await {
                Ok(finished) => ends.push(finished.ended.outcome),
                Err(LoopError::NothingToSend) => {}
                Err(error) => second.breach(format!("it cannot go on: {error:?}")),
            }
        }
        match tool_loop.prompt(NEXT, &mut observer).await {
            Ok(finished) => ends.push(finished.ended.outcome),
            Err(error) => second.breach(format!("it cannot be told more: {error:?}")),
        }
        let final_state = SessionState::of(&tool_loop, &store).await;
        drop(tool_loop);
        let records_after_reopen = self.opened_again(&store).await;
        ScenarioReport {
            hit_points: world.hit_points(),
            log: world.log(),
            breaches: world.breaches(),
            living: world.living(),
            end,
            before,
            state,
            second,
            ends,
            requests: model.requests(),
            final_state,
            records_after_reopen,
        }
    }

    /// Number of records after the session is opened once more.
    async fn opened_again(&self, store: &Arc<AnyStore>) -> u64 {
        let world = World::quiet();
        let observed_store =
            Arc::new(ObservedStore::new(store.clone(), world.clone(), Leases::Real));
        let model = ScriptedModel::new(self.wire, &world, Vec::new());
        let (tools, approver) = (self.tools(&world), Arc::new(TestApprover(world.clone())));
        let open = ToolLoop::open(observed_store, self.setup(), model, tools, approver).await;
        drop(open.expect("a loop"));
        records(store).await
    }

    pub(crate) fn setup(&self) -> LoopSetup {
        let instructions = "You are in a play.".to_owned();
        LoopSetup { instructions, limits: self.limits, ..LoopSetup::new(SESSION) }
    }
}

/// Short grace periods, so that tools that ignore a stop do not slow the tests.
pub(crate) fn limits() -> LoopLimits {
    LoopLimits { stop_grace: Duration::from_millis(25), ..LoopLimits::default() }
}

/// How the first part ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// The run ended.
    Finished(Option<Outcome>),
    /// The store failed.
    Broken(String),
    /// The loop was dropped, or its process killed.
    Gone,
}

/// The result of a scenario.
#[derive(Clone)]
pub(crate) struct ScenarioReport {
    /// The points at which something was injected.
    pub(crate) hit_points: Vec<String>,
    pub(crate) log: Vec<LogEntry>,
    pub(crate) breaches: Vec<String>,
    pub(crate) living: usize,
    pub(crate) end: End,
    /// The stored outcome of the run before the session was opened again.
    pub(crate) before: Option<Outcome>,
    /// The state after the failure.
    pub(crate) state: SessionState,
    pub(crate) second: World,
    /// Outcomes of the runs of the continuation.
    pub(crate) ends: Vec<Option<Outcome>>,
    /// Requests of the continuation.
    pub(crate) requests: Vec<Value>,
    /// The state after the continuation.
    pub(crate) final_state: SessionState,
    /// Number of records after another opening.
    pub(crate) records_after_reopen: u64,
}

/// The stored state of a session.
#[derive(Clone)]
pub(crate) struct SessionState {
    /// Its runs, the oldest first, with their events.
    pub(crate) runs: Vec<(RunRow, Vec<RunEvent>)>,
    /// The conversation, in each format.
    pub(crate) documents: BTreeMap<&'static str, Value>,
    /// The items of the conversation.
    pub(crate) history: HistoryView,
    pub(crate) queued: Vec<String>,
    pub(crate) records: u64,
}

impl SessionState {
    pub(crate) async fn of<S: Store>(tool_loop: &ToolLoop<S>, store: &AnyStore) -> SessionState {
        let document_in = |wire: Format| {
            let document = tool_loop.to_request(wire).expect("a document");
            (wire.name(), serde_json::from_str(&document).expect("JSON"))
        };
        let documents: BTreeMap<&str, Value> = FORMATS.into_iter().map(document_in).collect();
        SessionState {
            runs: runs(store).await,
            history: HistoryView::of(&documents["anthropic"]),
            documents,
            queued: tool_loop.inbox().get().await.expect("a queue"),
            records: records(store).await,
        }
    }
}

/// The runs of the session, the oldest first, with their events.
pub(crate) async fn runs(store: &AnyStore) -> Vec<(RunRow, Vec<RunEvent>)> {
    let filter = ListFilter { session: Some(SESSION.to_owned()), ..ListFilter::default() };
    let mut rows = store.runs(filter, ListPage::default()).await.expect("runs");
    rows.sort_by_key(|row| row.epoch);
    let mut runs = Vec::new();
    for row in rows {
        let events = store.events(&row.id, 0, 10_000).await.expect("events");
        runs.push((row, events.into_iter().map(|stored| stored.event).collect()));
    }
    runs
}

pub(crate) async fn records(store: &AnyStore) -> u64 {
    store.session(SESSION).await.expect("a store").map_or(0, |row| row.records)
}

async fn last_outcome(store: &AnyStore) -> Option<Outcome> {
    runs(store).await.last().and_then(|(row, _)| row.state.outcome())
}

/// Waits until no tool is running.
async fn settled(world: &World) {
    for _ in 0..500 {
        if world.living() == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Interrupts through a handle and maps the effect.
pub(crate) fn interrupt_through(
    handle: LoopHandle,
) -> impl Fn() -> InterruptEffect + Send + Sync + 'static {
    move || match handle.interrupt() {
        InterruptResult::Idle => InterruptEffect::Idle,
        InterruptResult::Stopping => InterruptEffect::Stopping,
        InterruptResult::Forced => InterruptEffect::Forced,
        InterruptResult::AlreadyForced => InterruptEffect::AlreadyForced,
    }
}

/// Counts how often a future is pending.
async fn counted<T>(work: impl Future<Output = T>, world: &World) -> T {
    let mut work = pin!(work);
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Pending => {
            world.hit_point(Class::Wait, "the loop waits");
            Poll::Pending
        }
        ready @ Poll::Ready(_) => ready,
    })
    .await
}
