//! Lines in a hash chain: each ends with a link over all lines before it.

use std::io::{self, BufRead, Read, Write};

use super::FileDamage;
use crate::{chain::ROOT, limits};

/// The longest line: a record in which every byte is escaped, plus its other fields.
const LINE_BYTES: usize = 6 * limits::RECORD_BYTES + (1 << 20);

/// The text around a link, and the length of all of it.
const BEFORE: &[u8] = b",\"link\":\"";
const AFTER: &[u8] = b"\"}";
const TAIL: usize = BEFORE.len() + 32 + AFTER.len();

/// Writes linked lines.
pub(super) struct LinkedLineWriter<W> {
    out: W,
    link: [u8; 16],
}

impl<W: Write> LinkedLineWriter<W> {
    pub(super) fn new(out: W) -> LinkedLineWriter<W> {
        LinkedLineWriter { out, link: ROOT }
    }

    /// Writes an object whose last brace is missing.
    pub(super) fn write(&mut self, open: &str) -> io::Result<()> {
        self.link = next_link(&self.link, open.as_bytes());
        self.out.write_all(open.as_bytes())?;
        self.out.write_all(BEFORE)?;
        self.out.write_all(hex(&self.link).as_bytes())?;
        self.out.write_all(AFTER)?;
        self.out.write_all(b"\n")
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Reads linked lines as long as they are valid.
pub(super) struct LinkedLineReader<R> {
    input: R,
    link: [u8; 16],
    line: u64,
    offset: u64,
    buffer: Vec<u8>,
}

impl<R: BufRead> LinkedLineReader<R> {
    pub(super) fn new(input: R) -> LinkedLineReader<R> {
        LinkedLineReader { input, link: ROOT, line: 0, offset: 0, buffer: Vec::new() }
    }

    /// Returns the next line, verified, without its link and its last brace; `None` at the end of
    /// the file. Fails if the disk cannot be read. An invalid line is damage.
    pub(super) fn next(&mut self) -> io::Result<Result<Option<String>, FileDamage>> {
        self.offset += self.buffer.len() as u64;
        self.line += 1;
        self.buffer.clear();
        let max = LINE_BYTES as u64 + 1;
        (&mut self.input).take(max).read_until(b'\n', &mut self.buffer)?;
        if self.buffer.is_empty() {
            return Ok(Ok(None));
        }
        Ok(match self.verify_line() {
            Ok((open, link)) => {
                self.link = link;
                Ok(Some(open))
            }
            Err(what) => Err(self.damage(what)),
        })
    }

    /// Damage in the last line that was read.
    pub(super) fn damage(&self, what: impl Into<String>) -> FileDamage {
        FileDamage { line: self.line, offset: self.offset, what: what.into() }
    }

    fn verify_line(&self) -> Result<(String, [u8; 16]), &'static str> {
        let line = match self.buffer.strip_suffix(b"\n") {
            Some(line) => line,
            None if self.buffer.len() > LINE_BYTES => return Err("the line is too long"),
            None => return Err("the line is incomplete"),
        };
        let split = line.len().checked_sub(TAIL).ok_or("the line has no hash")?;
        let (open, tail) = line.split_at(split);
        let found = tail.strip_prefix(BEFORE).and_then(|tail| tail.strip_suffix(AFTER));
        let found = found.ok_or("the line has no hash")?;
        let link = next_link(&self.link, open);
        if found != hex(&link).as_bytes() {
            return Err("the hash of the line does not match");
        }
        let open = std::str::from_utf8(open).map_err(|_| "the line is not valid UTF-8")?;
        Ok((open.to_owned(), link))
    }
}

/// Encodes a link as text.
pub(super) fn hex(link: &[u8; 16]) -> String {
    link.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Parses a link.
pub(super) fn unhex(text: &str) -> Option<[u8; 16]> {
    let mut link = ROOT;
    if text.len() != 32 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (index, byte) in link.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(link)
}

fn next_link(before: &[u8; 16], line: &[u8]) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(before).update(line);
    let mut link = ROOT;
    hasher.finalize_xof().fill(&mut link);
    link
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: [&str; 5] =
        ["{\"foxwedge\":1", "{\"a\":\"é\\n\"", "{", "", "{\"link\":\"x\",\"link\":\"y\""];

    fn file() -> Vec<u8> {
        let mut writer = LinkedLineWriter::new(Vec::new());
        for line in LINES {
            writer.write(line).expect("written");
        }
        writer.out
    }

    /// Returns the valid lines, and the damage after them.
    fn read(bytes: &[u8]) -> (Vec<String>, Option<FileDamage>) {
        let mut reader = LinkedLineReader::new(bytes);
        let mut lines = Vec::new();
        loop {
            match reader.next().expect("no trouble with the disk") {
                Ok(Some(line)) => lines.push(line),
                Ok(None) => return (lines, None),
                Err(damage) => return (lines, Some(damage)),
            }
        }
    }

    /// Where each line starts, and where the file ends.
    fn starts(bytes: &[u8]) -> Vec<usize> {
        let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        [0].into_iter().chain(ends.map(|(position, _)| position + 1)).collect()
    }

    #[test]
    fn written_lines_are_read_back() {
        assert_eq!(read(&file()), (LINES.map(str::to_owned).to_vec(), None));
        assert_eq!(read(b""), (Vec::new(), None));
    }

    #[test]
    fn a_file_cut_at_any_byte_is_good_up_to_the_last_whole_line() {
        let bytes = file();
        let starts = starts(&bytes);
        for cut in 0..bytes.len() {
            let (lines, damage) = read(&bytes[..cut]);
            let complete = starts.iter().filter(|start| **start <= cut).count() - 1;
            assert_eq!(lines, LINES[..complete], "cut at {cut}");
            let position = damage.map(|damage| (damage.line, damage.offset));
            let torn = (complete as u64 + 1, starts[complete] as u64);
            assert_eq!(position, (starts[complete] != cut).then_some(torn), "cut at {cut}");
        }
    }

    #[test]
    fn any_flipped_bit_is_found_in_its_line() {
        let bytes = file();
        let starts = starts(&bytes);
        for position in 0..bytes.len() {
            for bit in 0..8 {
                let mut flipped = bytes.clone();
                flipped[position] ^= 1 << bit;
                let (lines, damage) = read(&flipped);
                let line = starts.iter().filter(|start| **start <= position).count();
                assert_eq!(lines, LINES[..line - 1], "bit {bit} of byte {position}");
                assert_eq!(damage.map(|damage| damage.line), Some(line as u64));
            }
        }
    }

    #[test]
    fn endless_line_is_not_buffered() {
        struct Endless;
        impl Read for Endless {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                buffer.fill(b'x');
                Ok(buffer.len())
            }
        }
        let mut reader = LinkedLineReader::new(io::BufReader::with_capacity(1 << 20, Endless));
        let damage = reader.next().expect("no trouble").expect_err("damage");
        assert_eq!((damage.line, damage.what.as_str()), (1, "the line is too long"));
    }

    #[test]
    fn links_are_encoded_in_hex() {
        let link = *b"\x00\x01\x0f\x10\x7f\x80\xff\xa5abcdefgh";
        assert_eq!(unhex(&hex(&link)), Some(link));
        for text in ["", "0", &"0".repeat(31), &"0".repeat(33), &"g".repeat(32), &"é".repeat(16)] {
            assert_eq!(unhex(text), None, "{text}");
        }
        assert_eq!(unhex("+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1"), None);
    }
}
