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
use foxwedge_process::{LineBuffer, LineLimits, OutputLine};

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
            let mut splitter = FollowLineSplitter::new();
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

/// Takes the lines that are complete.
#[derive(Debug)]
struct FollowLineSplitter {
    buffer: LineBuffer,
    begun: bool,
}

impl FollowLineSplitter {
    fn new() -> FollowLineSplitter {
        let buffer = LineBuffer::new(LineLimits::new(MAX_LINE_BYTES));
        FollowLineSplitter { buffer, begun: false }
    }

    fn push(&mut self, bytes: &[u8], lines: &mut Vec<FollowInputLine>) {
        self.buffer.push(bytes);
        while let Some(line) = self.buffer.next_line() {
            lines.push(self.input_line(&line));
        }
    }

    /// Ends the last line, which may have no line end.
    fn finish(&mut self, lines: &mut Vec<FollowInputLine>) {
        if let Some(line) = self.buffer.finish() {
            lines.push(self.input_line(&line));
        }
    }

    fn input_line(&mut self, line: &OutputLine) -> FollowInputLine {
        let OutputLine::Whole(line) = line else { return FollowInputLine::TooLong };
        // Invalid UTF-8 is replaced, so that the rest of the line stays readable.
        let text = String::from_utf8_lossy(line);
        FollowInputLine::Text(match std::mem::replace(&mut self.begun, true) {
            true => text.into_owned(),
            false => text.trim_start_matches('\u{feff}').to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(chunks: &[&[u8]]) -> Vec<FollowInputLine> {
        let (mut splitter, mut lines) = (FollowLineSplitter::new(), Vec::new());
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
