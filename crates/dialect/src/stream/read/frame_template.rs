//! A frame that is the one before it again, but for its text.
//!
//! Nearly all frames of a stream are: the same keys, the same ids, and a few more characters. Whoever
//! has read one of them needs to read no more of the next than those characters. Only formats that
//! take nothing but the text from such a frame are read like that, and only fields that hold what is
//! said; everything else is read in full.

use foxwedge_core::Format;

use crate::{
    json::StringEnds,
    model::JsonText,
    stream::{
        StreamFrame,
        event::{BlockDelta, EventSink, StreamEvent, StreamLoss},
    },
};

/// What is remembered of the last frame.
#[derive(Debug)]
pub(super) struct FrameTemplate {
    /// The fields that hold what is said; none for formats whose frames have more to tell.
    keys: &'static [&'static str],
    /// The block that it added to; nothing to compare with, if there is none.
    block: Option<u32>,
    name: Option<String>,
    /// What stands before the text, and behind it.
    head: String,
    tail: String,
}

impl FrameTemplate {
    pub(super) fn new(wire: Format) -> FrameTemplate {
        let keys: &[&str] = match wire {
            Format::OpenaiChat => &["\"content\":\"", "\"reasoning_content\":\""],
            Format::Anthropic => &["\"text\":\"", "\"thinking\":\"", "\"partial_json\":\""],
            Format::OpenaiResponses | Format::Gemini | Format::Bedrock => &[],
        };
        FrameTemplate { keys, block: None, name: None, head: String::new(), tail: String::new() }
    }

    /// The block and its next words, if this is the same frame but for them.
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

    /// Remembers a frame that was read in full.
    pub(super) fn remember(&mut self, frame: &StreamFrame<'_>, told: FrameContent) {
        self.block = None;
        let FrameContent::Text { block, start, end } = told else { return };
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

/// Whether this is the inside of a string in its usual spelling, and then whether it has escapes.
fn string_escapes(bytes: &[u8]) -> Option<bool> {
    let (mut marks, mut at, mut escaped) = (StringEnds::NONE, 0, false);
    loop {
        at = marks.next_end(bytes, at);
        match bytes.get(at..)? {
            [] => return Some(escaped),
            [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => {
                (at, escaped) = (at + 2, true);
            }
            _ => return None,
        }
    }
}

/// What a frame told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FrameContent {
    /// Nothing so far.
    Nothing,
    /// That a block goes on, with a text that lies there in the frame.
    Text { block: u32, start: usize, end: usize },
    /// Something else, or more than that.
    Other,
}

/// Listens to what a frame tells.
pub(super) struct FrameContentSink<'l> {
    pub(super) sink: &'l mut dyn EventSink,
    pub(super) data: &'l str,
    pub(super) content: FrameContent,
}

impl EventSink for FrameContentSink<'_> {
    fn event(&mut self, event: StreamEvent<'_>) {
        self.content = match (&event, self.content) {
            (
                StreamEvent::Delta { block, delta: BlockDelta::Text(words) },
                FrameContent::Nothing,
            ) => text_span(self.data, words).map_or(FrameContent::Other, |(start, end)| {
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

/// Where a text lies in the frame that it was read from. It borrows from there, so its address says
/// that.
fn text_span(data: &str, words: &JsonText<'_>) -> Option<(usize, usize)> {
    let raw = words.borrowed_source()?;
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

    /// What is told of each frame, and how many frames were the one before again.
    fn told(wire: Format, frames: &[(Option<&str>, String)], quick: bool) -> (Vec<String>, usize) {
        let mut reader = StreamReader::new(wire);
        if !quick {
            reader.template.keys = &[];
        }
        let (mut lines, mut again) = (Lines::default(), 0);
        for (name, data) in frames {
            let frame = StreamFrame { name: *name, data, at: 0 };
            again += usize::from(reader.template.match_text(&frame).is_some());
            if let Err(error) = reader.read_frame(frame, &mut lines) {
                lines.0.push(error.to_string());
            }
        }
        (lines.0, again)
    }

    /// Insides of strings: usual ones, rare ones and wrong ones.
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
    fn a_frame_that_is_the_one_before_again_tells_the_same_as_if_it_were_read() {
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
                    let said = [first, second, third, "a", third, "b"];
                    let mut frames: Vec<_> =
                        said.iter().map(|one| chat("content", one, "null")).collect();
                    frames.push(chat("reasoning_content", second, "null"));
                    frames.push(chat("reasoning_content", first, "null"));
                    frames.push(chat("content", third, "null"));
                    frames.push(chat("content", "z", "\"stop\""));
                    frames.push(chat("content", second, "null"));
                    let (lines, again) = told(Format::OpenaiChat, &frames, true);
                    assert_eq!(told(Format::OpenaiChat, &frames, false), (lines, 0), "{said:?}");
                    assert!(again <= 6);
                    let mut frames: Vec<_> =
                        said.iter().map(|one| block("text_delta", "text", 0, one)).collect();
                    frames.push(block("text_delta", "text", 1, second));
                    frames.push(block("text_delta", "text", 1, first));
                    frames.push(block("thinking_delta", "thinking", 2, third));
                    frames.push(block("thinking_delta", "thinking", 2, first));
                    frames.push(block("input_json_delta", "partial_json", 3, first));
                    frames.push((Some("ping"), r#"{"type":"ping"}"#.to_owned()));
                    frames.push(block("thinking_delta", "thinking", 2, second));
                    let (lines, _) = told(Format::Anthropic, &frames, true);
                    assert_eq!(told(Format::Anthropic, &frames, false), (lines, 0), "{said:?}");
                }
            }
        }
        let usual: Vec<_> = ["a", "b", "c\\n", "d"].map(|one| chat("content", one, "null")).into();
        assert_eq!(told(Format::OpenaiChat, &usual, true).1, 2);
    }
}
