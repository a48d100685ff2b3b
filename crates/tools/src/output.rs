//! What a tool says while it works: the beginning and the end of it are kept, however much it is.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::Notify;

/// Takes what a tool says. A copy is the same.
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
    /// Bytes in all.
    total: u64,
    max_bytes: usize,
}

/// What was kept of what a tool said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CapturedOutput {
    /// The text, with a mark where something is left out.
    pub text: String,
    /// Bytes in all.
    pub total: u64,
    /// Bytes that are left out.
    pub omitted: u64,
}

impl OutputCapture {
    /// Keeps so many bytes: half of them from the beginning, half from the end.
    pub fn new(most: usize) -> OutputCapture {
        let kept =
            HeadTailBuffer { head: Vec::new(), tail: VecDeque::new(), total: 0, max_bytes: most };
        OutputCapture(Arc::new(SharedCapture { buffer: Mutex::new(kept), changed: Notify::new() }))
    }

    /// Says more.
    pub fn push(&self, bytes: &[u8]) {
        let mut kept = self.0.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(bytes);
        drop(kept);
        self.0.changed.notify_one();
    }

    /// Waits until something was said since the last time.
    pub async fn wait_for_output(&self) {
        self.0.changed.notified().await;
    }

    /// What was said so far.
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
        // Of much at once only the end can stay.
        let rest = rest.get(rest.len().saturating_sub(half)..).unwrap_or_default();
        let over = (self.tail.len() + rest.len()).saturating_sub(half);
        self.tail.drain(..over.min(self.tail.len()));
        self.tail.extend(rest);
    }

    fn capture(&self) -> CapturedOutput {
        let kept = (self.head.len() + self.tail.len()) as u64;
        let left_out = self.total - kept;
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let text = match left_out {
            0 => {
                let mut all = self.head.clone();
                all.extend(tail);
                String::from_utf8_lossy(&all).into_owned()
            }
            // Half a character at the cut is none.
            _ => format!(
                "{}\n[… {left_out} bytes left out …]\n{}",
                String::from_utf8_lossy(&self.head).trim_end_matches('\u{fffd}'),
                String::from_utf8_lossy(&tail).trim_start_matches('\u{fffd}')
            ),
        };
        CapturedOutput { text, total: self.total, omitted: left_out }
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
        for (pieces, most, expected) in table {
            let output = OutputCapture::new(most);
            pieces.iter().for_each(|piece| output.push(piece.as_bytes()));
            assert_eq!(output.capture().text, expected, "{pieces:?}");
        }
    }
}
