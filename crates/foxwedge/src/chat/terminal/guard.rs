//! The terminal is taken, and given back as it was: at the end, after an error and after a panic.

use std::{
    io::{self, Write},
    panic,
    sync::{
        Once,
        atomic::{AtomicBool, Ordering},
    },
};

use crossterm::terminal::{disable_raw_mode, enable_raw_mode};

/// Whether the terminal is ours.
static TAKEN: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// The terminal is ours for as long as this lives.
pub(super) struct Guard(());

impl Guard {
    /// Takes it.
    pub(super) fn take() -> io::Result<Guard> {
        HOOK.call_once(|| {
            let before = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                give_back();
                before(info);
            }));
        });
        let guard = Guard(());
        enter()?;
        Ok(guard)
    }

    /// Gives it back for a while: somebody else uses it.
    pub(super) fn lend(&self) {
        give_back();
    }

    /// Takes it again.
    pub(super) fn retake(&self) -> io::Result<()> {
        enter()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        give_back();
    }
}

fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    TAKEN.store(true, Ordering::SeqCst);
    // Pasted text is told apart from typed text.
    write("\u{1b}[?2004h")
}

fn give_back() {
    if TAKEN.swap(false, Ordering::SeqCst) {
        let _ = write("\u{1b}[?2026l\u{1b}[?2004l\u{1b}[?25h\u{1b}[0m");
        let _ = disable_raw_mode();
    }
}

/// Writes bytes to the terminal, now.
pub(super) fn write(bytes: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes.as_bytes())?;
    out.flush()
}
