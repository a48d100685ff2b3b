//! The same check over HTTP: in every format, however the bytes are split.

use std::sync::Arc;

use foxwedge_core::Format;
use foxwedge_upstream::model::ModelEndpoint;

use crate::{
    account::{LAST, ReplyAccount, deltas, run},
    bursts::{AROUND, memory},
    points::runtime,
    script::FORMATS,
    streams::{Chunking, SentDelta, frames, serve},
};

/// Sends a reply over HTTP in these chunks and compares the result.
async fn check(wire: Format, sent: &[SentDelta], chunking: Chunking, label: &str) {
    let last = [SentDelta::Text(LAST.to_owned())];
    let has_calls = sent.iter().any(|delta| matches!(delta, SentDelta::Call { .. }));
    let mut replies = vec![chunking.cut(&frames(wire, sent))];
    if has_calls {
        replies.push(Chunking::OneWrite.cut(&frames(wire, &last)));
    }
    let (address, serving) = serve(replies).await;
    let model = ModelEndpoint::at_address(wire, &address, None, "test-model")
        .expect("a model")
        .with_attempts(1);
    let mut account = run(&memory().await, "wire", Arc::new(model), "go", drop).await;
    account.shown = account.shown.sorted();
    account.stored = account.stored.sorted();
    let mut expected = ReplyAccount::of(sent).sorted();
    expected.usage = Some(expected.usage.unwrap_or(1));
    account.check(&expected, label);
    let requests = serving.await.expect("a server");
    assert_eq!(requests.len(), if has_calls { 2 } else { 1 }, "{label}");
}

#[test]
fn every_format_is_complete_for_every_number_of_deltas_in_one_write() {
    runtime().block_on(async {
        for wire in FORMATS {
            for number in AROUND {
                let sent = deltas(number, None, 10_000 + number as u64);
                let label = format!("{wire:?}, {number} pieces in one write");
                check(wire, &sent, Chunking::OneWrite, &label).await;
            }
        }
    });
}

#[test]
fn every_format_is_complete_however_it_is_cut() {
    runtime().block_on(async {
        for wire in FORMATS {
            let bursts = [1, 63, 64, 65, 66, 127, 128, 129, 130].map(Chunking::Events);
            let random = (0..6).map(Chunking::Random);
            for chunking in bursts.into_iter().chain(random).chain([Chunking::Bytes]) {
                let sent = deltas(140, None, 77);
                check(wire, &sent, chunking, &format!("{wire:?}, {chunking:?}")).await;
            }
        }
    });
}

#[test]
fn a_call_after_a_long_text_is_executed() {
    runtime().block_on(async {
        for wire in FORMATS {
            for words in 60..=68 {
                let mut sent = deltas(words, Some(0), 5);
                sent.extend(deltas(1, Some(5), 6));
                let label = format!("{wire:?}, {words} words and a call");
                check(wire, &sent, Chunking::OneWrite, &label).await;
            }
        }
    });
}

#[test]
fn replies_of_the_built_in_model_are_complete() {
    runtime().block_on(async {
        for wire in FORMATS {
            let store = memory().await;
            // It repeats at most four hundred characters.
            for number in AROUND.into_iter().filter(|number| *number < 200) {
                let words: Vec<String> = (0..number).map(|at| (at % 10).to_string()).collect();
                let prompt = words.join(" ");
                let model = Arc::new(ModelEndpoint::scripted_in(wire, "scripted"));
                let account = run(&store, &format!("w{number}"), model, &prompt, drop).await;
                let label = format!("{wire:?}, {number} words");
                for text in [account.shown.text_content(), account.stored.text_content()] {
                    assert!(text.contains(&prompt), "{label}: {text}");
                }
            }
            for number in [1, 63, 64, 65, 66, 70, 130] {
                let calls: Vec<String> =
                    (0..number).map(|at| format!("call see with {{\"n\":{at}}}")).collect();
                let model = Arc::new(ModelEndpoint::scripted_in(wire, "scripted"));
                let prompt = calls.join(" and ");
                let account = run(&store, &format!("c{number}"), model, &prompt, drop).await;
                let label = format!("{wire:?}, {number} calls");
                let mut ran: Vec<u64> = account
                    .executed
                    .iter()
                    .filter_map(|(_, _, input)| input["n"].as_u64())
                    .collect();
                ran.sort_unstable();
                assert_eq!(ran, (0..number).collect::<Vec<u64>>(), "{label}");
                assert_eq!(account.shown.calls().len() as u64, number, "{label}");
                assert_eq!(account.stored.calls(), account.shown.calls(), "{label}");
                assert_eq!(account.history.calls().count() as u64, number, "{label}");
            }
        }
    });
}
