//! Session files as accidents leave them, line by line: torn, swapped, doubled, glued, with zeros,
//! half characters, byte order marks and values of another type.

use crate::random::Random;

/// A copy of a session file with one to four accidents.
pub fn mutated_session(random: &mut Random, bytes: &[u8]) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> =
        bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    for _ in 0..=random.below(4) {
        if lines.is_empty() {
            break;
        }
        let at = random.below(lines.len());
        match random.below(16) {
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
            10 => lines.insert(at, b"\n".to_vec()),
            11 => lines.insert(at, b"{\"type\":\"unheard-of\",\"a\":[1,2]}\n".to_vec()),
            12 => rename_key(random, &mut lines[at]),
            13 => lines.iter_mut().for_each(|line| torn(random, line)),
            14 => {
                let half = lines[at].len() / 2;
                let tail = lines[at].split_off(half);
                lines.insert(at + 1, tail);
            }
            _ => lines.truncate(at + 1),
        }
    }
    lines.concat()
}

/// Cuts a line off; its end stays or goes.
fn torn(random: &mut Random, line: &mut Vec<u8>) {
    let ended = line.ends_with(b"\n") && random.chance(60);
    line.truncate(random.below(line.len() + 1));
    if ended && !line.ends_with(b"\n") {
        line.push(b'\n');
    }
}

/// Puts a value of another type where one stands.
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

/// Puts half a character into a string or a key.
fn half_character(random: &mut Random, line: &mut Vec<u8>) {
    let quotes: Vec<usize> =
        (0..line.len()).filter(|at| line[*at] == b'"').map(|at| at + 1).collect();
    if !quotes.is_empty() {
        let at = *random.pick(&quotes);
        line.splice(at..at, **random.pick(&[b"\\ud83d", b"\\udc00"]));
    }
}

/// Spells a key otherwise.
fn rename_key(random: &mut Random, line: &mut Vec<u8>) {
    let keys = ["uuid", "parentUuid", "type", "message", "payload", "content", "id", "role", "ts"];
    let key = format!("\"{}\":", random.pick(&keys));
    let text = String::from_utf8_lossy(line).into_owned();
    *line = text.replacen(&key, "\"other\":", 1).into_bytes();
}
