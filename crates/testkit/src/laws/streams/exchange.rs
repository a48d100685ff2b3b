//! An answer, and from where to where it goes.

use foxwedge_core::Format;

use crate::{
    answers::{self, Answer, Expected, Frame, Input},
    generate::{answer, spelled},
    random::Random,
};

/// One case.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// Decides everything that is not given.
    pub seed: u64,
    /// The format of the answer.
    pub from: Format,
    /// The format that it goes into.
    pub to: Format,
    /// The answer.
    pub answer: Answer,
}

impl Exchange {
    /// The case of a seed.
    pub fn draw(seed: u64, from: Option<Format>) -> Exchange {
        let mut random = Random::new(seed ^ 0xa057_e400_0000_0000);
        let from = from.unwrap_or(*random.pick(&Format::ALL));
        let to = *random.pick(&Format::ALL);
        Exchange::between(seed, from, to)
    }

    /// The case of a seed, between two formats.
    pub fn between(seed: u64, from: Format, to: Format) -> Exchange {
        Exchange { seed, from, to, answer: answer(&mut Random::new(seed), from) }
    }

    /// Chance for one purpose: the same for the same seed.
    pub(super) fn random(&self, purpose: u64) -> Random {
        Random::new(self.seed ^ purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The stream.
    pub fn frames(&self) -> Vec<Frame> {
        answers::stream(&mut self.random(1), self.from, &self.answer)
    }

    /// The bytes of the stream.
    pub fn bytes(&self) -> Vec<u8> {
        answers::bytes(&self.frames())
    }

    /// The same in one piece.
    pub fn body(&self) -> String {
        spelled(&mut self.random(2), &answers::body(self.from, &self.answer))
    }

    /// What has to come out.
    pub fn expected(&self) -> Expected {
        answers::expected(&self.answer, self.from, self.to)
    }

    /// Whether a call has arguments that are no JSON object.
    pub(super) fn is_broken(&self) -> bool {
        self.answer.calls().any(|call| matches!(call.input, Input::Broken(_)))
    }

    /// The number of the frame that says why the model stopped.
    pub(super) fn stop_frame(&self, frames: &[Frame]) -> usize {
        let stopped = |count: usize| {
            let bytes = answers::bytes(&frames[..count]);
            answers::hear(self.from, &bytes).stopped
        };
        // It is one of the last.
        (0..frames.len()).rev().find(|count| !stopped(*count)).unwrap_or(0)
    }

    /// The case for people to read.
    pub(super) fn document(&self) -> String {
        let stream = self.bytes();
        let stream = String::from_utf8_lossy(&stream).into_owned();
        format!("{:#?}\n{}\n{stream}", self.answer, self.body())
    }
}
