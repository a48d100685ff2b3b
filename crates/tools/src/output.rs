//! Captures the output of a tool: its start and its end, however long it is.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::Notify;

/// Receives the output of a tool. Clones share state.
#[derive(Clone, Debug)]
pub struct OutputCapture(Arc<SharedCapture>);

#[derive(Debug)]
struct SharedCapture {
    buffer: Mutex<HeadTailBuffer>,
    changed: Notify,
}

#[derive(Debug)]
struct HeadTailBuffer {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// Total bytes.
    total: u64,
    max_bytes: usize,
}

/// The captured output of a tool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CapturedOutput {
    /// The text, with a mark where bytes are omitted.
    pub text: String,
    /// Total bytes.
    pub total: u64,
    /// Omitted bytes.
    pub omitted: u64,
}

impl OutputCapture {
    /// Keeps `max_bytes` bytes: half of them from the start, half from the end.
    pub fn new(max_bytes: usize) -> OutputCapture {
        let buffer =
            HeadTailBuffer { head: Vec::new(), tail: VecDeque::new(), total: 0, max_bytes };
        OutputCapture(Arc::new(SharedCapture {
            buffer: Mutex::new(buffer),
            changed: Notify::new(),
        }))
    }

    /// Adds output.
    pub fn push(&self, bytes: &[u8]) {
        let mut buffer = self.0.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        buffer.push(bytes);
        drop(buffer);
        self.0.changed.notify_one();
    }

    /// Waits until there is new output since the last call.
    pub async fn wait_for_output(&self) {
        self.0.changed.notified().await;
    }

    /// Returns the output so far.
    pub fn capture(&self) -> CapturedOutput {
        self.0.buffer.lock().unwrap_or_else(PoisonError::into_inner).capture()
    }
}

impl HeadTailBuffer {
    fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let half = self.max_bytes / 2;
        let room = half.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        // Of a long chunk only the end can stay.
        let rest = rest.get(rest.len().saturating_sub(half)..).unwrap_or_default();
        let excess = (self.tail.len() + rest.len()).saturating_sub(half);
        self.tail.drain(..excess.min(self.tail.len()));
        self.tail.extend(rest);
    }

    fn capture(&self) -> CapturedOutput {
        let kept_bytes = (self.head.len() + self.tail.len()) as u64;
        let omitted = self.total - kept_bytes;
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let text = match omitted {
            0 => {
                let mut all = self.head.clone();
                all.extend(tail);
                String::from_utf8_lossy(&all).into_owned()
            }
            // Drop half a character at the cut.
            _ => format!(
                "{}\n[… {omitted} bytes left out …]\n{}",
                String::from_utf8_lossy(&self.head).trim_end_matches('\u{fffd}'),
                String::from_utf8_lossy(&tail).trim_start_matches('\u{fffd}')
            ),
        };
        CapturedOutput { text, total: self.total, omitted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beginning_and_end_are_kept_and_the_middle_is_counted() {
        let table: [(&[&str], usize, &str); 5] = [
            (&[], 8, ""),
            (&["abc", "def"], 8, "abcdef"),
            (&["abcd", "efgh", "ijkl"], 8, "abcd\n[… 4 bytes left out …]\nijkl"),
            (&["abcdefghijkl"], 8, "abcd\n[… 4 bytes left out …]\nijkl"),
            (&["aéé", "éé"], 4, "a\n[… 5 bytes left out …]\né"),
        ];
        for (chunks, max_bytes, expected) in table {
            let output = OutputCapture::new(max_bytes);
            chunks.iter().for_each(|chunk| output.push(chunk.as_bytes()));
            assert_eq!(output.capture().text, expected, "{chunks:?}");
        }
    }
}
