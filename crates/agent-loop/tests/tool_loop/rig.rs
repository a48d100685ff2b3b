//! A loop with fakes on all sides, for plays that are told line by line.

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
    double::Double,
    ground::Ground,
    play::{Name, SESSION, limits, pressing, runs},
    player::Player,
    said::Said,
    script::{Reply, WIRES, objections, provider},
    watched::{Leases, Watched},
    workers::{Audience, about, toolbox},
    world::World,
};

/// A loop with fakes on all sides.
pub(crate) struct Rig {
    pub(crate) world: World,
    pub(crate) store: Arc<AnyStore>,
    pub(crate) model: Arc<Player>,
    pub(crate) tool_loop: ToolLoop<Watched>,
    pub(crate) audience: Audience,
    ground: Ground,
    double: Double,
}

/// How a rig is set up.
pub(crate) struct Make {
    pub(crate) wire: Format,
    pub(crate) script: Vec<Reply>,
    pub(crate) limits: LoopLimits,
    pub(crate) leases: Leases,
    pub(crate) window: Option<u64>,
    /// Whose model it is, if not that of the format's owner.
    pub(crate) provider: Option<ScriptedProvider>,
    pub(crate) approver: Arc<dyn ToolApprover>,
    pub(crate) name: Name,
    /// Messages that are there already, in Anthropic's format.
    pub(crate) before: Vec<Value>,
}

impl Default for Make {
    fn default() -> Make {
        Make {
            wire: Format::Anthropic,
            script: Vec::new(),
            limits: limits(),
            leases: Leases::Real,
            window: None,
            provider: None,
            approver: Arc::new(ApproveAll),
            name: Name::Double,
            before: Vec::new(),
        }
    }
}

impl Make {
    pub(crate) async fn rig(self, tools: impl FnOnce(&World) -> Toolbox) -> Rig {
        let ground = Ground::file();
        let store = ground.open().await;
        before(&store, &self.before).await;
        let world = World::quiet();
        let tools = tools(&world);
        self.upon(ground, store, world, tools).await
    }

    async fn upon(self, ground: Ground, store: Arc<AnyStore>, world: World, tools: Toolbox) -> Rig {
        let watched = Arc::new(Watched::new(store.clone(), world.clone(), self.leases));
        let provider = self.provider.unwrap_or(provider(self.wire));
        let model = Player::of(provider, &world, self.script, self.window);
        let double = Double::new();
        let setup = LoopSetup {
            instructions: "You are in a play.".to_owned(),
            limits: self.limits,
            process: match self.name {
                Name::Double => double.name(),
                Name::Own => foxwedge_store::process::current_owner(),
            },
            ..LoopSetup::new(SESSION)
        };
        let open = ToolLoop::open(watched, setup, model.clone(), tools, self.approver);
        let tool_loop = open.await.expect("a loop");
        world.set_press(pressing(tool_loop.handle()));
        let audience = Audience::new(&world);
        Rig { world, store, model, tool_loop, audience, ground, double }
    }
}

impl Rig {
    /// Says something.
    pub(crate) async fn say(&mut self, prompt: &str) -> Result<FinishedRun, LoopError> {
        self.tool_loop.prompt(prompt, &mut self.audience).await
    }

    /// Says something, and how that ended.
    pub(crate) async fn outcome(&mut self, prompt: &str) -> Option<Outcome> {
        self.say(prompt).await.expect("a run").ended.outcome
    }

    /// Goes on in another process, as far as anybody can tell: all of this is dropped.
    pub(crate) async fn again(self, make: Make, tools: impl FnOnce(&World) -> Toolbox) -> Rig {
        let Rig { world, store, model, tool_loop, audience, ground, double } = self;
        drop((tool_loop, audience, model, store, double));
        assert_eq!(world.breaches(), Vec::<String>::new());
        let store = ground.open().await;
        let world = World::quiet();
        let tools = tools(&world);
        make.upon(ground, store, world, tools).await
    }

    pub(crate) fn address(&self) -> &str {
        self.ground.address()
    }

    /// The conversation, as a request in a format.
    pub(crate) fn document(&self, wire: Format) -> Value {
        let document = self.tool_loop.to_request(wire).expect("a document");
        serde_json::from_str(&document).expect("JSON")
    }

    /// What the conversation says.
    pub(crate) fn said(&self) -> Said {
        Said::of(&self.document(Format::Anthropic))
    }

    /// The conversation in a line.
    pub(crate) fn shape(&self) -> String {
        self.said().shape()
    }

    /// The events of the last run.
    pub(crate) async fn events(&self) -> Vec<RunEvent> {
        runs(&self.store).await.pop().map(|(_, events)| events).unwrap_or_default()
    }

    /// Whether everything is as it has to be.
    pub(crate) fn check(&self) {
        assert_eq!(self.world.breaches(), Vec::<String>::new());
        for wire in WIRES {
            let found = objections(wire.name(), &self.document(wire));
            assert_eq!(found, Vec::<String>::new());
        }
    }
}

/// How often a run's log tells its end.
pub(crate) fn ends(events: &[RunEvent]) -> usize {
    events.iter().filter(|event| matches!(event.body, EventPayload::Ended(_))).count()
}

/// Puts messages into the session, one behind the other, as a program of before left them.
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

type Does = Box<dyn for<'a> Fn(ToolInvocation<'a>) -> ToolFuture<'a, ToolCallResult> + Send + Sync>;

/// A tool that does what it is told to here.
pub(crate) struct Custom {
    about: ToolSpec,
    world: World,
    does: Does,
}

impl Tool for Custom {
    fn spec(&self) -> &ToolSpec {
        &self.about
    }

    fn run<'a>(&'a self, work: ToolInvocation<'a>) -> ToolFuture<'a, ToolCallResult> {
        let presence = self.world.enter(work.call_id);
        let answer = (self.does)(work);
        Box::pin(async move {
            let answer = answer.await;
            presence.finish();
            answer
        })
    }
}

/// A tool of that name.
pub(crate) fn custom(
    name: &str,
    effect: ToolEffect,
    world: &World,
    does: impl for<'a> Fn(ToolInvocation<'a>) -> ToolFuture<'a, ToolCallResult> + Send + Sync + 'static,
) -> Custom {
    Custom { about: about(name, effect), world: world.clone(), does: Box::new(does) }
}

impl Custom {
    pub(crate) fn about_mut(&mut self) -> &mut ToolSpec {
        &mut self.about
    }
}

/// One tool, `do`, that answers at once.
pub(crate) fn plain(world: &World) -> Toolbox {
    let answers = |name: &str, effect| {
        custom(name, effect, world, |work| {
            let call = work.call_id.to_owned();
            Box::pin(async move { ToolCallResult::done(format!("answer to {call}")) })
        })
    };
    toolbox([
        Arc::new(answers("do", ToolEffect::Writes)) as Arc<dyn Tool>,
        Arc::new(answers("see", ToolEffect::Reads)),
    ])
}
