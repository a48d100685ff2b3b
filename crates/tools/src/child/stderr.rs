//! The tail of a process's stderr, for error messages.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{io::AsyncReadExt as _, process::ChildStderr, task::JoinHandle};

/// Bytes that are kept.
pub const STDERR_TAIL_BYTES: usize = 4 << 10;

/// The tail of stderr. Cheap to clone; clones share state.
#[derive(Clone, Debug, Default)]
pub struct StderrTail(Arc<Mutex<StderrBuffer>>);

#[derive(Debug, Default)]
struct StderrBuffer {
    bytes: VecDeque<u8>,
    /// Whether earlier output was dropped.
    truncated: bool,
}

impl StderrTail {
    /// Reads stderr until it ends.
    pub fn read_in_background(&self, mut stderr: ChildStderr) -> JoinHandle<()> {
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

    /// The tail as one line for an error message, without these secret values.
    pub fn to_message(&self, secrets: &[String]) -> String {
        let bytes: Vec<u8> = {
            let words = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // A truncated word may be a part of a secret.
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
