//! `kill -9` at every point: another process plays, and is killed there. Nothing runs behind that,
//! not even what a dropped future would do.

use std::{fs, path::Path};

use foxwedge_core::Format;

use crate::{
    ground::{Ground, Kind},
    play::{End, Name, Scene, Then, short_story},
    points::{runtime, stride},
    process::{self, Exit},
    temporary::Temporary,
    truth::breaches,
    workers::Manner,
    world::{Act, Class, Seen, World},
};

/// The part of whoever is killed.
pub(crate) const PART: &str = "killed";
const ADDRESS: &str = "FOXWEDGE_LOOP_ADDRESS";
const DIARY: &str = "FOXWEDGE_LOOP_DIARY";
const POINT: &str = "FOXWEDGE_LOOP_POINT";
const WIRE: &str = "FOXWEDGE_LOOP_WIRE";
const PRESS: &str = "FOXWEDGE_LOOP_PRESS";

fn scene(kind: Kind, wire: Format) -> Scene {
    let (story, name) = (short_story(), Name::Own);
    Scene { kind, manner: Manner::Stops, story, name, ..Scene::new(wire) }
}

/// Plays until it is killed.
pub(crate) fn play() {
    let wire = Format::parse(&process::value(WIRE)).expect("a format");
    let point: usize = process::value(POINT).parse().expect("a number");
    let press: usize = process::value(PRESS).parse().expect("a number");
    let mut scene = scene(Kind::File, wire);
    scene.plan = vec![(Class::All, point, Act::Kill)];
    if press > 0 {
        scene.plan.push((Class::All, press, Act::Press(1)));
    }
    let world = World::new(scene.plan.clone());
    world.keep_diary(Path::new(&process::value(DIARY)));
    let end = runtime().block_on(scene.act(&process::value(ADDRESS), &world));
    assert!(matches!(end, End::Finished(_)), "{end:?}");
}

/// Kills a process at each point, until one comes to its end.
fn campaign(kind: Kind, wire: Format, stride: usize, press: usize) -> usize {
    let runtime = runtime();
    let folder = Temporary::folder();
    let mut told = Vec::new();
    let mut kills = 0;
    for point in (1_usize..).step_by(stride) {
        let Some(ground) = Ground::new(kind) else { return 0 };
        let diary = folder.path(&format!("{point}"));
        let values = [
            (ADDRESS, ground.address()),
            (DIARY, &diary.display().to_string()),
            (POINT, &point.to_string()),
            (WIRE, wire.name()),
            (PRESS, &point.saturating_sub(press).to_string()),
        ];
        let values =
            if press == 0 { [&values[..4], &[(PRESS, "0")]].concat() } else { values.to_vec() };
        if process::play(PART, &values) == Exit::Well {
            break;
        }
        kills += 1;
        let then = if point % 2 == 0 { Then::GoOn } else { Then::Say };
        let mut scene = Scene { then, ..scene(kind, wire) };
        scene.plan = vec![(Class::All, point, Act::Kill)];
        // What the process saw, as far as it came.
        let world = World::quiet();
        let diary = fs::read_to_string(&diary).unwrap_or_default();
        diary.lines().filter_map(Seen::of).for_each(|seen| world.see(seen));
        let played = runtime.block_on(scene.afterwards(ground.address(), &world, End::Gone));
        let found = breaches(&scene, &played);
        if !found.is_empty() {
            told.push(format!("killed at {point}:\n  {}", found.join("\n  ")));
        }
    }
    assert!(told.is_empty(), "{}", told.join("\n\n"));
    assert!(kills > 5, "{kills} kills");
    println!("{kills} kills, {wire:?}, {kind:?}");
    kills
}

#[test]
fn a_process_killed_at_every_point_leaves_a_conversation_that_goes_on() {
    campaign(Kind::File, Format::Anthropic, stride(2), 0);
}

#[test]
fn a_process_killed_while_it_stops() {
    campaign(Kind::File, Format::OpenaiChat, stride(5), 2);
}

#[test]
fn a_process_killed_over_postgres() {
    campaign(Kind::Postgres, Format::OpenaiChat, stride(12), 0);
}

#[test]
fn a_process_killed_in_every_format() {
    for wire in [Format::OpenaiResponses, Format::Gemini] {
        campaign(Kind::File, wire, stride(12), 0);
    }
}
