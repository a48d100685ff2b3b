//! A frame: one JSON text, with an id from which a client can resume.

use std::{fmt, str::FromStr};

/// One JSON text, or the literal that ends a stream of the AI SDK.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UiFrame {
    /// Its id.
    pub id: FrameId,
    /// The text, on one line.
    pub data: String,
}

impl UiFrame {
    /// Appends the frame as a server-sent event.
    pub fn write_sse(&self, out: &mut String) {
        out.reserve(self.data.len() + 40);
        out.push_str("id: ");
        out.push_str(&self.id.to_string());
        out.push_str("\ndata: ");
        out.push_str(&self.data);
        out.push_str("\n\n");
    }

    /// Appends the frame as a line.
    pub fn write_line(&self, out: &mut String) {
        out.push_str(&self.data);
        out.push('\n');
    }
}

/// The position of a frame in its run: `12.3` is the third frame of event 12. Frames of one stream
/// are ordered by their ids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FrameId {
    /// The sequence number of the event in its run.
    pub seq: u64,
    /// The position among the frames of the event, from 1.
    pub part: u32,
}

impl fmt::Display for FrameId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.seq, self.part)
    }
}

impl FromStr for FrameId {
    type Err = FrameIdError;

    fn from_str(text: &str) -> Result<FrameId, FrameIdError> {
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
        let (seq, part) = text.split_once('.').ok_or(FrameIdError)?;
        if !is_number(seq) || !is_number(part) {
            return Err(FrameIdError);
        }
        let (seq, part) =
            (seq.parse().map_err(|_| FrameIdError)?, part.parse().map_err(|_| FrameIdError)?);
        Ok(FrameId { seq, part })
    }
}

/// A text is not a frame id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameIdError;

impl fmt::Display for FrameIdError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a frame id must be two numbers separated by a dot")
    }
}

impl std::error::Error for FrameIdError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_id_round_trips_as_text() {
        let table = [
            ("0.1", Some((0, 1))),
            ("12.3", Some((12, 3))),
            ("18446744073709551615.4294967295", Some((u64::MAX, u32::MAX))),
            ("18446744073709551616.1", None),
            ("12", None),
            ("12.", None),
            (".3", None),
            ("12.3.4", None),
            ("+12.3", None),
            (" 12.3", None),
            ("", None),
        ];
        for (text, expected) in table {
            let id: Option<FrameId> = text.parse().ok();
            assert_eq!(id, expected.map(|(seq, part)| FrameId { seq, part }), "{text}");
            if let Some(id) = id {
                assert_eq!(id.to_string(), text);
            }
        }
    }

    #[test]
    fn frame_is_written_as_server_sent_event_or_line() {
        let frame = UiFrame { id: FrameId { seq: 7, part: 2 }, data: "{}".to_owned() };
        let (mut event, mut line) = (String::new(), String::new());
        frame.write_sse(&mut event);
        frame.write_line(&mut line);
        assert_eq!((event.as_str(), line.as_str()), ("id: 7.2\ndata: {}\n\n", "{}\n"));
    }
}
