//! Writes frames: SSE streams, lists, lines and binary messages.

use std::ops::Range;

use serde_json::Value;

use super::frames::message;
use crate::{generate::spelled, random::Random};

/// One event of a stream, as bytes.
#[derive(Clone, Debug)]
pub struct GeneratedFrame {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The kind of frame.
    pub sort: GeneratedFrameKind,
    /// The range of its JSON in the bytes.
    pub data: Range<usize>,
    framing: FrameStyle,
}

/// The kind of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GeneratedFrameKind {
    /// A normal event.
    Event,
    /// A frame without content: a comment or a ping.
    Noise,
    /// An event of a type that the format does not have.
    Unknown,
    /// The end marker.
    Done,
}

/// How frames are separated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FrameStyle {
    /// An SSE stream with these line ends, and this separator between a field and its value.
    Sse(&'static str, &'static str),
    /// One list.
    List,
    /// One object per line.
    Lines,
    /// Amazon's messages.
    Binary,
}

/// The bytes of the whole stream.
pub fn bytes(frames: &[GeneratedFrame]) -> Vec<u8> {
    frames.iter().flat_map(|frame| frame.bytes.iter().copied()).collect()
}

impl GeneratedFrame {
    /// Another event in the same framing, to follow this one.
    pub fn another(
        &self,
        sort: GeneratedFrameKind,
        name: Option<&str>,
        value: &Value,
    ) -> GeneratedFrame {
        written(self.framing, false, sort, name, &value.to_string())
    }
}

/// Writes a stream.
pub(super) struct FrameWriter<'r> {
    pub(super) random: &'r mut Random,
    pub(super) framing: FrameStyle,
    pub(super) frames: Vec<GeneratedFrame>,
    /// JSON in unusual notation.
    odd: bool,
    /// How many of a hundred positions get comments, pings or unknown events.
    noise: usize,
}

impl<'r> FrameWriter<'r> {
    /// A writer for an SSE stream.
    pub(super) fn sse(random: &'r mut Random) -> FrameWriter<'r> {
        let ends = *random.pick(&["\n", "\n", "\n", "\r\n", "\r"]);
        let colon = if random.chance(80) { ": " } else { ":" };
        FrameWriter::new(random, FrameStyle::Sse(ends, colon))
    }

    pub(super) fn new(random: &'r mut Random, framing: FrameStyle) -> FrameWriter<'r> {
        let odd = random.chance(25);
        let noise = if random.chance(40) { 10 } else { 0 };
        FrameWriter { random, framing, frames: Vec::new(), odd, noise }
    }

    pub(super) fn event(&mut self, name: Option<&str>, value: &Value) {
        self.write(GeneratedFrameKind::Event, name, value);
    }

    /// Writes a frame without content, if this stream has noise.
    pub(super) fn noise(&mut self, name: Option<&str>, value: &Value) {
        if self.noise > 0 && self.random.chance(self.noise) {
            self.write(GeneratedFrameKind::Noise, name, value);
        }
        if let FrameStyle::Sse(end, _) = self.framing
            && self.random.chance(self.noise)
        {
            let comment = *self.random.pick(&[": keep-alive", ":", "retry: 10", "id: 7"]);
            self.raw(GeneratedFrameKind::Noise, format!("{comment}{end}{end}").into_bytes());
        }
    }

    /// Writes an unknown event, if this stream has noise.
    pub(super) fn unknown(&mut self, name: Option<&str>, value: &Value) {
        if self.noise > 0 && self.random.chance(self.noise / 2) {
            self.write(GeneratedFrameKind::Unknown, name, value);
        }
    }

    /// Writes raw bytes.
    pub(super) fn raw(&mut self, sort: GeneratedFrameKind, bytes: Vec<u8>) {
        let data = bytes.len()..bytes.len();
        self.frames.push(GeneratedFrame { bytes, sort, data, framing: self.framing });
    }

    /// Writes the data that ends some streams.
    pub(super) fn done(&mut self, data: &str) {
        let frame =
            written(self.framing, self.frames.is_empty(), GeneratedFrameKind::Done, None, data);
        self.frames.push(frame);
    }

    fn write(&mut self, sort: GeneratedFrameKind, name: Option<&str>, value: &Value) {
        let text = if self.odd { spelled(self.random, value) } else { value.to_string() };
        let frame = written(self.framing, self.frames.is_empty(), sort, name, &text);
        self.frames.push(frame);
    }

    /// Splits a text between characters. Some of the deltas are empty.
    pub(super) fn pieces(&mut self, text: &str) -> Vec<String> {
        let longest = *self.random.pick(&[1, 3, 8, 30, 1000]);
        let mut deltas = vec![String::new()];
        let mut left = 1 + self.random.below(longest);
        for character in text.chars() {
            if left == 0 {
                left = 1 + self.random.below(longest);
                if self.random.chance(5) {
                    deltas.push(String::new());
                }
                deltas.push(String::new());
            }
            left -= 1;
            if let Some(last) = deltas.last_mut() {
                last.push(character);
            }
        }
        deltas
    }
}

fn written(
    framing: FrameStyle,
    first: bool,
    sort: GeneratedFrameKind,
    name: Option<&str>,
    data: &str,
) -> GeneratedFrame {
    let (bytes, data) = match framing {
        FrameStyle::Sse(end, colon) => {
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
        FrameStyle::List => {
            let before = if first { "[" } else { ",\r\n" };
            let text = format!("{before}{data}");
            (text.into_bytes(), before.len()..before.len() + data.len())
        }
        FrameStyle::Lines => {
            // On one line, in any notation.
            let data = data.replace(['\n', '\r'], " ");
            let before = format!("{{\"{}\":", name.unwrap_or_default());
            let text = format!("{before}{data}}}\n");
            (text.into_bytes(), before.len()..before.len() + data.len())
        }
        FrameStyle::Binary => {
            let name = name.unwrap_or_default();
            let kind = if name.ends_with("Exception") { "exception" } else { "event" };
            let bytes = message(kind, name, data.as_bytes());
            let stop = bytes.len() - 4;
            (bytes, stop - data.len()..stop)
        }
    };
    GeneratedFrame { bytes, sort, data, framing }
}

/// Merges queues and keeps the order of each. A queue starts only after the one before it has
/// started.
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
