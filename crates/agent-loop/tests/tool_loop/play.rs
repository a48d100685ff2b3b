//! A play: a conversation of four replies and five calls in which something goes wrong, and how it
//! goes on afterwards.

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
    double::Double,
    ground::{self, Ground, Kind},
    player::Player,
    said::Said,
    script::{Reply, WIRES, call, reply, text, thought},
    watched::{Leases, Watched},
    workers::{Audience, Gate, Manner, Worker, toolbox},
    world::{Class, Plan, Pressing, Seen, World},
};

/// What the person says first.
pub(crate) const PROMPT: &str = "Look at both, then write.";
/// What the person says afterwards.
pub(crate) const NEXT: &str = "And what now?";
/// What waits in the queue.
pub(crate) const LATER: &str = "And one more thing, later.";
/// The session.
pub(crate) const SESSION: &str = "play";
/// The calls, in order, with their tools.
pub(crate) const CALLS: [(&str, &str); 5] =
    [("c1", "look"), ("c2", "peek"), ("c3", "write"), ("c4", "forbidden"), ("c5", "build")];

/// Two calls at once that read, then one that writes beside one that is denied, then one alone.
pub(crate) fn story() -> Vec<Reply> {
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

/// The same in short, for where a play costs a process.
pub(crate) fn short_story() -> Vec<Reply> {
    let mut story = story();
    story.truncate(1);
    story.push(reply([call("c3", "write", r#"{"path":"c"}"#)]));
    story.push(reply([text("omega")]));
    story
}

/// What is played.
#[derive(Clone)]
pub(crate) struct Scene {
    pub(crate) kind: Kind,
    pub(crate) wire: Format,
    pub(crate) manner: Manner,
    pub(crate) plan: Plan,
    pub(crate) limits: LoopLimits,
    pub(crate) story: Vec<Reply>,
    pub(crate) then: Then,
    pub(crate) name: Name,
    /// A tool that never ends.
    pub(crate) hangs: Option<&'static str>,
}

/// In whose name a loop runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Name {
    /// That of a process which dies with the loop.
    Double,
    /// That of this process, which goes on.
    Own,
}

/// How it goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Then {
    /// With the next prompt.
    Say,
    /// Without one, then with the next prompt.
    GoOn,
}

impl Scene {
    /// Nothing goes wrong, in a file.
    pub(crate) fn new(wire: Format) -> Scene {
        Scene {
            kind: Kind::File,
            wire,
            manner: Manner::Finishes,
            plan: Plan::new(),
            limits: limits(),
            story: story(),
            then: Then::Say,
            name: Name::Double,
            hangs: None,
        }
    }

    pub(crate) fn tools(&self, world: &World) -> Toolbox {
        let worker = |name, effect| {
            let manner = if self.hangs == Some(name) { Manner::Hangs } else { self.manner };
            Worker::new(name, effect, world, manner)
        };
        toolbox([
            Arc::new(worker("look", ToolEffect::Reads).beside(2)) as Arc<dyn foxwedge_tools::Tool>,
            Arc::new(worker("peek", ToolEffect::Reads).beside(2)),
            Arc::new(worker("write", ToolEffect::Writes)),
            Arc::new(worker("forbidden", ToolEffect::Writes)),
            Arc::new(worker("build", ToolEffect::Writes)),
        ])
    }

    /// Plays it, and goes on afterwards. `None` if there is no ground for it.
    pub(crate) async fn play(&self) -> Option<Played> {
        let ground = Ground::new(self.kind)?;
        let world = World::new(self.plan.clone());
        let end = self.act(ground.address(), &world).await;
        Some(self.afterwards(ground.address(), &world, end).await)
    }

    /// The part in which something goes wrong.
    pub(crate) async fn act(&self, address: &str, world: &World) -> End {
        let store = ground::open(address).await;
        let store = Arc::new(Watched::new(store, world.clone(), Leases::Real));
        let model = Player::new(self.wire, world, self.story.clone());
        let double = (self.name == Name::Double).then(Double::new);
        let work = async {
            let (tools, gate) = (self.tools(world), Arc::new(Gate(world.clone())));
            let process =
                double.as_ref().map_or_else(foxwedge_store::process::current_owner, Double::name);
            let setup = LoopSetup { process, ..self.setup() };
            let mut tool_loop = ToolLoop::open(store, setup, model, tools, gate).await?;
            world.set_press(pressing(tool_loop.handle()));
            tool_loop.inbox().replace(&[LATER.to_owned()]).await?;
            world.see(Seen::Queued);
            tool_loop.prompt(PROMPT, &mut Audience::new(world)).await
        };
        let end = tokio::select! {
            biased;
            () = world.killed() => End::Gone,
            result = counted(work, world) => match result {
                Ok(finished) => End::Finished(finished.ended.outcome),
                Err(error) => End::Broken(format!("{error:?}")),
            },
        };
        world.bury();
        end
    }

    /// What is left of it, and how it goes on: in another process, as far as anybody can tell.
    pub(crate) async fn afterwards(&self, address: &str, world: &World, end: End) -> Played {
        settled(world).await;
        let before = last_outcome(&*ground::open(address).await).await;
        let second = World::quiet();
        let store = ground::open(address).await;
        let watched = Arc::new(Watched::new(store.clone(), second.clone(), Leases::Real));
        let model = Player::new(self.wire, &second, Vec::new());
        let (tools, gate) = (self.tools(&second), Arc::new(Gate(second.clone())));
        let setup = self.setup();
        let open = ToolLoop::open(watched, setup, model.clone(), tools, gate);
        let mut tool_loop = open.await.expect("a loop that goes on");
        let left = Left::of(&tool_loop, &store).await;
        let mut audience = Audience::new(&second);
        let mut ends = Vec::new();
        if self.then == Then::GoOn {
            match tool_loop.resume(&mut audience).await {
                Ok(finished) => ends.push(finished.ended.outcome),
                Err(LoopError::NothingToSend) => {}
                Err(error) => second.breach(format!("it cannot go on: {error:?}")),
            }
        }
        match tool_loop.prompt(NEXT, &mut audience).await {
            Ok(finished) => ends.push(finished.ended.outcome),
            Err(error) => second.breach(format!("it cannot be told more: {error:?}")),
        }
        let finally = Left::of(&tool_loop, &store).await;
        drop(tool_loop);
        let again = self.opened_again(&store).await;
        Played {
            struck: world.struck(),
            log: world.log(),
            breaches: world.breaches(),
            living: world.living(),
            end,
            before,
            left,
            second,
            ends,
            requests: model.requests(),
            finally,
            again,
        }
    }

    /// How many records a session has when it is opened once more.
    async fn opened_again(&self, store: &Arc<AnyStore>) -> u64 {
        let world = World::quiet();
        let watched = Arc::new(Watched::new(store.clone(), world.clone(), Leases::Real));
        let model = Player::new(self.wire, &world, Vec::new());
        let (tools, gate) = (self.tools(&world), Arc::new(Gate(world.clone())));
        let open = ToolLoop::open(watched, self.setup(), model, tools, gate).await;
        drop(open.expect("a loop"));
        records(store).await
    }

    pub(crate) fn setup(&self) -> LoopSetup {
        let instructions = "You are in a play.".to_owned();
        LoopSetup { instructions, limits: self.limits, ..LoopSetup::new(SESSION) }
    }
}

/// Short graces, so that whoever ignores a wish does not keep us waiting.
pub(crate) fn limits() -> LoopLimits {
    LoopLimits { stop_grace: Duration::from_millis(25), ..LoopLimits::default() }
}

/// How the first part ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// The run came to its end.
    Finished(Option<Outcome>),
    /// The store failed.
    Broken(String),
    /// The loop was dropped, or its process killed.
    Gone,
}

/// A play that was played.
#[derive(Clone)]
pub(crate) struct Played {
    /// The points that something happened at.
    pub(crate) struck: Vec<String>,
    pub(crate) log: Vec<Seen>,
    pub(crate) breaches: Vec<String>,
    pub(crate) living: usize,
    pub(crate) end: End,
    /// What the store said of the run before anybody opened the session again.
    pub(crate) before: Option<Outcome>,
    /// What was left.
    pub(crate) left: Left,
    pub(crate) second: World,
    /// How the runs afterwards ended.
    pub(crate) ends: Vec<Option<Outcome>>,
    /// What the model was asked afterwards.
    pub(crate) requests: Vec<Value>,
    /// What was left behind those.
    pub(crate) finally: Left,
    /// How many records there are when it is opened once more.
    pub(crate) again: u64,
}

/// What a session holds.
#[derive(Clone)]
pub(crate) struct Left {
    /// Its runs, the oldest first, with their events.
    pub(crate) runs: Vec<(RunRow, Vec<RunEvent>)>,
    /// The conversation, in each format.
    pub(crate) documents: BTreeMap<&'static str, Value>,
    /// What it says.
    pub(crate) said: Said,
    pub(crate) queued: Vec<String>,
    pub(crate) records: u64,
}

impl Left {
    pub(crate) async fn of<S: Store>(tool_loop: &ToolLoop<S>, store: &AnyStore) -> Left {
        let told = |wire: Format| {
            let document = tool_loop.to_request(wire).expect("a document");
            (wire.name(), serde_json::from_str(&document).expect("JSON"))
        };
        let documents: BTreeMap<&str, Value> = WIRES.into_iter().map(told).collect();
        Left {
            runs: runs(store).await,
            said: Said::of(&documents["anthropic"]),
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

/// Waits until no tool is at work.
async fn settled(world: &World) {
    for _ in 0..500 {
        if world.living() == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// What an interrupt brings about.
pub(crate) fn pressing(handle: LoopHandle) -> impl Fn() -> Pressing + Send + Sync + 'static {
    move || match handle.interrupt() {
        InterruptResult::Idle => Pressing::Idle,
        InterruptResult::Stopping => Pressing::Asked,
        InterruptResult::Forced => Pressing::Forced,
        InterruptResult::AlreadyForced => Pressing::Leave,
    }
}

/// Counts how often something waits.
async fn counted<T>(work: impl Future<Output = T>, world: &World) -> T {
    let mut work = pin!(work);
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Pending => {
            world.strike(Class::Wait, "the loop waits");
            Poll::Pending
        }
        ready @ Poll::Ready(_) => ready,
    })
    .await
}
