//! Something happens at every point of a play, and the conversation never breaks.

use foxwedge_core::Format;
use tokio::{
    runtime::{Builder, Runtime},
    task::{JoinSet, LocalSet},
};

use crate::{
    ground::Kind,
    play::{End, Name, Played, Scene, Then},
    truth::breaches,
    workers::Manner,
    world::{Act, Class, Plan, Seen},
};

/// How many points a usual run leaves out between two that it tries; a campaign tries all of them.
pub(crate) fn stride(usual: usize) -> usize {
    match std::env::var("FOXWEDGE_LOOP_POINTS").as_deref() {
        Ok("all") => 1,
        _ => usual,
    }
}

pub(crate) fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// Plays a scene and says what is wrong with it.
pub(crate) async fn tried(scene: &Scene) -> Option<(Played, Vec<String>)> {
    let played = scene.play().await?;
    let found = breaches(scene, &played);
    Some((played, found))
}

/// How many points of a class a scene has when nothing goes wrong.
async fn points(scene: &Scene, class: Class) -> Option<usize> {
    let scene = Scene { plan: Plan::new(), ..scene.clone() };
    let ground = crate::ground::Ground::new(scene.kind)?;
    let world = crate::world::World::quiet();
    let end = scene.act(ground.address(), &world).await;
    assert!(matches!(end, End::Finished(_)), "nothing went wrong, and it ended so: {end:?}");
    assert_eq!(world.breaches(), Vec::<String>::new());
    Some(world.count(class))
}

/// How many plays are played at once: most of the time each of them waits.
const AT_ONCE: usize = 8;

/// Something happens at each point of a class, `plan` says what.
pub(crate) fn at_every_point(
    scene: &Scene,
    class: Class,
    stride: usize,
    plan: impl Fn(usize) -> Plan,
) -> usize {
    LocalSet::new().block_on(&runtime(), async {
        let Some(count) = points(scene, class).await else { return 0 };
        assert!(count > 5, "{count} points of {class:?}");
        let (mut told, mut done, mut at_work) = (Vec::new(), 0, JoinSet::new());
        let mut places = (1..=count).step_by(stride);
        while told.len() < 4 {
            for at in places.by_ref().take(AT_ONCE.saturating_sub(at_work.len())) {
                // What follows a break alternates: the next prompt, or none first.
                let then = if at % 2 == 0 { Then::GoOn } else { Then::Say };
                let name = if at / 2 % 2 == 0 { Name::Double } else { Name::Own };
                let scene = Scene { plan: plan(at), then, name, ..scene.clone() };
                at_work.spawn_local(async move { (at, tried(&scene).await) });
            }
            let Some(ended) = at_work.join_next().await else { break };
            let (at, Some((played, found))) = ended.expect("a play") else { return 0 };
            done += 1;
            if !found.is_empty() {
                let (what, struck, end) = (found.join("\n  "), played.struck, played.end);
                told.push(format!("{class:?} {at} of {count} {struck:?}, {end:?}:\n  {what}"));
            }
        }
        assert!(told.is_empty(), "{}", told.join("\n\n"));
        println!("{done} of {count} points of {class:?}");
        done
    })
}

fn presses(kind: Kind, manner: Manner, times: usize, usual: usize) {
    let scene = Scene { kind, manner, ..Scene::new(Format::Anthropic) };
    at_every_point(&scene, Class::All, stride(usual), |at| {
        vec![(Class::All, at, Act::Press(times))]
    });
}

#[test]
fn nothing_goes_wrong_and_everything_is_as_it_should_be() {
    for wire in crate::script::WIRES {
        let scene = Scene::new(wire);
        let (played, found) = runtime().block_on(tried(&scene)).expect("a file");
        assert_eq!(found, Vec::<String>::new(), "{wire:?}");
        let entered = played.log.iter().filter(|seen| matches!(seen, Seen::Entered(_))).count();
        assert_eq!(entered, 4, "all but the forbidden one");
    }
}

#[test]
fn an_interrupt_at_every_point_keeps_what_is_done_in_a_file() {
    presses(Kind::File, Manner::Finishes, 1, 1);
}

#[test]
fn an_interrupt_at_every_point_of_tools_that_stop() {
    presses(Kind::File, Manner::Stops, 1, 5);
}

#[test]
fn an_interrupt_at_every_point_of_tools_that_do_not_listen() {
    presses(Kind::File, Manner::Ignores, 1, 5);
}

#[test]
fn an_interrupt_by_force_at_every_point() {
    presses(Kind::File, Manner::Ignores, 2, 5);
}

