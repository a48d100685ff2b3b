//! The raw lines of a session file. The file is read from the start each time, in chunks, and only
//! the lines of the requested page are kept.

use std::{
    fs::File,
    io::{self, BufRead, BufReader},
};

use serde_json::json;

use super::{
    ConsoleSessionFile, LocalSessionError, MAX_FILE_BYTES, RowRange, error_refusal,
    page::ConsolePageRows, unreadable_refusal,
};
use crate::{
    database::{self, SessionPath},
    source::{FileCompression, decompress_within},
};

/// A page of lines, each cut to `max_bytes`. Lines are counted from 1.
pub(super) fn read_lines(
    file: &ConsoleSessionFile,
    page: RowRange,
    max_bytes: usize,
) -> Result<serde_json::Value, LocalSessionError> {
    file.check_size()?;
    if SessionPath::parse(&file.entry.path).is_some() {
        let content = database::read(&file.entry.path).map_err(unreadable_refusal)?;
        return lines_json(&*content, page, max_bytes, &file.version()).map_err(unreadable_refusal);
    }
    let mut reader = BufReader::with_capacity(
        1 << 16,
        File::open(&file.entry.path).map_err(unreadable_refusal)?,
    );
    let head = reader.fill_buf().map_err(unreadable_refusal)?;
    let compressed = FileCompression::of(head) != FileCompression::Plain;
    let version = file.version();
    if !compressed {
        return lines_json(reader, page, max_bytes, &version).map_err(unreadable_refusal);
    }
    let content = std::fs::read(&file.entry.path).map_err(unreadable_refusal)?;
    let plain =
        decompress_within(&content, MAX_FILE_BYTES).map_err(|error| error_refusal(&error))?;
    lines_json(&*plain, page, max_bytes, &version).map_err(unreadable_refusal)
}

fn lines_json(
    mut source: impl BufRead,
    page: RowRange,
    max_bytes: usize,
    version: &str,
) -> io::Result<serde_json::Value> {
    let first = usize::try_from(page.from).unwrap_or(1).max(1);
    let mut rows = ConsolePageRows::new(first);
    let mut number = 0;
    let mut line = FileLineHead::default();
    loop {
        let wanted = number + 1 >= first && !rows.is_full(page);
        if !line.read(&mut source, if wanted { max_bytes } else { 0 })? {
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
    let mut response = rows.into_json(number + 1, version);
    response["total"] = json!(number);
    Ok(response)
}

/// The beginning of a line, and its full length.
#[derive(Default)]
struct FileLineHead {
    head: Vec<u8>,
    bytes: usize,
}

impl FileLineHead {
    /// Reads a line and keeps its beginning. Returns false at the end of the file.
    fn read(&mut self, source: &mut impl BufRead, max_bytes: usize) -> io::Result<bool> {
        self.head.clear();
        self.bytes = 0;
        let mut any = false;
        loop {
            let chunk = match source.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                chunk => chunk?,
            };
            if chunk.is_empty() {
                break;
            }
            any = true;
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let (line, used) = match end {
                Some(end) => (chunk.get(..end).unwrap_or_default(), end + 1),
                None => (chunk, chunk.len()),
            };
            let room = max_bytes.saturating_sub(self.head.len()).min(line.len());
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

    fn page(text: &[u8], from: i64, limit: usize, max_bytes: usize) -> String {
        // A small buffer, so that lines span several chunks.
        let source = BufReader::with_capacity(3, text);
        let response = lines_json(source, RowRange { from, limit }, max_bytes, "v").unwrap();
        let row = |row: &serde_json::Value| {
            format!(
                "{}:{}{}",
                row["line"],
                row["text"],
                if row["cut"].is_null() { "" } else { "…" }
            )
        };
        let rows: Vec<String> = response["data"].as_array().unwrap().iter().map(row).collect();
        format!("{} of {} next {}", rows.join(" "), response["total"], response["next"])
    }

    #[test]
    fn lines_are_paged_and_cut() {
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
