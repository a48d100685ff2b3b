//! A response with its source and target formats.

use foxwedge_core::Format;

use crate::{
    answers::{self, ExpectedReply, GeneratedFrame, OracleReply, ReplyCallInput},
    generate::{answer, spelled},
    random::Random,
};

/// One test case.
#[derive(Clone, Debug)]
pub struct StreamExchange {
    /// Decides everything that is not given.
    pub seed: u64,
    /// The source format.
    pub from: Format,
    /// The target format.
    pub to: Format,
    /// The response.
    pub answer: OracleReply,
}

impl StreamExchange {
    /// The case of a seed.
    pub fn draw(seed: u64, from: Option<Format>) -> StreamExchange {
        let mut random = Random::new(seed ^ 0xa057_e400_0000_0000);
        let from = from.unwrap_or(*random.pick(&Format::ALL));
        let to = *random.pick(&Format::ALL);
        StreamExchange::between(seed, from, to)
    }

    /// The case of a seed, between two formats.
    pub fn between(seed: u64, from: Format, to: Format) -> StreamExchange {
        StreamExchange { seed, from, to, answer: answer(&mut Random::new(seed), from) }
    }

    /// A random source for one purpose, derived from the seed.
    pub(super) fn random(&self, purpose: u64) -> Random {
        Random::new(self.seed ^ purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The frames of the stream.
    pub fn frames(&self) -> Vec<GeneratedFrame> {
        answers::stream(&mut self.random(1), self.from, &self.answer)
    }

    /// The bytes of the stream.
    pub fn bytes(&self) -> Vec<u8> {
        answers::bytes(&self.frames())
    }

    /// The same response as a body.
    pub fn body(&self) -> String {
        spelled(&mut self.random(2), &answers::body(self.from, &self.answer))
    }

    /// The expected response in the target format.
    pub fn expected(&self) -> ExpectedReply {
        answers::expected(&self.answer, self.from, self.to)
    }

    /// Whether a call has arguments that are not a JSON object.
    pub(super) fn is_broken(&self) -> bool {
        self.answer.calls().any(|call| matches!(call.input, ReplyCallInput::Broken(_)))
    }

    /// The index of the frame with the stop reason.
    pub(super) fn stop_frame(&self, frames: &[GeneratedFrame]) -> usize {
        let stopped = |count: usize| {
            let bytes = answers::bytes(&frames[..count]);
            answers::hear(self.from, &bytes).stopped
        };
        // It is one of the last.
        (0..frames.len()).rev().find(|count| !stopped(*count)).unwrap_or(0)
    }

    /// The case in readable form.
    pub(super) fn document(&self) -> String {
        let stream = self.bytes();
        let stream = String::from_utf8_lossy(&stream).into_owned();
        format!("{:#?}\n{}\n{stream}", self.answer, self.body())
    }
}
