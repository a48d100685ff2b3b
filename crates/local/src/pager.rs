//! Long output for people goes through a pager, as in other command-line tools.

use std::{
    env,
    io::{self, IsTerminal, Write},
    process::{Child, Command, Stdio},
};

use anstream::{AutoStream, ColorChoice};
use anyhow::Context;

use crate::output::{ColorStripper, write_drawn, write_stdout_styled};

/// Streams text to `FOXWEDGE_PAGER`, `PAGER` or `less` if stdout is a terminal, otherwise to stdout.
/// `cat` or an empty variable turns paging off, and so does a pager that cannot be started.
pub fn write_paged(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    let stdout = io::stdout();
    let pager = if stdout.is_terminal() { start_pager() } else { None };
    let Some((mut child, pipe)) = pager else { return write_stdout_styled(write) };
    let color = AutoStream::choice(&stdout);
    let written = write_drawn(pipe, |out| {
        if color == ColorChoice::Never { write(&mut ColorStripper::new(out)) } else { write(out) }
    });
    // The pipe is closed now, and the reader may leave the pager whenever they like.
    let ended = child.wait();
    written.and(ended.map(|_| ())).context("the pager failed")
}

fn start_pager() -> Option<(Child, impl Write)> {
    let command = pager_command(|name| env::var(name).ok())?;
    let mut words = command.split_whitespace();
    let mut command = Command::new(words.next()?);
    command.args(words).stdin(Stdio::piped());
    if env::var_os("LESS").is_none() {
        // Ends by itself if all fits on one screen, shows colors, and leaves the text behind.
        command.env("LESS", "FRX");
    }
    if env::var_os("LESSCHARSET").is_none() {
        // Otherwise `less` prints the bytes of all but English text where no locale is set.
        command.env("LESSCHARSET", "utf-8");
    }
    let mut child = command.spawn().ok()?;
    let pipe = child.stdin.take()?;
    Some((child, pipe))
}

/// The pager to start, with its arguments.
fn pager_command(variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let chosen = variable("FOXWEDGE_PAGER").or_else(|| variable("PAGER"));
    let command = chosen.unwrap_or_else(|| "less".to_owned());
    Some(command.trim().to_owned()).filter(|command| !matches!(command.as_str(), "" | "cat"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_choose_the_pager() {
        let of = |own: Option<&str>, common: Option<&str>| {
            pager_command(|name| match name {
                "FOXWEDGE_PAGER" => own.map(str::to_owned),
                _ => common.map(str::to_owned),
            })
        };
        assert_eq!(of(None, None).as_deref(), Some("less"));
        assert_eq!(of(None, Some("more -d")).as_deref(), Some("more -d"));
        assert_eq!(of(Some("most"), Some("more")).as_deref(), Some("most"));
        assert_eq!(of(Some(""), Some("more")), None);
        assert_eq!(of(None, Some("cat")), None);
    }
}
