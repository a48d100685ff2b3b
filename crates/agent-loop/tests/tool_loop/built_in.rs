//! The built-in model instead of the fake: real streams, real reasoning and its signatures, and a
//! judge that refuses what the providers refuse.

use std::sync::Arc;

use foxwedge_agent_loop::tool_loop::{LoopSetup, ToolLoop};
use foxwedge_core::Format;
use foxwedge_run::{EventPayload, Outcome};
use foxwedge_tools::ToolFuture;
use foxwedge_upstream::model::{
    ChatModel, ModelDescription, ModelEndpoint, ModelError, ReplyDelta, ReplyStream, ValidRequest,
};
use tokio::task::{JoinSet, LocalSet};

use crate::{
    double::Double,
    ground::{self, Ground},
    play::{Left, NEXT, SESSION, Scene, limits, pressing},
    points::{runtime, stride},
    script::{WIRES, objections, trouble},
    watched::{Leases, Watched},
    workers::{Audience, Gate, Manner},
    world::{Act, Class, Fate, World},
};

/// What makes the built-in model think, and call two tools.
const PROMPT: &str = r#"Please think, then call look with {"path":"a"} and peek with {"path":"b"} and write with {}"#;

/// A model with a point before each of its pieces.
struct Through {
    inner: ModelEndpoint,
    world: World,
}

struct Pieces {
    inner: Box<dyn ReplyStream>,
    world: World,
    /// The point in front of the next piece was passed.
    passed: bool,
}

impl ChatModel for Through {
    fn about(&self) -> &ModelDescription {
        self.inner.about()
    }

    fn send(&self, request: ValidRequest) -> Box<dyn ReplyStream> {
        let (inner, world) = (self.inner.send(request), self.world.clone());
        Box::new(Pieces { inner, world, passed: false })
    }
}

impl ReplyStream for Pieces {
    fn next_delta(&mut self) -> ToolFuture<'_, Result<Option<ReplyDelta>, ModelError>> {
        Box::pin(async move {
            // Whoever is dropped while it waits does not pass the point again.
            if !std::mem::replace(&mut self.passed, true) {
                let name = "before a piece of a reply".to_owned();
                if self.world.point(Class::Model, name).await == Fate::Fail {
                    return Err(trouble());
                }
            }
            let piece = self.inner.next_delta().await;
            self.passed = false;
            piece
        })
    }

    fn take_message(&mut self) -> Option<String> {
        self.inner.take_message()
    }
}

fn model(wire: Format, world: &World) -> Arc<Through> {
    let name = match wire {
        Format::Gemini => "gemini-3-scripted",
        Format::Anthropic => "claude-scripted",
        Format::OpenaiChat | Format::OpenaiResponses | Format::Bedrock => "scripted",
    };
    Arc::new(Through { inner: ModelEndpoint::scripted_in(wire, name), world: world.clone() })
}

/// Plays with the built-in model, then goes on with it; what is wrong.
async fn breaches(wire: Format, world: &World) -> Vec<String> {
    let (ground, scene) = (Ground::file(), Scene { manner: Manner::Stops, ..Scene::new(wire) });
    let double = Double::new();
    let setup =
        |process: String| LoopSetup { limits: limits(), process, ..LoopSetup::new(SESSION) };
    let store = Arc::new(Watched::new(ground.open().await, world.clone(), Leases::Real));
    let work = async {
        let (tools, gate) = (scene.tools(world), Arc::new(Gate(world.clone())));
        let open = ToolLoop::open(store, setup(double.name()), model(wire, world), tools, gate);
        let mut tool_loop = open.await?;
        world.set_press(pressing(tool_loop.handle()));
        tool_loop.prompt(PROMPT, &mut Audience::new(world)).await
    };
    let first = tokio::select! {
        biased;
        () = world.killed() => None,
        result = work => Some(result),
    };
    world.bury();
    drop(double);
    let mut found = world.breaches();
    if let Some(Err(error)) = &first {
        found.push(format!("{error:?}"));
    }
    let second = World::quiet();
    let store = ground::open(ground.address()).await;
    let watched = Arc::new(Watched::new(store.clone(), second.clone(), Leases::Real));
    let (tools, gate) = (scene.tools(&second), Arc::new(Gate(second.clone())));
    let setup = setup(foxwedge_store::process::current_owner());
    let open = ToolLoop::open(watched, setup, model(wire, &second), tools, gate);
    let mut tool_loop = open.await.expect("a loop");
    let left = Left::of(&tool_loop, &store).await;
    match tool_loop.prompt(NEXT, &mut Audience::new(&second)).await {
        Ok(finished) if finished.ended.outcome == Some(Outcome::Completed) => {}
        other => found.push(format!("afterwards: {other:?}")),
    }
    let finally = Left::of(&tool_loop, &store).await;
    found.extend(second.breaches());
    for left in [&left, &finally] {
        for (wire, document) in &left.documents {
            found.extend(objections(wire, document));
        }
        for (row, events) in &left.runs {
            let ends =
                events.iter().filter(|event| matches!(event.body, EventPayload::Ended(_))).count();
            if ends != 1 || row.state.outcome().is_none() {
                found.push(format!("run {} has {ends} ends", row.id));
            }
        }
        let open = left.said.calls().filter(|call| call.answer.is_none()).count();
        if open > 0 || !left.said.orphans.is_empty() {
            found.push(format!("{open} open calls: {}", left.said.shape()));
        }
    }
    let kept = finally.said.calls().take(left.said.calls().count()).eq(left.said.calls());
    if !kept {
        found.push(format!("{}\nbecame\n{}", left.said.shape(), finally.said.shape()));
    }
    found
}

fn at_every_point(wire: Format, act: Act, stride: usize) {
    LocalSet::new().block_on(&runtime(), async {
        let world = World::quiet();
        assert_eq!(breaches(wire, &world).await, Vec::<String>::new(), "{wire:?}");
        let count = world.count(Class::All);
        assert!(count > 40, "{count}");
        let mut at_work = JoinSet::new();
        for at in (1..=count).step_by(stride) {
            at_work.spawn_local(async move {
                let world = World::new(vec![(Class::All, at, act)]);
                let found = breaches(wire, &world).await;
                let told = format!("{wire:?} {at} {:?}:\n  {}", world.struck(), found.join("\n  "));
                (!found.is_empty()).then_some(told)
            });
        }
        let told: Vec<String> = at_work.join_all().await.into_iter().flatten().collect();
        assert!(told.is_empty(), "{}", told.join("\n\n"));
    });
}

#[test]
fn the_built_in_model_takes_what_an_interrupt_leaves_in_every_format() {
    for wire in WIRES {
        at_every_point(wire, Act::Press(1), stride(19));
    }
}

#[test]
fn the_built_in_model_takes_what_a_dropped_loop_leaves_in_every_format() {
    for wire in WIRES {
        at_every_point(wire, Act::Drop, stride(19));
    }
}
