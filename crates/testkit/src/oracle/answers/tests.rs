//! The naive writers and readers agree with each other, in every format and form.

use foxwedge_core::Format;

use super::{
    OracleReply, ReasoningSeal, ReplyBlock, ReplyCall, ReplyCallInput, ReplyStop, ReplyUsage, body,
    bytes, expected, failure, hear, normal, read_body, stream,
};
use crate::{generate::answer, random::Random};

#[test]
fn written_responses_are_read_back() {
    for format in Format::ALL {
        for seed in 0..80 {
            let mut random = Random::new(seed);
            let answer = answer(&mut random, format);
            let parsed = read_body(format, &body(format, &answer));
            let parsed = parsed.unwrap_or_else(|what| panic!("{} {seed}: {what}", format.name()));
            let blocks = normal(answer.blocks.clone(), format);
            let answer = OracleReply { blocks, ..answer };
            let normalized = |parsed: OracleReply| OracleReply {
                blocks: normal(parsed.blocks, format),
                ..parsed
            };
            assert_eq!(normalized(parsed), answer, "{} {seed}", format.name());
            let frames = stream(&mut random, format, &answer);
            let parsed_stream = hear(format, &bytes(&frames));
            let stream = String::from_utf8_lossy(&bytes(&frames)).into_owned();
            let parsed = normalized(parsed_stream.answer);
            assert_eq!(parsed, answer, "{} {seed}\n{stream}", format.name());
            assert!(
                parsed_stream.whole.iter().all(|whole| *whole),
                "{} {seed}\n{stream}",
                format.name()
            );
            assert!(
                parsed_stream.stopped && parsed_stream.error.is_none(),
                "{} {seed}",
                format.name()
            );
        }
    }
}

#[test]
fn a_plain_stream_breaks_no_protocol() {
    let call = ReplyCall {
        id: Some("call_1".to_owned()),
        name: "f".to_owned(),
        input: ReplyCallInput::Json(serde_json::json!({"a": 1})),
        signature: None,
    };
    let answer = OracleReply {
        id: Some("id".to_owned()),
        model: Some("model".to_owned()),
        blocks: vec![
            ReplyBlock::Reasoning("why".to_owned(), ReasoningSeal::Open),
            ReplyBlock::Text("yes".to_owned()),
            ReplyBlock::Call(call),
        ],
        stop: Some(ReplyStop::Calls),
        usage: ReplyUsage { input: 3, output: 2, ..ReplyUsage::default() },
    };
    for format in Format::ALL {
        // Despite the server variations, some of the streams have no violation.
        let sound = (0..400).any(|seed| {
            let frames = stream(&mut Random::new(seed), format, &answer);
            let parsed_stream = hear(format, &bytes(&frames));
            parsed_stream.faults.is_empty() && parsed_stream.ended && parsed_stream.unknown == 0
        });
        assert!(sound, "{}", format.name());
    }
}

#[test]
fn provider_errors_are_parsed() {
    for format in Format::ALL {
        let answer = answer(&mut Random::new(3), format);
        let mut frames = stream(&mut Random::new(4), format, &answer);
        frames.truncate(2);
        let (name, value) = failure(format, "no \"way\"");
        let failed = frames[0].another(super::GeneratedFrameKind::Event, name, &value);
        frames.push(failed);
        let parsed_stream = hear(format, &bytes(&frames));
        assert_eq!(parsed_stream.error.as_deref(), Some("no \"way\""), "{}", format.name());
    }
}

#[test]
fn a_format_can_hold_all_of_its_own_responses() {
    for format in Format::ALL {
        for seed in 0..400 {
            let answer = answer(&mut Random::new(seed), format);
            let mut same = expected(&answer, format, format);
            if matches!(answer.stop, Some(ReplyStop::Other(_))) && format == Format::OpenaiChat {
                same.lost.remove("stop-reason");
            }
            assert!(same.lost.is_empty(), "{} {seed} {:?}", format.name(), same.lost);
            assert_eq!(same.answer.text(), answer.text());
            assert_eq!(same.answer.usage, answer.usage);
        }
    }
}
