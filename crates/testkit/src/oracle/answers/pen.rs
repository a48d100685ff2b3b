//! Frames, written: event streams, lists, lines and binary messages.

use std::ops::Range;

use serde_json::Value;

use super::frames::message;
use crate::{generate::spelled, random::Random};

/// One event of a stream, as bytes.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// What it is.
    pub sort: Sort,
    /// Where its JSON lies in them.
    pub data: Range<usize>,
    framing: Framing,
}

/// What a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sort {
    /// Something happens.
    Event,
    /// Something that says nothing: comments, pings.
    Noise,
    /// Something that the format does not have.
    Unknown,
    /// The end of the frames.
    Done,
}

/// How frames follow each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Framing {
    /// An event stream with these line ends, and this between a field and its value.
    Sse(&'static str, &'static str),
    /// One list.
    List,
    /// An object on each line.
    Lines,
    /// Amazon's messages.
    Binary,
}

/// The whole stream.
pub fn bytes(frames: &[Frame]) -> Vec<u8> {
    frames.iter().flat_map(|frame| frame.bytes.iter().copied()).collect()
}

impl Frame {
    /// Another event in the same framing, to stand behind this one.
    pub fn another(&self, sort: Sort, name: Option<&str>, value: &Value) -> Frame {
        written(self.framing, false, sort, name, &value.to_string())
    }
}

/// Writes a stream.
pub(super) struct Pen<'r> {
    pub(super) random: &'r mut Random,
    pub(super) framing: Framing,
    pub(super) frames: Vec<Frame>,
    /// JSON is spelled oddly.
    odd: bool,
    /// Comments, pings and events that nobody knows are mixed in, in so many of a hundred places.
    noise: usize,
}

impl<'r> Pen<'r> {
    /// For an event stream.
    pub(super) fn sse(random: &'r mut Random) -> Pen<'r> {
        let ends = *random.pick(&["\n", "\n", "\n", "\r\n", "\r"]);
        let colon = if random.chance(80) { ": " } else { ":" };
        Pen::new(random, Framing::Sse(ends, colon))
    }

    pub(super) fn new(random: &'r mut Random, framing: Framing) -> Pen<'r> {
        let odd = random.chance(25);
        let noise = if random.chance(40) { 10 } else { 0 };
        Pen { random, framing, frames: Vec::new(), odd, noise }
    }

    /// Writes an event.
    pub(super) fn event(&mut self, name: Option<&str>, value: &Value) {
        self.write(Sort::Event, name, value);
    }

    /// Writes something that says nothing, if there is any noise here at all.
    pub(super) fn noise(&mut self, name: Option<&str>, value: &Value) {
        if self.noise > 0 && self.random.chance(self.noise) {
            self.write(Sort::Noise, name, value);
        }
        if let Framing::Sse(end, _) = self.framing
            && self.random.chance(self.noise)
        {
            let comment = *self.random.pick(&[": keep-alive", ":", "retry: 10", "id: 7"]);
            self.raw(Sort::Noise, format!("{comment}{end}{end}").into_bytes());
        }
    }

    /// Writes something that nobody knows, if there is any noise here at all.
    pub(super) fn unknown(&mut self, name: Option<&str>, value: &Value) {
        if self.noise > 0 && self.random.chance(self.noise / 2) {
            self.write(Sort::Unknown, name, value);
        }
    }

    /// Writes bytes as they are.
    pub(super) fn raw(&mut self, sort: Sort, bytes: Vec<u8>) {
        let data = bytes.len()..bytes.len();
        self.frames.push(Frame { bytes, sort, data, framing: self.framing });
    }

    /// Writes the data that ends some streams.
    pub(super) fn done(&mut self, data: &str) {
        let frame = written(self.framing, self.frames.is_empty(), Sort::Done, None, data);
        self.frames.push(frame);
    }

    fn write(&mut self, sort: Sort, name: Option<&str>, value: &Value) {
        let text = if self.odd { spelled(self.random, value) } else { value.to_string() };
        let frame = written(self.framing, self.frames.is_empty(), sort, name, &text);
        self.frames.push(frame);
    }

    /// Cuts a text into pieces, between characters. Some are empty.
    pub(super) fn pieces(&mut self, text: &str) -> Vec<String> {
        let longest = *self.random.pick(&[1, 3, 8, 30, 1000]);
        let mut pieces = vec![String::new()];
        let mut left = 1 + self.random.below(longest);
        for character in text.chars() {
            if left == 0 {
                left = 1 + self.random.below(longest);
                if self.random.chance(5) {
                    pieces.push(String::new());
                }
                pieces.push(String::new());
            }
            left -= 1;
            if let Some(last) = pieces.last_mut() {
                last.push(character);
            }
        }
        pieces
    }
}

fn written(framing: Framing, first: bool, sort: Sort, name: Option<&str>, data: &str) -> Frame {
    let (bytes, data) = match framing {
        Framing::Sse(end, colon) => {
            let mut text = String::new();
            if let Some(name) = name {
                text.push_str(&format!("event{colon}{name}{end}"));
            }
            let start = text.len() + "data".len() + colon.len();
            for line in data.lines() {
                text.push_str(&format!("data{colon}{line}{end}"));
            }
            let stop = text.len() - end.len();
            text.push_str(end);
            (text.into_bytes(), start..stop)
        }
        Framing::List => {
            let before = if first { "[" } else { ",\r\n" };
            let text = format!("{before}{data}");
            (text.into_bytes(), before.len()..before.len() + data.len())
        }
        Framing::Lines => {
            // On one line, whatever its spelling.
            let data = data.replace(['\n', '\r'], " ");
            let before = format!("{{\"{}\":", name.unwrap_or_default());
            let text = format!("{before}{data}}}\n");
            (text.into_bytes(), before.len()..before.len() + data.len())
        }
        Framing::Binary => {
            let name = name.unwrap_or_default();
            let kind = if name.ends_with("Exception") { "exception" } else { "event" };
            let bytes = message(kind, name, data.as_bytes());
            let stop = bytes.len() - 4;
            (bytes, stop - data.len()..stop)
        }
    };
    Frame { bytes, sort, data, framing }
}

/// Brings queues of things into one order that keeps the order of each queue. Each begins after
/// the one before it has begun.
pub(super) fn woven<T>(random: &mut Random, queues: Vec<Vec<T>>, woven: bool) -> Vec<T> {
    let mut queues: Vec<_> = queues.into_iter().map(Vec::into_iter).collect();
    let mut order = Vec::new();
    let mut begun = 0;
    if !woven {
        return queues.into_iter().flatten().collect();
    }
    loop {
        let begun_now = begun.min(queues.len());
        let open: Vec<usize> =
            (0..begun_now).filter(|at| queues.get(*at).is_some_and(|it| it.len() > 0)).collect();
        if begun < queues.len() && (open.is_empty() || random.chance(40)) {
            if let Some(first) = queues.get_mut(begun).and_then(Iterator::next) {
                order.push(first);
            }
            begun += 1;
            continue;
        }
        if open.is_empty() {
            return order;
        }
        let at = *random.pick(&open);
        order.extend(queues.get_mut(at).and_then(Iterator::next));
    }
}
