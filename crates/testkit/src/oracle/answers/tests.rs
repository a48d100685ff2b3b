//! The naive writers and readers agree with each other, in every format and form.

use foxwedge_core::Format;

use super::{
    Answer, Block, Call, Input, Seal, Stop, Usage, body, bytes, expected, failure, hear, normal,
    read_body, stream,
};
use crate::{generate::answer, random::Random};

#[test]
fn what_is_written_is_read_back() {
    for wire in Format::ALL {
        for seed in 0..80 {
            let mut random = Random::new(seed);
            let answer = answer(&mut random, wire);
            let told = read_body(wire, &body(wire, &answer));
            let told = told.unwrap_or_else(|what| panic!("{} {seed}: {what}", wire.name()));
            let blocks = normal(answer.blocks.clone(), wire);
            let answer = Answer { blocks, ..answer };
            let shown = |told: Answer| Answer { blocks: normal(told.blocks, wire), ..told };
            assert_eq!(shown(told), answer, "{} {seed}", wire.name());
            let frames = stream(&mut random, wire, &answer);
            let heard = hear(wire, &bytes(&frames));
            let stream = String::from_utf8_lossy(&bytes(&frames)).into_owned();
            let told = shown(heard.answer);
            assert_eq!(told, answer, "{} {seed}\n{stream}", wire.name());
            assert!(heard.whole.iter().all(|whole| *whole), "{} {seed}\n{stream}", wire.name());
            assert!(heard.stopped && heard.error.is_none(), "{} {seed}", wire.name());
        }
    }
}

#[test]
fn a_plain_stream_breaks_no_protocol() {
    let call = Call {
        id: Some("call_1".to_owned()),
        name: "f".to_owned(),
        input: Input::Json(serde_json::json!({"a": 1})),
        signature: None,
    };
    let answer = Answer {
        id: Some("id".to_owned()),
        model: Some("model".to_owned()),
        blocks: vec![
            Block::Reasoning("why".to_owned(), Seal::Open),
            Block::Text("yes".to_owned()),
            Block::Call(call),
        ],
        stop: Some(Stop::Calls),
        usage: Usage { input: 3, output: 2, ..Usage::default() },
    };
    for wire in Format::ALL {
        // Whatever the server's habits are, some of the streams are as the format wants them.
        let sound = (0..400).any(|seed| {
            let frames = stream(&mut Random::new(seed), wire, &answer);
            let heard = hear(wire, &bytes(&frames));
            heard.faults.is_empty() && heard.ended && heard.unknown == 0
        });
        assert!(sound, "{}", wire.name());
    }
}

#[test]
fn failures_are_heard() {
    for wire in Format::ALL {
        let answer = answer(&mut Random::new(3), wire);
        let mut frames = stream(&mut Random::new(4), wire, &answer);
        frames.truncate(2);
        let (name, value) = failure(wire, "no \"way\"");
        let failed = frames[0].another(super::Sort::Event, name, &value);
        frames.push(failed);
        let heard = hear(wire, &bytes(&frames));
        assert_eq!(heard.error.as_deref(), Some("no \"way\""), "{}", wire.name());
    }
}

#[test]
fn what_a_format_holds_of_its_own_is_everything() {
    for wire in Format::ALL {
        for seed in 0..400 {
            let answer = answer(&mut Random::new(seed), wire);
            let mut same = expected(&answer, wire, wire);
            if matches!(answer.stop, Some(Stop::Other(_))) && wire == Format::OpenaiChat {
                same.lost.remove("stop-reason");
            }
            assert!(same.lost.is_empty(), "{} {seed} {:?}", wire.name(), same.lost);
            assert_eq!(same.answer.text(), answer.text());
            assert_eq!(same.answer.usage, answer.usage);
        }
    }
}
