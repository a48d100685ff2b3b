//! What the agent prints, line by line as it comes. Whatever is there at once comes at once.

use std::{
    fs::File,
    io::{self, IsTerminal, Read},
    path::Path,
    thread,
};

use anyhow::{Context, bail};
use tokio::sync::mpsc;

use crate::{
    cli_output::{CliError, clean},
    target::STDIN,
};

/// Bytes that are read at once.
const READ_BYTES: usize = 1 << 18;
/// The longest line that is looked at: an event of it still fits a store.
pub(super) const MAX_LINE_BYTES: usize = 15 << 20;
/// Pieces that wait for whoever is slower than the agent.
const QUEUE_CAPACITY: usize = 4;

/// A line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum FollowInputLine {
    /// As it was printed, without its end.
    Text(String),
    /// Longer than anything that is looked at.
    TooLong,
}

/// Where lines come from.
pub(super) struct FollowInput {
    /// As it is shown.
    pub(super) display_name: String,
    reader: Box<dyn Read + Send>,
}

impl FollowInput {
    /// Opens what was named; stdin, if nothing was.
    pub(super) fn open(file: Option<&Path>) -> anyhow::Result<FollowInput> {
        let path = file.filter(|path| path.as_os_str() != "-");
        let Some(path) = path else {
            if file.is_none() && io::stdin().is_terminal() {
                bail!(CliError::new("there is nothing to follow").help(
                    "pipe an agent in: `claude -p … --output-format stream-json --verbose | \
                     foxwedge follow`, or name a file"
                ));
            }
            return Ok(FollowInput {
                display_name: STDIN.to_owned(),
                reader: Box::new(io::stdin()),
            });
        };
        let shown = clean(&path.to_string_lossy());
        let file = File::open(path).with_context(|| format!("{shown}: cannot be read"))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            bail!(CliError::new(format!("{shown}: this is a folder")).help("name a file in it"));
        }
        Ok(FollowInput { display_name: shown, reader: Box::new(file) })
    }

    /// Reads on a thread of its own, which ends with the input or with the program.
    pub(super) fn read_lines(self) -> mpsc::Receiver<io::Result<Vec<FollowInputLine>>> {
        let (sender, receiver) = mpsc::channel(QUEUE_CAPACITY);
        let mut reader = self.reader;
        thread::spawn(move || {
            let mut cutter = FollowLineSplitter::default();
            let mut piece = vec![0; READ_BYTES];
            loop {
                let mut lines = Vec::new();
                let read = match reader.read(&mut piece) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    read => read,
                };
                let more = read.as_ref().is_ok_and(|length| *length > 0);
                match read {
                    Ok(0) => cutter.finish(&mut lines),
                    Ok(length) => cutter.push(piece.get(..length).unwrap_or_default(), &mut lines),
                    Err(error) => {
                        cutter.finish(&mut lines);
                        let _ = sender.blocking_send(Ok(lines));
                        let _ = sender.blocking_send(Err(error));
                        return;
                    }
                }
                // Nobody listens any more.
                if sender.blocking_send(Ok(lines)).is_err() || !more {
                    return;
                }
            }
        });
        receiver
    }
}

/// Cuts bytes into lines.
#[derive(Default)]
struct FollowLineSplitter {
    /// The beginning of a line whose end has not come.
    head: Vec<u8>,
    /// It is too long already, and is thrown away up to its end.
    skipping: bool,
    begun: bool,
}

impl FollowLineSplitter {
    fn push(&mut self, bytes: &[u8], lines: &mut Vec<FollowInputLine>) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, behind) = rest.split_at(end);
            self.add(line);
            self.finish_line(lines);
            rest = behind.get(1..).unwrap_or_default();
        }
        self.add(rest);
    }

    /// The last line may lack its end.
    fn finish(&mut self, lines: &mut Vec<FollowInputLine>) {
        if !self.head.is_empty() || self.skipping {
            self.finish_line(lines);
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        if self.skipping || self.head.len() + bytes.len() > MAX_LINE_BYTES {
            self.skipping = true;
            self.head = Vec::new();
        } else {
            self.head.extend_from_slice(bytes);
        }
    }

    fn finish_line(&mut self, lines: &mut Vec<FollowInputLine>) {
        let head = std::mem::take(&mut self.head);
        if std::mem::take(&mut self.skipping) {
            lines.push(FollowInputLine::TooLong);
            return;
        }
        // One bad byte does not make the rest of a line unreadable.
        let text = String::from_utf8(head)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        let text = text.strip_suffix('\r').unwrap_or(&text);
        let text = match std::mem::replace(&mut self.begun, true) {
            true => text,
            false => text.trim_start_matches('\u{feff}'),
        };
        lines.push(FollowInputLine::Text(text.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(pieces: &[&[u8]]) -> Vec<FollowInputLine> {
        let (mut cutter, mut lines) = (FollowLineSplitter::default(), Vec::new());
        pieces.iter().for_each(|piece| cutter.push(piece, &mut lines));
        cutter.finish(&mut lines);
        lines
    }

    fn text(line: &str) -> FollowInputLine {
        FollowInputLine::Text(line.to_owned())
    }

    #[test]
    fn lines_are_the_same_however_they_come() {
        let whole: &[u8] = b"\xef\xbb\xbfone\r\ntwo\n\nthr\xffee";
        let expected = [text("one"), text("two"), text(""), text("thr\u{fffd}ee")];
        assert_eq!(cut(&[whole]), expected);
        let bytes: Vec<&[u8]> = whole.chunks(1).collect();
        assert_eq!(cut(&bytes), expected);
        assert_eq!(cut(&[b"one\n"]), [text("one")]);
        assert_eq!(cut(&[]), []);
    }

    #[test]
    fn a_line_that_is_too_long_takes_no_other_with_it() {
        let long = vec![b'x'; MAX_LINE_BYTES / 2 + 1];
        assert_eq!(
            cut(&[b"a\n", &long, &long, b"\nb"]),
            [text("a"), FollowInputLine::TooLong, text("b")]
        );
        assert_eq!(cut(&[&long, &long, &long]), [FollowInputLine::TooLong]);
    }
}
