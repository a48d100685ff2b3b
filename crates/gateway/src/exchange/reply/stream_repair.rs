//! Repairs calls in a streamed reply while it passes: arguments that are not JSON, calls without an
//! id or a name, ids that two calls of a reply share.
//!
//! Frames pass as they are until one needs a repair, so a valid stream keeps its bytes. At most one
//! frame is held back, until the next one shows what it means; comments and pings wait behind it. A
//! call that the provider cut off stays as it is: a client must not run half of it.

mod arguments;
mod anthropic;
mod calls;
mod chat;
mod responses;
#[cfg(test)]
mod tests;

use foxwedge_core::Format;
use serde_json::Value;

use anthropic::AnthropicRepair;
use chat::ChatRepair;
use responses::ResponsesRepair;

/// The name of a call that has none. The client answers that there is no such tool.
const UNNAMED_TOOL: &str = "unknown_tool";

/// How many bytes wait behind a frame that is held back.
const MAX_WAITING: usize = 256 << 10;

/// Repairs one stream of server-sent events.
#[derive(Debug)]
pub(super) struct StreamRepair {
    format: FormatRepair,
    /// The beginning of a frame.
    buffer: Vec<u8>,
    /// The largest frame that is read.
    max_frame: usize,
    /// Whether the rest of the stream passes unread.
    is_passing: bool,
}

#[derive(Debug)]
enum FormatRepair {
    Chat(ChatRepair),
    Responses(ResponsesRepair),
    Anthropic(AnthropicRepair),
}

/// A frame of a stream.
struct RepairFrame<'f> {
    /// Its bytes, with the empty line behind it.
    raw: &'f [u8],
    /// Its data.
    value: Value,
}

impl StreamRepair {
    /// Repairs a stream of a format; `None` if streams of that format need no repair. `seed` makes
    /// invented ids unique.
    pub(super) fn new(format: Format, seed: &str, max_frame: usize) -> Option<StreamRepair> {
        let format = match format {
            Format::OpenaiChat => FormatRepair::Chat(ChatRepair::new(seed)),
            Format::OpenaiResponses => FormatRepair::Responses(ResponsesRepair::new(seed)),
            Format::Anthropic => FormatRepair::Anthropic(AnthropicRepair::new(seed)),
            Format::Gemini | Format::GeminiInteractions | Format::Bedrock => return None,
        };
        Some(StreamRepair { format, buffer: Vec::new(), max_frame, is_passing: false })
    }

    /// Reads bytes and appends those that can be sent.
    pub(super) fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if self.is_passing {
            out.extend_from_slice(bytes);
            return;
        }
        let searched = self.buffer.len().saturating_sub(3);
        self.buffer.extend_from_slice(bytes);
        let buffer = std::mem::take(&mut self.buffer);
        let (mut start, mut from) = (0, searched);
        while let Some(end) = frame_end(&buffer, from) {
            self.read_frame(buffer.get(start..end).unwrap_or_default(), out);
            (start, from) = (end, end);
        }
        self.buffer = buffer.get(start..).unwrap_or_default().to_vec();
        if self.buffer.len() > self.max_frame || self.buffer.starts_with(b"\r") {
            self.flush(out);
            self.is_passing = true;
        }
    }

    /// Ends the stream.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        let rest = std::mem::take(&mut self.buffer);
        if self.is_passing || !has_fields(&rest) {
            self.buffer = rest;
        } else if has_whole_data(&rest) {
            self.read_frame(&rest, out);
        }
        // Any other rest is part of a frame: what is written behind it would belong to it.
        self.flush(out);
    }

    /// How many calls were repaired.
    pub(super) fn repairs(&self) -> usize {
        match &self.format {
            FormatRepair::Chat(repair) => repair.calls.repairs(),
            FormatRepair::Responses(repair) => repair.calls.repairs(),
            FormatRepair::Anthropic(repair) => repair.calls.repairs(),
        }
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        match &mut self.format {
            FormatRepair::Chat(repair) => repair.calls.release(out),
            FormatRepair::Responses(repair) => repair.flush(out),
            FormatRepair::Anthropic(repair) => repair.flush(out),
        }
        out.append(&mut self.buffer);
    }

    fn read_frame(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        let is_relevant = match &self.format {
            FormatRepair::Chat(repair) => repair.is_relevant(raw),
            FormatRepair::Responses(repair) => repair.is_relevant(raw),
            FormatRepair::Anthropic(repair) => repair.is_relevant(raw),
        };
        match (is_relevant.then(|| frame_value(raw)).flatten(), &mut self.format) {
            (Some(value), FormatRepair::Chat(repair)) => {
                repair.read(RepairFrame { raw, value }, out);
            }
            (Some(value), FormatRepair::Responses(repair)) => {
                repair.read(RepairFrame { raw, value }, out);
            }
            (Some(value), FormatRepair::Anthropic(repair)) => {
                repair.read(RepairFrame { raw, value }, out);
            }
            (None, FormatRepair::Chat(repair)) => repair.read_aside(raw, out),
            (None, FormatRepair::Responses(repair)) => repair.read_aside(raw, out),
            (None, FormatRepair::Anthropic(repair)) => repair.read_aside(raw, out),
        }
    }
}