#[test]
fn a_third_interrupt_changes_nothing_more() {
    presses(Kind::File, Manner::Ignores, 3, 9);
}

#[test]
fn a_wish_and_then_force_a_little_later() {
    let scene = Scene { manner: Manner::Ignores, ..Scene::new(Format::OpenaiChat) };
    for gap in [1, 2, 5] {
        at_every_point(&scene, Class::All, stride(17), |at| {
            vec![(Class::All, at, Act::Press(1)), (Class::All, at + gap, Act::Press(1))]
        });
    }
}

#[test]
fn an_interrupt_whenever_the_loop_waits() {
    let scene = Scene { manner: Manner::Stops, ..Scene::new(Format::OpenaiChat) };
    at_every_point(&scene, Class::Wait, stride(4), |at| vec![(Class::Wait, at, Act::Press(1))]);
}

#[test]
fn a_loop_dropped_at_every_point_goes_on_in_a_file() {
    let scene = Scene::new(Format::Anthropic);
    at_every_point(&scene, Class::All, stride(1), |at| vec![(Class::All, at, Act::Drop)]);
}

#[test]
fn a_loop_dropped_whenever_it_waits_goes_on() {
    let scene = Scene::new(Format::OpenaiChat);
    at_every_point(&scene, Class::Wait, stride(4), |at| vec![(Class::Wait, at, Act::Drop)]);
}

#[test]
fn a_loop_dropped_while_it_stops_goes_on() {
    let scene = Scene { manner: Manner::Ignores, ..Scene::new(Format::OpenaiChat) };
    for gap in [1, 2, 3] {
        at_every_point(&scene, Class::All, stride(17), |at| {
            vec![(Class::All, at, Act::Press(1)), (Class::All, at + gap, Act::Drop)]
        });
    }
}

#[test]
fn interrupts_and_drops_in_postgres() {
    let scene = Scene { kind: Kind::Postgres, ..Scene::new(Format::OpenaiChat) };
    at_every_point(&scene, Class::All, stride(13), |at| vec![(Class::All, at, Act::Press(1))]);
    at_every_point(&scene, Class::All, stride(13), |at| vec![(Class::All, at, Act::Drop)]);
}

#[test]
fn a_model_that_breaks_off_at_every_piece() {
    let scene = Scene::new(Format::OpenaiChat);
    at_every_point(&scene, Class::Model, stride(1), |at| vec![(Class::Model, at, Act::Fail)]);
}

#[test]
fn a_tool_that_panics_at_every_step() {
    let scene = Scene::new(Format::Anthropic);
    at_every_point(&scene, Class::Tool, stride(1), |at| vec![(Class::Tool, at, Act::Fail)]);
}

#[test]
fn a_store_that_fails_once_at_every_call() {
    let scene = Scene::new(Format::Anthropic);
    at_every_point(&scene, Class::Store, stride(3), |at| vec![(Class::Store, at, Act::Fail)]);
}

#[test]
fn a_store_that_is_gone_from_any_call_on() {
    let scene = Scene::new(Format::Anthropic);
    at_every_point(&scene, Class::Store, stride(7), |at| vec![(Class::Store, at, Act::Out)]);
}

#[test]
fn an_interrupt_at_every_point_in_every_format() {
    for wire in crate::script::WIRES {
        let scene = Scene { manner: Manner::Stops, ..Scene::new(wire) };
        at_every_point(&scene, Class::All, stride(13), |at| vec![(Class::All, at, Act::Press(1))]);
        at_every_point(&scene, Class::All, stride(17), |at| vec![(Class::All, at, Act::Drop)]);
    }
}

#[test]
fn a_limit_at_every_turn() {
    for wire in crate::script::WIRES {
        for turns in 1..=4 {
            let mut scene = Scene::new(wire);
            scene.limits.max_turns = turns;
            let (_, found) = runtime().block_on(tried(&scene)).expect("a file");
            assert_eq!(found, Vec::<String>::new(), "{wire:?}, {turns} turns");
        }
    }
}

#[test]
fn a_tool_that_takes_too_long_at_every_call() {
    for wire in crate::script::WIRES {
        for hangs in ["look", "peek", "write", "build"] {
            let scene = Scene { hangs: Some(hangs), ..Scene::new(wire) };
            let (_, found) = runtime().block_on(tried(&scene)).expect("a file");
            assert_eq!(found, Vec::<String>::new(), "{wire:?}, {hangs}");
        }
    }
}
