//! Damages session files line by line: truncated, swapped, repeated and joined lines, zeros, lone
//! surrogates, byte order marks, values of another type, and lines of other files.

mod records;
mod rows;

pub use rows::mutated_rows;

use crate::random::Random;

/// A copy of a session file with some damage to its records, its lines, or both. `stranger` is
/// another file, some of whose lines may be inserted.
pub fn mutated_session(random: &mut Random, bytes: &[u8], stranger: &[u8]) -> Vec<u8> {
    match random.below(3) {
        0 => damaged(random, bytes, stranger),
        1 => records::changed(random, bytes),
        _ => {
            let changed = records::changed(random, bytes);
            damaged(random, &changed, stranger)
        }
    }
}

/// A copy with one to four kinds of damage to its lines.
fn damaged(random: &mut Random, bytes: &[u8], stranger: &[u8]) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> =
        bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    for _ in 0..=random.below(4) {
        if lines.is_empty() {
            break;
        }
        let at = random.below(lines.len());
        match random.below(23) {
            0 => torn(random, &mut lines[at]),
            1 => {
                let other = random.below(lines.len());
                lines.swap(at, other);
            }
            2 => {
                let copy = lines[at].clone();
                let to = random.below(lines.len() + 1);
                lines.insert(to, copy);
            }
            3 => drop(lines.remove(at)),
            4 => {
                let place = random.below(lines[at].len() + 1);
                let zeros = vec![0; 1 + random.below(40)];
                lines[at].splice(place..place, zeros);
            }
            5 => lines[at].retain(|byte| *byte != b'\n'),
            6 => swap_type(random, &mut lines[at]),
            7 => half_character(random, &mut lines[at]),
            8 => drop(lines[0].splice(0..0, *b"\xef\xbb\xbf")),
            9 => {
                let place = random.below(lines[at].len() + 1);
                lines[at].insert(place, *random.pick(&[0xff, 0xc3, 0x80, b'"', b'{', b'}', b'\\']));
            }
            10 => {
                let lone = *random.pick(&["\n", " \t\n", "null\n", "7\n", "[]\n", "\"x\"\n"]);
                lines.insert(at, lone.as_bytes().to_vec());
            }
            11 => lines.insert(at, b"{\"type\":\"unheard-of\",\"a\":[1,2]}\n".to_vec()),
            12 => rename_key(random, &mut lines[at]),
            13 => lines.iter_mut().for_each(|line| torn(random, line)),
            14 => {
                let half = lines[at].len() / 2;
                let tail = lines[at].split_off(half);
                lines.insert(at + 1, tail);
            }
            15 => lines.truncate(at + 1),
            16 => {
                // A line of another session or agent.
                let others: Vec<&[u8]> = stranger.split_inclusive(|byte| *byte == b'\n').collect();
                let from = random.below(others.len());
                let some = others.into_iter().skip(from).take(1 + random.below(3));
                lines.splice(at..at, some.map(<[u8]>::to_vec));
            }
            17 => {
                let crlf = |line: &mut Vec<u8>| {
                    if line.ends_with(b"\n") && !line.ends_with(b"\r\n") {
                        line.insert(line.len() - 1, b'\r');
                    }
                };
                let count = if random.chance(50) { lines.len() } else { 1 };
                lines.iter_mut().skip(at).take(count).for_each(crlf);
            }
            18 => lines[at].iter_mut().for_each(|byte| *byte = b' '),
            19 => half_anywhere(random, &mut lines[at]),
            20 => {
                // The end of a longer file that was overwritten.
                let tail = lines[at].clone();
                let from = random.below(tail.len() + 1);
                lines.push(tail.get(from..).unwrap_or(&[]).to_vec());
            }
            21 => {
                let to = random.below(lines.len());
                let line = lines.remove(at);
                lines.insert(to, line);
            }
            _ => {
                let length: usize = lines.iter().map(Vec::len).sum();
                let mut bytes = lines.concat();
                bytes.truncate(random.below(length + 1));
                let cut = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec);
                lines = cut.collect();
            }
        }
    }
    lines.concat()
}

/// Inserts a lone surrogate anywhere into a line, also after a backslash or between two records.
fn half_anywhere(random: &mut Random, line: &mut Vec<u8>) {
    let at = random.below(line.len() + 1);
    line.splice(at..at, **random.pick(&[b"\\ud83d", b"\\uDE00", b"\\udfff"]));
}

/// Truncates a line, with or without its line end.
fn torn(random: &mut Random, line: &mut Vec<u8>) {
    let ended = line.ends_with(b"\n") && random.chance(60);
    line.truncate(random.below(line.len() + 1));
    if ended && !line.ends_with(b"\n") {
        line.push(b'\n');
    }
}

/// Replaces a value by one of another type.
fn swap_type(random: &mut Random, line: &mut Vec<u8>) {
    let text = String::from_utf8_lossy(line).into_owned();
    let places: Vec<usize> = text.match_indices("\":").map(|(at, _)| at + 2).collect();
    if places.is_empty() {
        return;
    }
    let at = *random.pick(&places);
    let rest = text.get(at..).unwrap_or("");
    let end = rest.find([',', '}', ']']).unwrap_or(rest.len());
    let value = *random.pick(&["null", "7", "\"x\"", "[]", "{}", "true", "1e400"]);
    *line = format!("{}{value}{}", &text[..at], &rest[end..]).into_bytes();
}

/// Inserts a lone surrogate into a string or a key.
fn half_character(random: &mut Random, line: &mut Vec<u8>) {
    let quotes: Vec<usize> =
        (0..line.len()).filter(|at| line[*at] == b'"').map(|at| at + 1).collect();
    if !quotes.is_empty() {
        let at = *random.pick(&quotes);
        line.splice(at..at, **random.pick(&[b"\\ud83d", b"\\udc00"]));
    }
}

/// Renames a key.
fn rename_key(random: &mut Random, line: &mut Vec<u8>) {
    let keys = ["uuid", "parentUuid", "type", "message", "payload", "content", "id", "role", "ts"];
    let key = format!("\"{}\":", random.pick(&keys));
    let text = String::from_utf8_lossy(line).into_owned();
    *line = text.replacen(&key, "\"other\":", 1).into_bytes();
}
