//! Odd streams that real servers send.

use foxwedge_core::Format;
use foxwedge_testkit::{
    answers::{hear, read_body},
    laws::streams::{converted, streamed},
};
use serde_json::{Value, json};

use super::{opening, text_begins, text_piece};

#[test]
fn half_a_character_in_a_piece_is_no_reason_to_break_off() {
    // A pair of escapes that a server cut in two, and one whose other half never came.
    for from in Format::ALL {
        for to in Format::ALL {
            let mut source = [opening(from), text_begins(from)].concat();
            for piece in ["before \\ud83d", "\\ude00 after", " \\ud83d"] {
                source.extend(text_piece(from, piece));
            }
            let streamed = streamed(from, to, [source.as_slice()]);
            let end = streamed.end.expect("no error");
            assert!(!end.complete && !end.failed, "{} {}", from.name(), to.name());
            let out = String::from_utf8_lossy(&streamed.out).into_owned();
            assert!(out.contains("before ") && out.contains(" after"), "{out}");
        }
    }
}

#[test]
fn the_signature_of_a_text_of_gemini_is_kept_at_home_and_told_as_lost_elsewhere() {
    let part = json!({"text": "Yes.", "thoughtSignature": "c2lnbmVk"});
    let candidate = json!({
        "content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0,
    });
    let body = json!({"candidates": [candidate], "modelVersion": "m", "responseId": "r"});
    let stream = format!("data: {body}\n\n");
    for to in Format::ALL {
        let lost = to != Format::Gemini;
        let answered = converted(Format::Gemini, to, &body.to_string()).expect("an answer");
        let names: Vec<&str> = answered.losses.iter().map(|loss| loss.kind.name()).collect();
        assert_eq!(names.contains(&"signature"), lost, "{} {names:?}", to.name());
        assert_eq!(answered.body.contains("c2lnbmVk"), !lost, "{}", to.name());
        let value: Value = serde_json::from_str(&answered.body).expect("JSON");
        assert_eq!(read_body(to, &value).expect("an answer").text(), "Yes.", "{}", to.name());
        let streamed = streamed(Format::Gemini, to, [stream.as_bytes()]);
        let end = streamed.end.expect("an end");
        let names: Vec<&str> = end.skipped.iter().map(|skipped| skipped.kind.name()).collect();
        let out = String::from_utf8_lossy(&streamed.out).into_owned();
        // In pieces it may be lost at home, too, but never without a word.
        let kept = out.contains("c2lnbmVk");
        assert!(!(kept && lost), "{} {out}", to.name());
        assert_eq!(names.contains(&"signature"), !kept, "{} {names:?}", to.name());
        assert_eq!(hear(to, &streamed.out).answer.text(), "Yes.", "{}", to.name());
    }
}

#[test]
fn a_stream_of_nothing_is_an_answer_that_broke_off() {
    for from in Format::ALL {
        for to in Format::ALL {
            for source in ["", "\n\n", ": hello\n\n", "\r\n\r\n"] {
                let streamed = streamed(from, to, [source.as_bytes()]);
                let end = streamed.end.expect("no error");
                assert!(!end.complete && !end.failed, "{} {}", from.name(), to.name());
                let heard = hear(to, &streamed.out);
                assert!(heard.error.is_some() && !heard.ended, "{} {heard:?}", to.name());
                assert!(heard.faults.is_empty(), "{} {heard:?}", to.name());
            }
        }
    }
}
