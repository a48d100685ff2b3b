//! A fast path for frames that differ from the previous one only in their text.
//!
//! Nearly all frames of a stream do: the same keys, the same ids, a few new characters. After one
//! such frame was parsed in full, only the text of the next one has to be read. This applies only
//! to formats whose readers use only the text of such a frame, and only to text fields. All other
//! frames are parsed in full.

use foxwedge_core::Format;

use crate::{
    conversation::JsonText,
    event::{BlockDelta, EventSink, StreamEvent, StreamLoss},
    frame::StreamFrame,
};
use foxwedge_json::StringEnds;

/// The previous frame, as a template for the next one.
#[derive(Debug)]
pub(super) struct FrameTemplate {
    /// The text fields of the format. Empty for formats without this fast path.
    keys: &'static [&'static str],
    /// The block that the frame added to. `None` if there is no template.
    block: Option<u32>,
    name: Option<String>,
    /// The data before and after the text.
    head: String,
    tail: String,
}

impl FrameTemplate {
    pub(super) fn new(format: Format) -> FrameTemplate {
        let keys: &[&str] = match format {
            Format::OpenaiChat => &["\"content\":\"", "\"reasoning_content\":\""],
            Format::Anthropic => &["\"text\":\"", "\"thinking\":\"", "\"partial_json\":\""],
            Format::OpenaiResponses
            | Format::Gemini
            | Format::Bedrock
            | Format::GeminiInteractions => &[],
        };
        FrameTemplate { keys, block: None, name: None, head: String::new(), tail: String::new() }
    }

    /// The block and its next text, if the frame matches the template.
    pub(super) fn match_text<'f>(&self, frame: &StreamFrame<'f>) -> Option<(u32, JsonText<'f>)> {
        let block = self.block?;
        let rest = frame.data.strip_prefix(&*self.head)?;
        let inside = rest.strip_suffix(&*self.tail)?;
        if frame.name != self.name.as_deref() || inside.is_empty() {
            return None;
        }
        let escaped = string_escapes(inside.as_bytes())?;
        Some((block, JsonText::from_json((inside, escaped))))
    }

    /// Stores a frame that was parsed in full as the new template.
    pub(super) fn remember(&mut self, frame: &StreamFrame<'_>, content: FrameContent) {
        self.block = None;
        let FrameContent::Text { block, start, end } = content else { return };
        let (Some(head), Some(tail)) = (frame.data.get(..start), frame.data.get(end..)) else {
            return;
        };
        if self.keys.iter().any(|key| head.ends_with(key)) && tail.starts_with('"') {
            self.block = Some(block);
            self.name.clone_from(&frame.name.map(str::to_owned));
            self.head.clear();
            self.head.push_str(head);
            self.tail.clear();
            self.tail.push_str(tail);
        }
    }
}

/// Whether a string has escapes. `None` if it is not the inside of a string, or has unusual
/// escapes.
fn string_escapes(bytes: &[u8]) -> Option<bool> {
    let (mut ends, mut at, mut escaped) = (StringEnds::NONE, 0, false);
    loop {
        at = ends.next_end(bytes, at);
        match bytes.get(at..)? {
            [] => return Some(escaped),
            [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => {
                (at, escaped) = (at + 2, true);
            }
            _ => return None,
        }
    }
}

/// The events of a frame, as far as a template needs them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FrameContent {
    /// No event so far.
    Nothing,
    /// One text delta, and its position in the frame.
    Text { block: u32, start: usize, end: usize },
    /// Any other events.
    Other,
}

/// Passes on the events of a frame and classifies them.
pub(super) struct FrameContentSink<'l> {
    pub(super) sink: &'l mut dyn EventSink,
    pub(super) data: &'l str,
    pub(super) content: FrameContent,
}

impl EventSink for FrameContentSink<'_> {
    fn event(&mut self, event: StreamEvent<'_>) {
        self.content = match (&event, self.content) {
            (
                StreamEvent::Delta { block, delta: BlockDelta::Text(text) },
                FrameContent::Nothing,
            ) => text_span(self.data, text).map_or(FrameContent::Other, |(start, end)| {
                FrameContent::Text { block: *block, start, end }
            }),
            _ => FrameContent::Other,
        };
        self.sink.event(event);
    }

    fn skip(&mut self, note: StreamLoss) {
        self.content = FrameContent::Other;
        self.sink.skip(note);
    }
}

