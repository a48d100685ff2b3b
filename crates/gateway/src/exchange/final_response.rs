//! Reads the response object at the end of a stream of the Responses API.

use std::mem;

use serde_json::Value;

/// The reader of one stream.
#[derive(Debug)]
pub(super) struct FinalResponseReader {
    /// The beginning of a line.
    line: Vec<u8>,
    /// Longer lines are not read.
    max_line: usize,
    /// The last line with a finished response.
    last: Vec<u8>,
}

impl FinalResponseReader {
    pub(super) fn new(max_line: usize) -> FinalResponseReader {
        FinalResponseReader { line: Vec::new(), max_line, last: Vec::new() }
    }

    /// Reads more bytes of the stream.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            // What is left of such a line is no event.
            if self.line.len() + piece.len() > self.max_line {
                self.line.clear();
                continue;
            }
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    /// The response object, if there was one.
    pub(super) fn finish(mut self) -> Option<Value> {
        self.end_line();
        let mut event: Value = serde_json::from_slice(self.last.strip_prefix(b"data:")?).ok()?;
        Some(event["response"].take())
    }

    fn end_line(&mut self) {
        let has = |name: &[u8]| memchr::memmem::find(&self.line, name).is_some();
        let is_last = self.line.starts_with(b"data:")
            && (has(b"\"response.completed\"") || has(b"\"response.incomplete\""));
        if is_last {
            mem::swap(&mut self.line, &mut self.last);
        }
        self.line.clear();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_final_response_of_a_stream_is_read_however_it_is_cut() {
        let delta = json!({"type": "response.output_text.delta",
            "delta": "data: {\"type\":\"response.completed\",\"response\":1}\n"});
        let last = |kind: &str| json!({"type": kind, "response": {"id": "resp_1", "output": [7]}});
        for (kind, line_end, end) in [
            ("response.completed", "\n", "\n\n"),
            ("response.incomplete", "\r\n", "\r\n\r\n"),
            ("response.completed", "\n", ""),
            ("response.completed", "\n", "\n\ndata: [DONE]\n\n"),
        ] {
            let (event, delta) = (last(kind), &delta);
            let stream = format!("data: {delta}{line_end}{line_end}event: x\ndata:{event}{end}");
            for size in 1..stream.len() {
                let mut reader = FinalResponseReader::new(1 << 20);
                stream.as_bytes().chunks(size).for_each(|bytes| reader.push(bytes));
                assert_eq!(reader.finish(), Some(event["response"].clone()), "{size}");
            }
        }
        let mut short = FinalResponseReader::new(20);
        short.push(format!("data:{}\n\n", last("response.completed")).as_bytes());
        assert_eq!(short.finish(), None, "the line is too long");
    }
}
