//! The lines of a session file, as they stand there. A file is read from its beginning each time,
//! piece by piece, and no more of it is kept than is shown.

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
};

use foxwedge_gateway::console::{LocalSessionError, RowRange};
use serde_json::json;

use super::{
    ConsoleSessionFile, MAX_FILE_BYTES, error_refusal, open_session::ConsolePageRows,
    unreadable_refusal,
};
use crate::source::{FileCompression, decompress_within};

/// So many lines from one on, counted from 1.
pub(super) fn read_lines(
    place: &ConsoleSessionFile,
    page: RowRange,
    most: usize,
) -> Result<serde_json::Value, LocalSessionError> {
    place.check_size()?;
    let mut file = BufReader::with_capacity(
        1 << 16,
        File::open(&place.entry.path).map_err(unreadable_refusal)?,
    );
    let packed =
        FileCompression::of(file.fill_buf().map_err(unreadable_refusal)?) != FileCompression::Plain;
    let version = place.version();
    if !packed {
        return lines_json(file, page, most, &version).map_err(unreadable_refusal);
    }
    let content = std::fs::read(&place.entry.path).map_err(unreadable_refusal)?;
    let plain =
        decompress_within(&content, MAX_FILE_BYTES).map_err(|error| error_refusal(&error))?;
    lines_json(&*plain, page, most, &version).map_err(unreadable_refusal)
}

fn lines_json(
    mut source: impl BufRead,
    page: RowRange,
    most: usize,
    version: &str,
) -> io::Result<serde_json::Value> {
    let first = usize::try_from(page.from).unwrap_or(1).max(1);
    let mut rows = ConsolePageRows::new(first);
    let mut number = 0;
    let mut line = FileLineHead::default();
    loop {
        let wanted = number + 1 >= first && !rows.is_full(page);
        if !line.read(&mut source, if wanted { most } else { 0 })? {
            break;
        }
        number += 1;
        if wanted {
            let text = String::from_utf8_lossy(&line.head);
            let cut = (line.bytes > line.head.len()).then_some(line.bytes);
            rows.push(json!({
                "line": number,
                "bytes": line.bytes,
                "text": text,
                "cut": cut,
            }));
            rows.next = number + 1;
        }
    }
    // Lines are counted from 1.
    let mut told = rows.into_json(number + 1, version);
    told["total"] = json!(number);
    Ok(told)
}

/// The beginning of a line, and how long it is.
#[derive(Default)]
struct FileLineHead {
    head: Vec<u8>,
    bytes: usize,
}

impl FileLineHead {
    /// Reads one and keeps its beginning; false at the end.
    fn read(&mut self, source: &mut impl BufRead, most: usize) -> io::Result<bool> {
        self.head.clear();
        self.bytes = 0;
        let mut any = false;
        loop {
            let piece = match source.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                piece => piece?,
            };
            if piece.is_empty() {
                break;
            }
            any = true;
            let end = piece.iter().position(|byte| *byte == b'\n');
            let (line, used) = match end {
                Some(end) => (piece.get(..end).unwrap_or_default(), end + 1),
                None => (piece, piece.len()),
            };
            let room = most.saturating_sub(self.head.len()).min(line.len());
            self.head.extend_from_slice(line.get(..room).unwrap_or_default());
            self.bytes += line.len();
            source.consume(used);
            if end.is_some() {
                break;
            }
        }
        Ok(any)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod tests {
    use super::*;

    fn page(text: &[u8], from: i64, limit: usize, most: usize) -> String {
        // A small buffer: lines lie across its pieces.
        let source = BufReader::with_capacity(3, text);
        let told = lines_json(source, RowRange { from, limit }, most, "v").unwrap();
        let row = |row: &serde_json::Value| {
            format!(
                "{}:{}{}",
                row["line"],
                row["text"],
                if row["cut"].is_null() { "" } else { "…" }
            )
        };
        let rows: Vec<String> = told["data"].as_array().unwrap().iter().map(row).collect();
        format!("{} of {} next {}", rows.join(" "), told["total"], told["next"])
    }

    #[test]
    fn lines_are_told_page_by_page_and_cut() {
        let text = b"one\ntwo and more\n\nfour";
        assert_eq!(page(text, 1, 2, 99), r#"1:"one" 2:"two and more" of 4 next 3"#);
        assert_eq!(page(text, 3, 9, 99), r#"3:"" 4:"four" of 4 next null"#);
        assert_eq!(page(text, 2, 1, 3), r#"2:"two"… of 4 next 3"#);
        assert_eq!(page(text, 9, 1, 3), " of 4 next null");
        assert_eq!(page(text, -5, 1, 3), r#"1:"one" of 4 next 2"#);
        assert_eq!(page(b"", 1, 1, 3), " of 0 next null");
        assert_eq!(page(b"\xff\xfe\n", 1, 1, 9), "1:\"\u{fffd}\u{fffd}\" of 1 next null");
    }
}
