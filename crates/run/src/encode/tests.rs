//! What official clients check, checked here without them: `cargo xtask uis` asks the clients.

mod scenes;
mod random;

/// The scenes are also read elsewhere, where the crate has its own name.
mod run {
    pub(crate) use crate::*;
}

use super::{Acp, AgUi, Encoder, Format, Frame, FrameId, Options};
use crate::{Body, Change, Effect, Event, Id};

#[test]
fn smoke() {
    for scene in scenes::all() {
        for (format, options) in voices() {
            println!("== {} {}", scene.name, format.name());
            for frame in encode(format, options, &scene.changes) {
                println!("{} {}", frame.id, frame.data);
            }
        }
    }
}

fn voices() -> Vec<(Format, Options)> {
    let plain = Options::new(&Id::from("s"));
    vec![
        (Format::AgUi, plain.clone()),
        (Format::AgUi, Options { agui: AgUi::V1, ..plain.clone() }),
        (Format::AiSdk, plain.clone()),
        (Format::Acp, plain.clone()),
        (Format::Acp, Options { acp: Acp::V2, ..plain }),
    ]
}

fn encode(format: Format, options: Options, changes: &[Change]) -> Vec<Frame> {
    let run = Id::from("r");
    let mut encoder = Encoder::new(format, options);
    let mut frames = Vec::new();
    for (at, change) in changes.iter().enumerate() {
        let mut event = Event::new(&run, Body::Tasks(Vec::new()));
        event.seq = Some(at as u64 + 1);
        encoder.push(&Effect::Emit(event), &mut frames);
        encoder.push(&Effect::Show { run: run.clone(), change: change.clone() }, &mut frames);
    }
    encoder.finish(&mut frames);
    frames
}

#[expect(dead_code)]
fn ids(frames: &[Frame]) -> Vec<FrameId> {
    frames.iter().map(|frame| frame.id).collect()
}
