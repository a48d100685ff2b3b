//! The last of what a process says on stderr, for an error message.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{io::AsyncReadExt as _, process::ChildStderr, task::JoinHandle};

/// Bytes that are kept: the last ones.
pub(crate) const STDERR_TAIL_BYTES: usize = 4 << 10;

/// The last of what a process said. A copy is the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct StderrTail(Arc<Mutex<StderrBuffer>>);

#[derive(Debug, Default)]
struct StderrBuffer {
    bytes: VecDeque<u8>,
    /// Something stood before them.
    truncated: bool,
}

impl StderrTail {
    /// Listens until the process says nothing more.
    pub(crate) fn read_in_background(&self, mut stderr: ChildStderr) -> JoinHandle<()> {
        let this = self.clone();
        tokio::spawn(async move {
            let mut buffer = vec![0; STDERR_TAIL_BYTES];
            loop {
                match stderr.read(&mut buffer).await {
                    Ok(0) | Err(_) => return,
                    Ok(read) => this.append(buffer.get(..read).unwrap_or_default()),
                }
            }
        })
    }

    fn append(&self, bytes: &[u8]) {
        let mut words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        words.bytes.extend(bytes);
        let over = words.bytes.len().saturating_sub(STDERR_TAIL_BYTES);
        words.bytes.drain(..over);
        words.truncated |= over > 0;
    }

    /// The words, fit for a message: in one line, without these values.
    pub(crate) fn to_message(&self, secrets: &[String]) -> String {
        let bytes: Vec<u8> = {
            let words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // Half a word may be half a secret.
            let whole = words.bytes.iter().position(u8::is_ascii_whitespace);
            let whole = whole.filter(|_| words.truncated);
            words.bytes.iter().skip(whole.map_or(0, |end| end + 1)).copied().collect()
        };
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        for secret in secrets {
            text = text.replace(secret, "[secret]");
        }
        let plain: String = text
            .chars()
            .map(|c| if c == '\n' { ' ' } else { c })
            .filter(|c| !c.is_control() && *c != '\u{fffd}')
            .collect();
        plain.trim().to_owned()
    }
}