/// The position of a text in its frame. The text borrows from the frame, so its address gives the
/// offset.
fn text_span(data: &str, text: &JsonText<'_>) -> Option<(usize, usize)> {
    let raw = text.borrowed_source()?;
    let start = (raw.as_ptr() as usize).checked_sub(data.as_ptr() as usize)?;
    let end = start.checked_add(raw.len())?;
    (data.get(start..end)? == raw).then_some((start, end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::read::StreamReader;

    #[derive(Default)]
    struct Lines(Vec<String>);

    impl EventSink for Lines {
        fn event(&mut self, event: StreamEvent<'_>) {
            self.0.push(format!("{event:?}"));
        }

        fn skip(&mut self, note: StreamLoss) {
            self.0.push(format!("{note:?}"));
        }
    }

    /// The events of the frames, and how many frames matched the template.
    fn read_frames(
        format: Format,
        frames: &[(Option<&str>, String)],
        use_template: bool,
    ) -> (Vec<String>, usize) {
        let mut reader = StreamReader::new(format);
        if !use_template {
            reader.template.keys = &[];
        }
        let (mut lines, mut matches) = (Lines::default(), 0);
        for (name, data) in frames {
            let frame = StreamFrame { name: *name, data, at: 0 };
            matches += usize::from(reader.template.match_text(&frame).is_some());
            if let Err(error) = reader.read_frame(frame, &mut lines) {
                lines.0.push(error.to_string());
            }
        }
        (lines.0, matches)
    }

    /// String contents: common, rare and invalid ones.
    const INSIDES: [&str; 14] = [
        "a",
        "b c",
        r#"\"quoted\"\n"#,
        "dög 𝄞",
        r"\u00e9",
        r"\ud834",
        r"\udd1e",
        "",
        r#"x","y":""#,
        r"\q",
        "\u{1}",
        r"end\",
        r#"x"}}]}"#,
        r"\\",
    ];

    #[test]
    fn matched_frame_gives_the_same_events_as_a_full_read() {
        let chat = |key: &str, inside: &str, stop: &str| {
            let delta = format!(r#"{{"{key}":"{inside}"}}"#);
            let choice = format!(r#"{{"index":0,"delta":{delta},"finish_reason":{stop}}}"#);
            (None, format!(r#"{{"id":"c","model":"m","created":1,"choices":[{choice}]}}"#))
        };
        let block = |kind: &str, key: &str, index: u8, inside: &str| {
            let delta = format!(r#"{{"type":"{kind}","{key}":"{inside}"}}"#);
            let data =
                format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#);
            (Some("content_block_delta"), data)
        };
        for first in INSIDES {
            for second in INSIDES {
                for third in ["a", r"\n", r"\udd1e", "", r#"""#] {
                    let texts = [first, second, third, "a", third, "b"];
                    let mut frames: Vec<_> =
                        texts.iter().map(|text| chat("content", text, "null")).collect();
                    frames.push(chat("reasoning_content", second, "null"));
                    frames.push(chat("reasoning_content", first, "null"));
                    frames.push(chat("content", third, "null"));
                    frames.push(chat("content", "z", "\"stop\""));
                    frames.push(chat("content", second, "null"));
                    let (lines, matches) = read_frames(Format::OpenaiChat, &frames, true);
                    assert_eq!(
                        read_frames(Format::OpenaiChat, &frames, false),
                        (lines, 0),
                        "{texts:?}"
                    );
                    assert!(matches <= 6);
                    let mut frames: Vec<_> =
                        texts.iter().map(|text| block("text_delta", "text", 0, text)).collect();
                    frames.push(block("text_delta", "text", 1, second));
                    frames.push(block("text_delta", "text", 1, first));
                    frames.push(block("thinking_delta", "thinking", 2, third));
                    frames.push(block("thinking_delta", "thinking", 2, first));
                    frames.push(block("input_json_delta", "partial_json", 3, first));
                    frames.push((Some("ping"), r#"{"type":"ping"}"#.to_owned()));
                    frames.push(block("thinking_delta", "thinking", 2, second));
                    let (lines, _) = read_frames(Format::Anthropic, &frames, true);
                    assert_eq!(
                        read_frames(Format::Anthropic, &frames, false),
                        (lines, 0),
                        "{texts:?}"
                    );
                }
            }
        }
        let usual: Vec<_> =
            ["a", "b", "c\\n", "d"].map(|text| chat("content", text, "null")).into();
        assert_eq!(read_frames(Format::OpenaiChat, &usual, true).1, 2);
    }
}
