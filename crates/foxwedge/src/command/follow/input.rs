//! Reads the output of the agent as lines. All lines that are available come in one batch.

use std::{
    fs::File,
    io::{self, IsTerminal, Read},
    path::Path,
    thread,
};

use anyhow::{Context, bail};
use tokio::sync::mpsc;

use foxwedge_local::outcome::STDIN;
use foxwedge_local::output::{HelpfulError, clean};

/// Size of the read buffer.
const READ_BYTES: usize = 1 << 18;
/// Maximum length of a line, so that its event fits into a store.
pub(super) const MAX_LINE_BYTES: usize = 15 << 20;
/// Number of batches that wait while the store or the output is slow.
const QUEUE_CAPACITY: usize = 4;

/// One line of input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum FollowInputLine {
    /// The text without the line end.
    Text(String),
    /// Longer than [`MAX_LINE_BYTES`].
    TooLong,
}

/// The source of the lines.
pub(super) struct FollowInput {
    /// The file name, or the name for stdin.
    pub(super) display_name: String,
    reader: Box<dyn Read + Send>,
}

impl FollowInput {
    /// Opens the file, or stdin without one.
    pub(super) fn open(file: Option<&Path>) -> anyhow::Result<FollowInput> {
        let path = file.filter(|path| path.as_os_str() != "-");
        let Some(path) = path else {
            if file.is_none() && io::stdin().is_terminal() {
                bail!(HelpfulError::new("nothing to follow").help(
                    "pipe an agent in: `claude -p … --output-format stream-json --verbose | \
                     foxwedge follow`, or name a file"
                ));
            }
            return Ok(FollowInput {
                display_name: STDIN.to_owned(),
                reader: Box::new(io::stdin()),
            });
        };
        let display_name = clean(&path.to_string_lossy());
        let file = File::open(path).with_context(|| format!("{display_name}: cannot be read"))?;
        if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
            bail!(
                HelpfulError::new(format!("{display_name}: this is a folder"))
                    .help("name a file in it")
            );
        }
        Ok(FollowInput { display_name, reader: Box::new(file) })
    }

    /// Reads on a separate thread, which ends with the input or with the program.
    pub(super) fn read_lines(self) -> mpsc::Receiver<io::Result<Vec<FollowInputLine>>> {
        let (sender, receiver) = mpsc::channel(QUEUE_CAPACITY);
        let mut reader = self.reader;
        thread::spawn(move || {
            let mut splitter = FollowLineSplitter::default();
            let mut buffer = vec![0; READ_BYTES];
            loop {
                let mut lines = Vec::new();
                let read = match reader.read(&mut buffer) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    read => read,
                };
                let more = read.as_ref().is_ok_and(|length| *length > 0);
                match read {
                    Ok(0) => splitter.finish(&mut lines),
                    Ok(length) => {
                        splitter.push(buffer.get(..length).unwrap_or_default(), &mut lines)
                    }
                    Err(error) => {
                        splitter.finish(&mut lines);
                        let _ = sender.blocking_send(Ok(lines));
                        let _ = sender.blocking_send(Err(error));
                        return;
                    }
                }
                // The receiver is gone, or the input has ended.
                if sender.blocking_send(Ok(lines)).is_err() || !more {
                    return;
                }
            }
        });
        receiver
    }
}

/// Splits bytes into lines.
#[derive(Default)]
struct FollowLineSplitter {
    /// The incomplete last line.
    head: Vec<u8>,
    /// The current line is too long and is skipped to its end.
    skipping: bool,
    begun: bool,
}

impl FollowLineSplitter {
    fn push(&mut self, bytes: &[u8], lines: &mut Vec<FollowInputLine>) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, after) = rest.split_at(end);
            self.add(line);
            self.finish_line(lines);
            rest = after.get(1..).unwrap_or_default();
        }
        self.add(rest);
    }

    /// Ends the last line, which may have no line end.
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
        // Invalid UTF-8 is replaced, so that the rest of the line stays readable.
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

    fn split(chunks: &[&[u8]]) -> Vec<FollowInputLine> {
        let (mut splitter, mut lines) = (FollowLineSplitter::default(), Vec::new());
        chunks.iter().for_each(|chunk| splitter.push(chunk, &mut lines));
        splitter.finish(&mut lines);
        lines
    }

    fn text(line: &str) -> FollowInputLine {
        FollowInputLine::Text(line.to_owned())
    }

    #[test]
    fn lines_do_not_depend_on_how_bytes_are_chunked() {
        let whole: &[u8] = b"\xef\xbb\xbfone\r\ntwo\n\nthr\xffee";
        let expected = [text("one"), text("two"), text(""), text("thr\u{fffd}ee")];
        assert_eq!(split(&[whole]), expected);
        let bytes: Vec<&[u8]> = whole.chunks(1).collect();
        assert_eq!(split(&bytes), expected);
        assert_eq!(split(&[b"one\n"]), [text("one")]);
        assert_eq!(split(&[]), []);
    }

    #[test]
    fn a_line_that_is_too_long_does_not_affect_other_lines() {
        let long = vec![b'x'; MAX_LINE_BYTES / 2 + 1];
        assert_eq!(
            split(&[b"a\n", &long, &long, b"\nb"]),
            [text("a"), FollowInputLine::TooLong, text("b")]
        );
        assert_eq!(split(&[&long, &long, &long]), [FollowInputLine::TooLong]);
    }
}
