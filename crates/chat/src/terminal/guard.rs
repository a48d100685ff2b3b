//! Switches the terminal to raw mode and restores it at the end, after an error and after a panic.

use std::{
    io::{self, Write},
    panic,
    sync::{
        Once,
        atomic::{AtomicBool, Ordering},
    },
};

use crossterm::terminal::{disable_raw_mode, enable_raw_mode};

/// Whether the terminal is in raw mode.
static TERMINAL_TAKEN: AtomicBool = AtomicBool::new(false);
static PANIC_HOOK: Once = Once::new();

/// Keeps the terminal in raw mode until it is dropped.
pub(super) struct TerminalGuard(());

impl TerminalGuard {
    /// Enters raw mode.
    pub(super) fn take() -> io::Result<TerminalGuard> {
        PANIC_HOOK.call_once(|| {
            let previous_hook = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                restore_terminal();
                previous_hook(info);
            }));
        });
        let guard = TerminalGuard(());
        enter_raw_mode()?;
        Ok(guard)
    }

    /// Restores the terminal for other programs, for a while.
    pub(super) fn release(&self) {
        restore_terminal();
    }

    /// Enters raw mode again.
    pub(super) fn retake(&self) -> io::Result<()> {
        enter_raw_mode()
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        restore_terminal();
    }
}

fn enter_raw_mode() -> io::Result<()> {
    enable_raw_mode()?;
    TERMINAL_TAKEN.store(true, Ordering::SeqCst);
    // Bracketed paste, which distinguishes pasted from typed text.
    write_terminal("\u{1b}[?2004h")
}

fn restore_terminal() {
    if TERMINAL_TAKEN.swap(false, Ordering::SeqCst) {
        let _ = write_terminal("\u{1b}[?2026l\u{1b}[?2004l\u{1b}[?25h\u{1b}[0m");
        let _ = disable_raw_mode();
    }
}

/// Writes to the terminal and flushes.
pub(super) fn write_terminal(bytes: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes.as_bytes())?;
    out.flush()
}
