//! The built-in model instead of the fake: real streams, reasoning with signatures, and the
//! validation of the providers.

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
    observed_store::{Leases, ObservedStore},
    points::{runtime, stride},
    scenario::{NEXT, SESSION, Scenario, SessionState, interrupt_through, limits},
    script::{FORMATS, failure, objections},
    stand_in::ProcessStandIn,
    test_store::{self, TestStore},
    test_tools::{RecordingObserver, StopBehavior, TestApprover},
    world::{Class, Fate, Injection, World},
};

/// A prompt that makes the built-in model reason and call two tools.
const PROMPT: &str = r#"Please think, then call look with {"path":"a"} and peek with {"path":"b"} and write with {}"#;

/// A model with a point before each delta.
struct Through {
    inner: ModelEndpoint,
    world: World,
}

struct Pieces {
    inner: Box<dyn ReplyStream>,
    world: World,
    /// Whether the point before the next delta was passed.
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
            // A poll after a dropped wait does not pass the point again.
            if !std::mem::replace(&mut self.passed, true) {
                let name = "before a piece of a reply".to_owned();
                if self.world.point(Class::Model, name).await == Fate::Fail {
                    return Err(failure());
                }
            }
            let delta = self.inner.next_delta().await;
            self.passed = false;
            delta
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
        Format::OpenaiChat
        | Format::OpenaiResponses
        | Format::Bedrock
        | Format::GeminiInteractions => "scripted",
    };
    Arc::new(Through { inner: ModelEndpoint::scripted_in(wire, name), world: world.clone() })
}

/// Runs and continues a conversation with the built-in model. Returns what is wrong.
async fn breaches(wire: Format, world: &World) -> Vec<String> {
    let (test_store, scenario) =
        (TestStore::file(), Scenario { stop_behavior: StopBehavior::Stops, ..Scenario::new(wire) });
    let stand_in = ProcessStandIn::new();
    let setup =
        |process: String| LoopSetup { limits: limits(), process, ..LoopSetup::new(SESSION) };
    let store = Arc::new(ObservedStore::new(test_store.open().await, world.clone(), Leases::Real));
    let work = async {
        let (tools, approver) = (scenario.tools(world), Arc::new(TestApprover(world.clone())));
        let open =
            ToolLoop::open(store, setup(stand_in.name()), model(wire, world), tools, approver);
        let mut tool_loop = open.await?;
        world.set_interrupt(interrupt_through(tool_loop.handle()));
        tool_loop.prompt(PROMPT, &mut RecordingObserver::new(world)).await
    };
    let first = tokio::select! {
        biased;
        () = world.killed() => None,
        result = work => Some(result),
    };
    world.mark_dead();
    drop(stand_in);
    let mut found = world.breaches();
    if let Some(Err(error)) = &first {
        found.push(format!("{error:?}"));
    }
    let second = World::quiet();
    let store = test_store::open(test_store.address()).await;
    let observed_store = Arc::new(ObservedStore::new(store.clone(), second.clone(), Leases::Real));
    let (tools, approver) = (scenario.tools(&second), Arc::new(TestApprover(second.clone())));
    let setup = setup(foxwedge_store::process::current_owner());
    let open = ToolLoop::open(observed_store, setup, model(wire, &second), tools, approver);
    let mut tool_loop = open.await.expect("a loop");
    let state = SessionState::of(&tool_loop, &store).await;
    match tool_loop.prompt(NEXT, &mut RecordingObserver::new(&second)).await {
        Ok(finished) if finished.ended.outcome == Some(Outcome::Completed) => {}
        other => found.push(format!("afterwards: {other:?}")),
    }
    let final_state = SessionState::of(&tool_loop, &store).await;
    found.extend(second.breaches());
    for state in [&state, &final_state] {
        for (wire, document) in &state.documents {
            found.extend(objections(wire, document));
        }
        for (row, events) in &state.runs {
            let ends =
                events.iter().filter(|event| matches!(event.body, EventPayload::Ended(_))).count();
            if ends != 1 || row.state.outcome().is_none() {
                found.push(format!("run {} has {ends} ends", row.id));
            }
        }
        let open = state.history.calls().filter(|call| call.answer.is_none()).count();
        if open > 0 || !state.history.orphans.is_empty() {
            found.push(format!("{open} open calls: {}", state.history.shape()));
        }
    }
    let kept =
        final_state.history.calls().take(state.history.calls().count()).eq(state.history.calls());
    if !kept {
        found.push(format!("{}\nbecame\n{}", state.history.shape(), final_state.history.shape()));
    }
    found
}

fn at_every_point(wire: Format, act: Injection, stride: usize) {
    LocalSet::new().block_on(&runtime().0, async {
        let world = World::quiet();
        assert_eq!(breaches(wire, &world).await, Vec::<String>::new(), "{wire:?}");
        let count = world.count(Class::All);
        assert!(count > 40, "{count}");
        let mut at_work = JoinSet::new();
        for at in (1..=count).step_by(stride) {
            at_work.spawn_local(async move {
                let world = World::new(vec![(Class::All, at, act)]);
                let found = breaches(wire, &world).await;
                let failures =
                    format!("{wire:?} {at} {:?}:\n  {}", world.hit_points(), found.join("\n  "));
                (!found.is_empty()).then_some(failures)
            });
        }
        let failures: Vec<String> = at_work.join_all().await.into_iter().flatten().collect();
        assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    });
}

#[test]
fn the_built_in_model_accepts_the_history_after_an_interrupt_in_every_format() {
    for wire in FORMATS {
        at_every_point(wire, Injection::Interrupt(1), stride(19));
    }
}

#[test]
fn the_built_in_model_accepts_the_history_of_a_dropped_loop_in_every_format() {
    for wire in FORMATS {
        at_every_point(wire, Injection::Drop, stride(19));
    }
}