/// The end of the first frame: behind its empty line.
fn frame_end(bytes: &[u8], from: usize) -> Option<usize> {
    let line_ends = (from..bytes.len()).filter(|at| bytes.get(*at) == Some(&b'\n'));
    for at in line_ends {
        match bytes.get(at + 1..) {
            Some([b'\n', ..]) => return Some(at + 2),
            Some([b'\r', b'\n', ..]) => return Some(at + 3),
            _ => {}
        }
    }
    None
}

/// The data of a frame; `None` if it has none.
fn frame_data(raw: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(raw).ok()?;
    let lines = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let data: Vec<&str> = lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    (!data.is_empty()).then(|| data.join("\n"))
}

/// The JSON of a frame's data.
fn frame_value(raw: &[u8]) -> Option<Value> {
    serde_json::from_str(&frame_data(raw)?).ok().filter(Value::is_object)
}

/// Whether a frame says that the stream is over.
fn is_done(raw: &[u8]) -> bool {
    contains(raw, "[DONE]") && frame_data(raw).is_some_and(|data| data.trim() == "[DONE]")
}

/// Whether bytes begin with a field of a frame, or with a part of one.
pub(super) fn has_fields(raw: &[u8]) -> bool {
    let fields = ["data:", "event:", "id:", "retry:"].map(str::as_bytes);
    let mut lines = raw.split(|byte| *byte == b'\n').filter(|line| !line.starts_with(b":"));
    lines.any(|line| {
        let is_field = |field: &&[u8]| line.starts_with(field) || field.starts_with(line);
        !line.is_empty() && fields.iter().any(is_field)
    })
}

/// Whether the data of a frame is complete.
pub(super) fn has_whole_data(raw: &[u8]) -> bool {
    let data = frame_data(raw);
    data.is_some_and(|data| serde_json::from_str::<Value>(&data).is_ok()) || is_done(raw)
}

/// Writes a frame with other data.
fn write_frame(raw: &[u8], value: &Value, out: &mut Vec<u8>) {
    let text = std::str::from_utf8(raw).unwrap_or_default();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with("data:")) {
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
    }
    out.extend_from_slice(b"data: ");
    out.extend_from_slice(value.to_string().as_bytes());
    out.extend_from_slice(b"\n\n");
}

/// Writes a frame of our own.
fn write_event(event: &str, value: &Value, out: &mut Vec<u8>) {
    write_frame(format!("event: {event}\n").as_bytes(), value, out);
}

/// A text, empty if it is missing.
fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Whether another frame may wait behind these.
fn has_room(waiting: &[Vec<u8>], raw: &[u8]) -> bool {
    waiting.iter().map(Vec::len).sum::<usize>() + raw.len() <= MAX_WAITING
}

/// Whether a frame contains a text.
fn contains(raw: &[u8], text: &str) -> bool {
    memchr::memmem::find(raw, text.as_bytes()).is_some()
}
