//! A loop with fakes on all sides, for tests that drive it prompt by prompt.

use std::sync::Arc;

use foxwedge_agent_loop::tool_loop::{
    ApproveAll, FinishedRun, LoopError, LoopLimits, LoopSetup, ToolApprover, ToolLoop,
};
use foxwedge_core::Format;
use foxwedge_run::{EventPayload, Outcome, RunEvent};
use foxwedge_scripted::ScriptedProvider;
use foxwedge_store::{AnyStore, NewRecord, NewSession, Store};
use foxwedge_tools::{
    Tool, ToolCallResult, ToolEffect, ToolFuture, ToolInvocation, ToolSpec, Toolbox,
};
use serde_json::Value;

use crate::{
    history::HistoryView,
    observed_store::{Leases, ObservedStore},
    scenario::{OwnerName, SESSION, interrupt_through, limits, runs},
    script::{FORMATS, Reply, objections, provider},
    scripted_model::ScriptedModel,
    stand_in::ProcessStandIn,
    test_store::TestStore,
    test_tools::{RecordingObserver, about, toolbox},
    world::World,
};

/// A loop with fakes on all sides.
pub(crate) struct Harness {
    pub(crate) world: World,
    pub(crate) store: Arc<AnyStore>,
    pub(crate) model: Arc<ScriptedModel>,
    pub(crate) tool_loop: ToolLoop<ObservedStore>,
    pub(crate) observer: RecordingObserver,
    test_store: TestStore,
    stand_in: ProcessStandIn,
}

/// Setup of a harness.
pub(crate) struct Setup {
    pub(crate) wire: Format,
    pub(crate) script: Vec<Reply>,
    pub(crate) limits: LoopLimits,
    pub(crate) leases: Leases,
    pub(crate) window: Option<u64>,
    /// The provider of the model, if not that of the format.
    pub(crate) provider: Option<ScriptedProvider>,
    pub(crate) approver: Arc<dyn ToolApprover>,
    pub(crate) name: OwnerName,
    /// Messages that are already stored, in Anthropic's format.
    pub(crate) before: Vec<Value>,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            wire: Format::Anthropic,
            script: Vec::new(),
            limits: limits(),
            leases: Leases::Real,
            window: None,
            provider: None,
            approver: Arc::new(ApproveAll),
            name: OwnerName::StandIn,
            before: Vec::new(),
        }
    }
}

impl Setup {
    pub(crate) async fn build(self, tools: impl FnOnce(&World) -> Toolbox) -> Harness {
        let test_store = TestStore::file();
        let store = test_store.open().await;
        before(&store, &self.before).await;
        let world = World::quiet();
        let tools = tools(&world);
        self.build_on(test_store, store, world, tools).await
    }

    async fn build_on(
        self,
        test_store: TestStore,
        store: Arc<AnyStore>,
        world: World,
        tools: Toolbox,
    ) -> Harness {
        let observed_store =
            Arc::new(ObservedStore::new(store.clone(), world.clone(), self.leases));
        let provider = self.provider.unwrap_or(provider(self.wire));
        let model = ScriptedModel::of(provider, &world, self.script, self.window);
        let stand_in = ProcessStandIn::new();
        let setup = LoopSetup {
            instructions: "You are in a play.".to_owned(),
            limits: self.limits,
            process: match self.name {
                OwnerName::StandIn => stand_in.name(),
                OwnerName::Own => foxwedge_store::process::current_owner(),
            },
            ..LoopSetup::new(SESSION)
        };
        let open = ToolLoop::open(observed_store, setup, model.clone(), tools, self.approver);
        let tool_loop = open.await.expect("a loop");
        world.set_interrupt(interrupt_through(tool_loop.handle()));
        let observer = RecordingObserver::new(&world);
        Harness { world, store, model, tool_loop, observer, test_store, stand_in }
    }
}

impl Harness {
    /// Sends a prompt.
    pub(crate) async fn prompt(&mut self, prompt: &str) -> Result<FinishedRun, LoopError> {
        self.tool_loop.prompt(prompt, &mut self.observer).await
    }

    /// Sends a prompt and returns the outcome of its run.
    pub(crate) async fn outcome(&mut self, prompt: &str) -> Option<Outcome> {
        self.prompt(prompt).await.expect("a run").ended.outcome
    }

