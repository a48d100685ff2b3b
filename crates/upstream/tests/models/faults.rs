//! What goes wrong on the way: it is told in a word, and what was said before is kept and valid.

use std::time::Duration;

use foxwedge_core::Format;
use foxwedge_upstream::model::{ChatModel as _, ModelEndpoint, ReplyDelta, ReplyStopReason};
use tokio::time::timeout;

use crate::stand::{Talk, hear, said};

const WIRES: [Format; 4] =
    [Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic, Format::Gemini];

fn talk(wire: Format, model: &str, prompt: &str) -> Talk {
    let mut talk = Talk::with(ModelEndpoint::scripted_in(wire, model));
    talk.user(prompt);
    talk
}

const CALLS: &str = "think call look with {\"n\":1} and call peek with {\"n\":2}";

#[tokio::test]
async fn what_was_said_before_a_cut_can_go_back() {
    for wire in WIRES {
        let mut kept = 0;
        for events in 0..40 {
            let model = format!("scripted?cut={events}");
            let mut talk = talk(wire, &model, CALLS);
            let heard = talk.turn().await;
            if heard.error.is_none() {
                // The cut came behind the last event.
                break;
            }
            let error = heard.error.clone().expect("an error");
            assert_eq!((error.code, error.retryable), ("cut", true), "{wire:?} {events} {error}");
            assert!(error.message.contains("broke off"), "{error}");
            // Calls that were told are in the message, and no other.
            let message = heard.message.as_deref();
            let (_, calls) = message.map(|it| said(it, wire)).unwrap_or_default();
            assert_eq!(calls.len(), heard.calls().len(), "{wire:?} {events}");
            kept += calls.len();
            if !heard.calls().is_empty() {
                talk.answer(&heard.calls());
            }
            talk.user("go on");
            talk.model = ModelEndpoint::scripted_in(wire, "scripted");
            let heard = talk.turn().await;
            assert_eq!(heard.error, None, "{wire:?} {events}: {}", talk.composed().body);
            assert!(!heard.is_mended(), "{wire:?} {events}: {}", talk.composed().body);
        }
        assert!(kept > 0 || wire == Format::OpenaiChat, "{wire:?}: no call was ever kept");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_dropped_loses_nothing() {
    for wire in WIRES {
        let talk = talk(wire, "scripted?pace=50", CALLS);
        let whole = hear(&mut *talk.ask()).await;
        let mut speech = talk.ask();
        let mut pieces = Vec::new();
        let mut dropped = 0;
        loop {
            match timeout(Duration::from_millis(20), speech.next_delta()).await {
                Err(_) => dropped += 1,
                Ok(Ok(Some(piece))) => pieces.push(piece),
                Ok(Ok(None)) => break,
                Ok(Err(error)) => panic!("{wire:?} {error}"),
            }
        }
        assert!(dropped > 5, "{wire:?} {dropped}");
        assert_eq!(pieces, whole.pieces, "{wire:?}");
        assert_eq!(speech.take_message(), whole.message, "{wire:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_hangs_can_be_left() {
    for wire in WIRES {
        let talk = talk(wire, "scripted?hang=6", "tell me something nice today");
        let mut speech = talk.ask();
        let mut told = String::new();
        while let Ok(next) = timeout(Duration::from_secs(5), speech.next_delta()).await {
            if let ReplyDelta::Text(words) = next.expect("a piece").expect("more") {
                told.push_str(&words);
            }
        }
        let message = speech.take_message();
        let text = message.map(|message| said(&message, wire).0).unwrap_or_default();
        assert_eq!(text, told, "{wire:?}");
        // Whoever stays is told that nothing comes.
        let heard = hear(&mut *talk.ask()).await;
        assert_eq!(heard.code(), "cut", "{wire:?}");
        assert!(heard.error.expect("an error").message.contains("in time"));
    }
}

#[tokio::test(start_paused = true)]
async fn passing_trouble_is_waited_out_and_told() {
    for wire in WIRES {
        let mut once = talk(wire, "scripted?fail-first=2&retry-after=2", "hello");
        let heard = once.turn().await;
        assert_eq!((heard.waits(), heard.error.clone()), (2, None), "{wire:?}");
        assert!(heard.text().contains("hello"), "{wire:?}");
        for piece in &heard.pieces[..2] {
            let ReplyDelta::Retrying { pause, why } = piece else { panic!("{piece:?}") };
            assert!(*pause >= Duration::from_secs(2) && why.contains("429"), "{pause:?} {why}");
        }
        let heard = talk(wire, "scripted?status=429&retry-after=1", "hello").turn().await;
        assert_eq!((heard.waits(), heard.code()), (2, "refused"), "{wire:?}");
        let error = heard.error.expect("an error");
        assert!(error.retryable && error.message.contains("429"), "{error}");
        assert_eq!(heard.message, None);
        // Nobody waits for hours.
        let heard = talk(wire, "scripted?status=503&retry-after=7200", "hello").turn().await;
        assert_eq!((heard.waits(), heard.code()), (0, "refused"), "{wire:?}");
    }
}

#[tokio::test]
async fn what_is_no_reply_is_an_error_that_says_so() {
    let table = [
        ("malformed", "cut", ""),
        ("html", "cut", "web page"),
        ("empty", "cut", ""),
        ("long-line=5000000", "cut", "more than"),
        ("status=401", "unauthorized", "401"),
        ("status=403", "unauthorized", "403"),
        ("status=404", "refused", "404"),
        ("status=413", "overflow", "413"),
        ("nonsense=1", "refused", "400"),
    ];
    for wire in WIRES {
        for (fault, code, words) in table {
            let heard = talk(wire, &format!("scripted?{fault}"), "hello out there").turn().await;
            assert_eq!(heard.code(), code, "{wire:?} {fault}");
            let error = heard.error.expect("an error");
            assert!(error.message.contains(words), "{wire:?} {fault}: {error}");
            assert!(error.message.len() < 3_000);
        }
        let heard = talk(wire, "scripted?refuse", "hello").turn().await;
        let refused = heard.stop() == Some(ReplyStopReason::Refused) || !heard.text().is_empty();
        assert!(heard.error.is_none() && refused, "{wire:?} {heard:?}");
    }
}

#[tokio::test]
async fn a_request_in_another_format_is_not_sent() {
    let talk = talk(Format::OpenaiChat, "scripted", "hello");
    let other = ModelEndpoint::scripted_in(Format::Gemini, "scripted");
    let heard = hear(&mut *other.send(talk.sealed())).await;
    assert_eq!((heard.code(), heard.message.clone()), ("refused", None));
}

#[tokio::test]
async fn a_reply_in_one_piece_is_read_the_same() {
    for wire in [Format::OpenaiChat, Format::OpenaiResponses, Format::Anthropic] {
        let talk = talk(wire, "scripted", CALLS);
        let pieces = hear(&mut *talk.ask()).await;
        let body = talk.composed().body.replacen('{', "{\"stream\":false,", 1);
        let sealed = foxwedge_upstream::model::ValidRequest::validate(
            body.into(),
            wire,
            &talk.model.check_options(),
        );
        let whole = hear(&mut *talk.model.send(sealed.expect("sound"))).await;
        assert_eq!(whole.error, None);
        assert_eq!((whole.text(), whole.thought()), (pieces.text(), pieces.thought()), "{wire:?}");
        let shown = |heard: &crate::stand::Heard| -> Vec<_> {
            heard.calls().into_iter().map(|call| (call.name, call.arguments)).collect()
        };
        assert_eq!(shown(&whole), shown(&pieces), "{wire:?}");
        let (_, calls) = said(&whole.message.expect("a message"), wire);
        assert_eq!(calls.len(), 2, "{wire:?}");
    }
}
