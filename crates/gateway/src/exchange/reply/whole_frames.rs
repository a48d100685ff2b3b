//! Passes a stream of server-sent events on in whole frames. A stream that breaks off within a frame then
//! ends before it: half a frame would be an event that no client can read, in front of the one that says
//! what happened.
//!
//! Bytes that end with a frame pass as they are, without a copy. What follows the last frame is held back
//! until its end arrives, unless a client could use it now.

use bytes::Bytes;

use super::stream_repair::{has_fields, has_whole_data};

/// How much is held back at most.
const MAX_HELD: usize = 64 << 10;

/// The beginning of a frame whose end has not arrived.
#[derive(Debug, Default)]
pub(super) struct WholeFrames {
    held: Vec<u8>,
}

impl WholeFrames {
    /// Takes bytes, and returns those that can be passed on.
    pub(super) fn push(&mut self, mut bytes: Bytes) -> Bytes {
        if self.held.is_empty() {
            let rest = bytes.split_off(usable_length(&bytes, 0));
            self.held.extend_from_slice(&rest);
            return bytes;
        }
        let known = self.held.len();
        self.held.extend_from_slice(&bytes);
        let rest = self.held.split_off(usable_length(&self.held, known));
        std::mem::replace(&mut self.held, rest).into()
    }

    /// What is left at the end of the stream. Of a stream that broke off, no half of a frame.
    pub(super) fn finish(&mut self, is_cut: bool) -> Bytes {
        let rest = std::mem::take(&mut self.held);
        match is_cut && !has_whole_data(&rest) {
            true => Bytes::new(),
            false => rest.into(),
        }
    }
}

/// How many bytes from the start on a client can use now. No frame ends within the first `known`.
fn usable_length(bytes: &[u8], known: usize) -> usize {
    let frames = frames_length(bytes, known.saturating_sub(2));
    let (_, rest) = bytes.split_at_checked(frames).unwrap_or((bytes, &[]));
    let is_usable =
        rest.is_empty() || rest.len() > MAX_HELD || has_lone_return(rest) || !has_fields(rest);
    if is_usable { bytes.len() } else { frames + lines_length(rest) }
}

/// The end of the last frame: behind its empty line. None ends before `from`.
fn frames_length(bytes: &[u8], from: usize) -> usize {
    let searched = bytes.get(from..).unwrap_or_default();
    let ends = |at: &usize| {
        let (before, _) = bytes.split_at_checked(from + *at).unwrap_or_default();
        before.ends_with(b"\n") || before.ends_with(b"\n\r")
    };
    memchr::memrchr_iter(b'\n', searched).find(ends).map_or(0, |at| from + at + 1)
}

/// The length of the lines of an unfinished frame, if the last of them is an event by itself: some programs
/// read lines, and some servers send no empty ones.
fn lines_length(rest: &[u8]) -> usize {
    let Some(end) = memchr::memrchr(b'\n', rest) else { return 0 };
    let lines = rest.get(..end).unwrap_or_default();
    let start = memchr::memrchr(b'\n', lines).map_or(0, |at| at + 1);
    if has_whole_data(lines.get(start..).unwrap_or_default()) { end + 1 } else { 0 }
}

/// Whether a line ends with a carriage return alone: then frames are not told apart here.
fn has_lone_return(rest: &[u8]) -> bool {
    memchr::memchr_iter(b'\r', rest).any(|at| rest.get(at + 1).is_some_and(|next| *next != b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(frames: &mut WholeFrames, bytes: &str) -> String {
        let passed = frames.push(Bytes::copy_from_slice(bytes.as_bytes()));
        String::from_utf8(passed.into()).expect("text")
    }

    #[test]
    fn what_a_client_can_use_is_not_held_back() {
        for (bytes, expected) in [
            ("data: {\"a\":1}\n\n", "data: {\"a\":1}\n\n"),
            ("data: {\"a\":1}\r\n\r\n", "data: {\"a\":1}\r\n\r\n"),
            ("data: 1\n\ndata: {\"a", "data: 1\n\n"),
            ("data: 1\r\n\r\nevent: x\r\nda", "data: 1\r\n\r\n"),
            ("event: x\n", ""),
            ("event: x\ndata: {}\n", "event: x\ndata: {}\n"),
            ("data: {}\ndata: {}\ndata: {", "data: {}\ndata: {}\n"),
            ("data: {\ndata: }\nda", ""),
            (": ping\n", ": ping\n"),
            ("data: {}\rdata: {}\r", "data: {}\rdata: {}\r"),
            ("not an event", "not an event"),
            ("data: [DONE]\n", "data: [DONE]\n"),
        ] {
            assert_eq!(passed(&mut WholeFrames::default(), bytes), expected, "{bytes:?}");
        }
        let long = format!("data: {}", "x".repeat(MAX_HELD));
        assert_eq!(passed(&mut WholeFrames::default(), &long), long);
    }

    /// Pieces of streams, and lines outside of any frame.
    const PIECES: [&str; 8] = [
        "data: {\"a\":\"b\"}\n\n",
        "event: x\r\ndata: {}\r\n\r\n",
        ": ping\n\n",
        "\n",
        "data: [1,\ndata: 2]\n\n",
        "id: 7\n",
        "data: \"\\n\"\n\n",
        "data: [DONE]\n\n",
    ];

    #[test]
    fn a_whole_stream_keeps_its_bytes_and_a_cut_one_ends_with_a_frame() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut below = |bound: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state >> 33).expect("31 bits") % bound
        };
        for round in 0..20_000 {
            let pieces: Vec<&str> = (0..below(8)).map(|_| PIECES[below(PIECES.len())]).collect();
            let stream = pieces.concat();
            let is_cut = round % 2 == 0;
            let end = if is_cut { below(stream.len() + 1) } else { stream.len() };
            let sent = &stream[..end];
            let (mut frames, mut out, mut rest) = (WholeFrames::default(), String::new(), sent);
            while !rest.is_empty() {
                let (bytes, later) = rest.split_at((below(11) + 1).min(rest.len()));
                out.push_str(&passed(&mut frames, bytes));
                rest = later;
            }
            out.push_str(std::str::from_utf8(&frames.finish(is_cut)).expect("text"));
            assert!(sent.starts_with(&out), "{out:?} of {sent:?}");
            assert!(is_cut || out == sent, "{out:?} of {sent:?}");
            let lost = &sent[out.len()..];
            assert!(!lost.contains("\n\n") && !lost.contains("\r\n\r\n"), "{lost:?}");
            // Every data line that was passed on is whole.
            let lines = out.lines().filter_map(|line| line.strip_prefix("data: "));
            for line in lines.filter(|line| !matches!(*line, "[1," | "2]" | "[DONE]")) {
                assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{line:?}");
            }
        }
    }
}