    /// Drops everything and opens the session again, as another process would.
    pub(crate) async fn reopen(
        self,
        setup: Setup,
        tools: impl FnOnce(&World) -> Toolbox,
    ) -> Harness {
        let Harness { world, store, model, tool_loop, observer, test_store, stand_in } = self;
        drop((tool_loop, observer, model, store, stand_in));
        assert_eq!(world.breaches(), Vec::<String>::new());
        let store = test_store.open().await;
        let world = World::quiet();
        let tools = tools(&world);
        setup.build_on(test_store, store, world, tools).await
    }

    pub(crate) fn address(&self) -> &str {
        self.test_store.address()
    }

    /// The conversation, as a request in a format.
    pub(crate) fn document(&self, wire: Format) -> Value {
        let document = self.tool_loop.to_request(wire).expect("a document");
        serde_json::from_str(&document).expect("JSON")
    }

    /// The items of the conversation.
    pub(crate) fn history(&self) -> HistoryView {
        HistoryView::of(&self.document(Format::Anthropic))
    }

    /// The conversation in one line.
    pub(crate) fn shape(&self) -> String {
        self.history().shape()
    }

    /// The events of the last run.
    pub(crate) async fn events(&self) -> Vec<RunEvent> {
        runs(&self.store).await.pop().map(|(_, events)| events).unwrap_or_default()
    }

    /// Asserts that there are no breaches and that the conversation is valid in every format.
    pub(crate) fn check(&self) {
        assert_eq!(self.world.breaches(), Vec::<String>::new());
        for wire in FORMATS {
            let found = objections(wire.name(), &self.document(wire));
            assert_eq!(found, Vec::<String>::new());
        }
    }
}

/// Number of end events in a run's log.
pub(crate) fn ends(events: &[RunEvent]) -> usize {
    events.iter().filter(|event| matches!(event.body, EventPayload::Ended(_))).count()
}

/// Stores messages in the session, one after the other, as an earlier process left them.
pub(crate) async fn before(store: &AnyStore, messages: &[Value]) {
    if messages.is_empty() {
        return;
    }
    let meta = Some(r#"{"kind":"chat"}"#.to_owned());
    let new = NewSession {
        id: SESSION.to_owned(),
        owner: "local".to_owned(),
        meta,
        ..NewSession::default()
    };
    store.create_session(new).await.expect("a session");
    let record = |(place, message): (usize, &Value)| NewRecord {
        id: format!("old-{place}"),
        parent: place.checked_sub(1).map(|place| format!("old-{place}")),
        run: None,
        kind: "message".to_owned(),
        body: message.to_string(),
    };
    let records: Vec<NewRecord> = messages.iter().enumerate().map(record).collect();
    for batch in records.chunks(5_000) {
        store.append_records(SESSION, batch.to_vec()).await.expect("records");
    }
}

type ToolFn =
    Box<dyn for<'a> Fn(ToolInvocation<'a>) -> ToolFuture<'a, ToolCallResult> + Send + Sync>;

/// A tool with a given behavior.
pub(crate) struct CustomTool {
    about: ToolSpec,
    world: World,
    behavior: ToolFn,
}

impl Tool for CustomTool {
    fn spec(&self) -> &ToolSpec {
        &self.about
    }

    fn run<'a>(&'a self, work: ToolInvocation<'a>) -> ToolFuture<'a, ToolCallResult> {
        let guard = self.world.enter(work.call_id);
        let answer = (self.behavior)(work);
        Box::pin(async move {
            let answer = answer.await;
            guard.finish();
            answer
        })
    }
}

/// Creates a tool with this name and behavior.
pub(crate) fn custom(
    name: &str,
    effect: ToolEffect,
    world: &World,
    behavior: impl for<'a> Fn(ToolInvocation<'a>) -> ToolFuture<'a, ToolCallResult>
    + Send
    + Sync
    + 'static,
) -> CustomTool {
    CustomTool { about: about(name, effect), world: world.clone(), behavior: Box::new(behavior) }
}

impl CustomTool {
    pub(crate) fn about_mut(&mut self) -> &mut ToolSpec {
        &mut self.about
    }
}

/// Two tools, `do` and `see`, that return at once.
pub(crate) fn plain(world: &World) -> Toolbox {
    let tool = |name: &str, effect| {
        custom(name, effect, world, |work| {
            let call = work.call_id.to_owned();
            Box::pin(async move { ToolCallResult::done(format!("answer to {call}")) })
        })
    };
    toolbox([
        Arc::new(tool("do", ToolEffect::Writes)) as Arc<dyn Tool>,
        Arc::new(tool("see", ToolEffect::Reads)),
    ])
}
