//! Reading stdin: prompts, one per line, or a text that belongs to one prompt.

use std::{
    io::{self, BufRead, Read},
    thread,
};

use tokio::sync::{mpsc, oneshot};

use foxwedge_local::output::HelpfulError;

/// Size limit of a prompt, and of stdin that is appended to one.
pub(crate) const MAX_PROMPT_BYTES: usize = 10 << 20;

/// Reads prompts, one per line, on a separate thread that ends with the program.
pub(super) fn read_lines() -> mpsc::Receiver<Result<String, HelpfulError>> {
    let (sender, receiver) = mpsc::channel(1);
    thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        loop {
            let line = match read_line(&mut stdin) {
                Ok(Some(line)) => Ok(line),
                Ok(None) => return,
                Err(error) => Err(error),
            };
            let last = line.is_err();
            if sender.blocking_send(line).is_err() || last {
                return;
            }
        }
    });
    receiver
}

/// Reads all of stdin on a separate thread that ends with the program.
pub(super) fn read_whole() -> oneshot::Receiver<Result<String, HelpfulError>> {
    let (sender, receiver) = oneshot::channel();
    thread::spawn(move || {
        let _ = sender.send(read_text(io::stdin().lock()));
    });
    receiver
}

/// The next line without its line break; `None` at the end of input.
fn read_line(reader: &mut impl BufRead) -> Result<Option<String>, HelpfulError> {
    let mut bytes = Vec::new();
    let read = reader
        .take(MAX_PROMPT_BYTES as u64 + 1)
        .read_until(b'\n', &mut bytes)
        .map_err(unreadable_error)?;
    if read == 0 {
        return Ok(None);
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    if bytes.len() > MAX_PROMPT_BYTES {
        return Err(too_large_error("a line of stdin"));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| not_utf8_error())
}

fn read_text(reader: impl Read) -> Result<String, HelpfulError> {
    let mut bytes = Vec::new();
    reader.take(MAX_PROMPT_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(unreadable_error)?;
    if bytes.len() > MAX_PROMPT_BYTES {
        return Err(too_large_error("stdin"));
    }
    String::from_utf8(bytes).map_err(|_| not_utf8_error())
}

fn unreadable_error(error: io::Error) -> HelpfulError {
    HelpfulError::new(format!("stdin cannot be read: {error}"))
}

fn too_large_error(what: &str) -> HelpfulError {
    HelpfulError::new(format!("{what} is more than 10 MB"))
        .help("put it into a file and let the model read what it needs")
}

fn not_utf8_error() -> HelpfulError {
    HelpfulError::new("stdin is not UTF-8 text")
        .help("put it into a file and describe it in the prompt")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_and_text() {
        let mut reader: &[u8] = b"one\n\ntwo\r\nlast";
        let mut lines = Vec::new();
        while let Ok(Some(line)) = read_line(&mut reader) {
            lines.push(line);
        }
        assert_eq!(lines, ["one", "", "two\r", "last"]);
        let read = |bytes: &[u8]| read_line(&mut &bytes[..]).map_err(|error| error.to_string());
        assert_eq!(read(b""), Ok(None));
        assert!(read(b"\xff\n").is_err_and(|error| error.contains("not UTF-8")));
        let long = vec![b'x'; MAX_PROMPT_BYTES + 1];
        assert!(read(&long).is_err_and(|error| error.contains("10 MB")));
        assert!(read_text(&long[..]).is_err() && read_text(&long[1..]).is_ok());
    }
}
