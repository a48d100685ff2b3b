//! The judge is judged: a stream that a careless writer would send is noticed.

use foxwedge_core::Format;
use foxwedge_testkit::{
    Random,
    answers::{self, OracleStream, cut, hear, normal},
    laws::streams::{StreamExchange, streamed},
};

/// What a client makes of a stream, if nothing is wrong with it.
fn taken(wire: Format, bytes: &[u8]) -> Option<OracleStream> {
    let mut heard = hear(wire, bytes);
    heard.answer.blocks = normal(heard.answer.blocks, wire);
    (heard.faults.is_empty() && heard.ended).then_some(heard)
}

#[test]
fn a_careless_writer_would_be_noticed() {
    let mut random = Random::new(1);
    for to in Format::ALL {
        let (mut tried, mut noticed) = (0, 0);
        for seed in 0..40 {
            let exchange = StreamExchange::between(seed, Format::Anthropic, to);
            let out = streamed(exchange.from, to, [exchange.bytes().as_slice()]).out;
            let Some(sound) = taken(to, &out) else { panic!("seed {seed}") };
            let frames: Vec<Vec<u8>> =
                cut(to, &out).into_iter().map(|cut| out[cut.range].to_vec()).collect();
            let at = random.below(frames.len());
            let mut lost = frames.clone();
            lost.remove(at);
            let mut twice = frames.clone();
            twice.insert(at, frames[at].clone());
            let mut swapped = frames.clone();
            swapped.swap(at, random.below(frames.len()));
            for careless in [lost, twice, swapped] {
                tried += 1;
                let bytes = careless.concat();
                noticed += usize::from(bytes == out || taken(to, &bytes) != Some(sound.clone()));
            }
        }
        // What is lost, doubled or swapped may have said nothing: an empty piece.
        assert!(noticed * 100 > tried * 90, "{}: {noticed} of {tried}", to.name());
    }
}

#[test]
fn a_wrong_checksum_is_noticed() {
    let exchange = StreamExchange::between(3, Format::OpenaiChat, Format::Bedrock);
    let out = streamed(exchange.from, exchange.to, [exchange.bytes().as_slice()]).out;
    assert!(answers::hear(Format::Bedrock, &out).faults.is_empty());
    for at in [9, 40, out.len() - 1] {
        let mut wrong = out.clone();
        wrong[at] ^= 1;
        assert!(!answers::hear(Format::Bedrock, &wrong).faults.is_empty(), "{at}");
    }
}
