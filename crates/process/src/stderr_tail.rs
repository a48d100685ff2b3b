//! The tail of a process's stderr, for error messages.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{io::AsyncReadExt as _, process::ChildStderr, sync::watch, task::AbortHandle};

/// Bytes that are kept.
pub const STDERR_TAIL_BYTES: usize = 4 << 10;

/// The tail of stderr. Reading ends when it is dropped.
#[derive(Debug)]
pub(crate) struct StderrTail {
    buffer: Arc<Mutex<StderrBuffer>>,
    /// Its sender lives as long as stderr is open.
    open: watch::Receiver<()>,
    reader: AbortHandle,
}

#[derive(Debug, Default)]
struct StderrBuffer {
    bytes: VecDeque<u8>,
    /// Whether earlier output was dropped.
    truncated: bool,
}

impl StderrTail {
    /// Reads stderr in the background.
    pub(crate) fn read(mut stderr: ChildStderr) -> StderrTail {
        let (sender, open) = watch::channel(());
        let buffer = Arc::<Mutex<StderrBuffer>>::default();
        let shared = Arc::clone(&buffer);
        let reader = tokio::spawn(async move {
            let mut chunk = vec![0; STDERR_TAIL_BYTES];
            while let Ok(read @ 1..) = stderr.read(&mut chunk).await {
                let bytes = chunk.get(..read).unwrap_or_default();
                shared.lock().unwrap_or_else(PoisonError::into_inner).append(bytes);
            }
            drop(sender);
        });
        StderrTail { buffer, open, reader: reader.abort_handle() }
    }

    /// Waits until stderr is closed. Cancel safe.
    pub(crate) async fn wait_for_end(&self) {
        // Nothing is sent: the error says that the sender is gone.
        let _ = self.open.clone().changed().await;
    }

    /// The tail without these secret values.
    pub(crate) fn to_text(&self, secrets: &[String]) -> String {
        let bytes = self.buffer.lock().unwrap_or_else(PoisonError::into_inner).whole_words();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        secrets.iter().fold(text, |text, secret| text.replace(secret, "[secret]"))
    }

    /// The tail as one line for an error message, without these secret values.
    pub(crate) fn to_message(&self, secrets: &[String]) -> String {
        let text = self.to_text(secrets);
        let plain: String = text
            .chars()
            .map(|c| if c == '\n' { ' ' } else { c })
            .filter(|c| !c.is_control() && *c != '\u{fffd}')
            .collect();
        plain.trim().to_owned()
    }
}

impl Drop for StderrTail {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl StderrBuffer {
    fn append(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        let over = self.bytes.len().saturating_sub(STDERR_TAIL_BYTES);
        self.bytes.drain(..over);
        self.truncated |= over > 0;
    }

    /// A truncated word may be a part of a secret.
    fn whole_words(&self) -> Vec<u8> {
        let end = self.bytes.iter().position(u8::is_ascii_whitespace).filter(|_| self.truncated);
        self.bytes.iter().skip(end.map_or(0, |end| end + 1)).copied().collect()
    }
}
