//! Damages documents: bytes in, bytes out, one seed.
//!
//! It knows no format. A mutation works on bytes, on lines, or on JSON values. The scanner that
//! finds values accepts any input, so that a document can be damaged repeatedly.

use std::ops::Range;

use crate::random::Random;

mod values;

use values::{ValueLocation, spots};

/// Damages a document one to four times. The same bytes and seed give the same result.
pub fn mutate(bytes: &[u8], seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed ^ 0x00d0_c0de_0000_7a11);
    let mut damaged = bytes.to_vec();
    for _ in 0..1 + random.below(4) {
        once(&mut random, &mut damaged);
    }
    damaged
}

/// One kind of damage.
type ByteMutation = fn(&mut Random, &mut Vec<u8>);

/// Values are damaged more often than bytes, because most documents with damaged bytes cannot be
/// read.
fn once(random: &mut Random, bytes: &mut Vec<u8>) {
    let kinds: &[ByteMutation] = match random.below(10) {
        0..6 => VALUES,
        6..8 => LINES,
        _ => BYTES,
    };
    random.pick(kinds)(random, bytes);
}

const BYTES: &[ByteMutation] = &[
    flip_bit,
    set_byte,
    cut_end,
    cut_start,
    remove_range,
    repeat_range,
    insert_noise,
    byte_order_marks,
    nul_bytes,
    not_text,
    lone_surrogate,
    white_space,
    windows_lines,
];

const LINES: &[ByteMutation] = &[remove_line, repeat_line, swap_lines, tear_line, empty_line];

const VALUES: &[ByteMutation] = &[
    replace_value,
    replace_value,
    replace_value,
    remove_member,
    remove_member,
    repeat_member,
    duplicate_key,
    swap_values,
    copy_value,
    wrap_value,
    rename_key,
];

fn range(random: &mut Random, length: usize, max: usize) -> Range<usize> {
    let start = random.below(length);
    let size = 1 + random.below(max);
    start..length.min(start + size)
}

#[expect(clippy::ptr_arg, reason = "all kinds of damage have one signature")]
fn flip_bit(random: &mut Random, bytes: &mut Vec<u8>) {
    let at = random.below(bytes.len());
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << random.below(8);
    }
}

#[expect(clippy::ptr_arg, reason = "all kinds of damage have one signature")]
fn set_byte(random: &mut Random, bytes: &mut Vec<u8>) {
    let at = random.below(bytes.len());
    let new = *random.pick(b"\"{}[]:,\\0x\n ");
    if let Some(byte) = bytes.get_mut(at) {
        *byte = new;
    }
}

fn cut_end(random: &mut Random, bytes: &mut Vec<u8>) {
    let at = random.below(bytes.len() + 1);
    bytes.truncate(at);
}

fn cut_start(random: &mut Random, bytes: &mut Vec<u8>) {
    let at = random.below(bytes.len().min(64) + 1);
    bytes.drain(..at);
}

fn remove_range(random: &mut Random, bytes: &mut Vec<u8>) {
    let removed = range(random, bytes.len(), 48);
    bytes.drain(removed);
}

fn repeat_range(random: &mut Random, bytes: &mut Vec<u8>) {
    let again = range(random, bytes.len(), 96);
    let copy = bytes[again.clone()].to_vec();
    bytes.splice(again.end..again.end, copy);
}

fn insert(random: &mut Random, bytes: &mut Vec<u8>, what: &[u8]) {
    let at = random.below(bytes.len() + 1);
    bytes.splice(at..at, what.iter().copied());
}

fn insert_noise(random: &mut Random, bytes: &mut Vec<u8>) {
    let noise: Vec<u8> = (0..1 + random.below(12)).map(|_| random.bits() as u8).collect();
    insert(random, bytes, &noise);
}

fn byte_order_marks(random: &mut Random, bytes: &mut Vec<u8>) {
    for _ in 0..1 + random.below(3) {
        bytes.splice(0..0, *b"\xef\xbb\xbf");
    }
}

fn nul_bytes(random: &mut Random, bytes: &mut Vec<u8>) {
    let count = 1 + random.below(40);
    let at = if random.chance(50) { bytes.len() } else { random.below(bytes.len() + 1) };
    bytes.splice(at..at, std::iter::repeat_n(0, count));
}

fn not_text(random: &mut Random, bytes: &mut Vec<u8>) {
    let odd: &[u8] = random.pick::<&[u8]>(&[b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf0\x9f\x98"]);
    insert(random, bytes, odd);
}

/// Inserts a lone surrogate, into a string if there is one.
fn lone_surrogate(random: &mut Random, bytes: &mut Vec<u8>) {
    let escape: &[u8] = random.pick::<&[u8]>(&[b"\\ud83d", b"\\ude00", b"\\ud83d\\ud83d"]);
    let strings: Vec<Range<usize>> = spots(bytes)
        .into_iter()
        .map(|spot| spot.value)
        .filter(|value| bytes.get(value.start) == Some(&b'"') && value.len() > 1)
        .collect();
    if strings.is_empty() {
        return insert(random, bytes, escape);
    }
    let string = random.pick(&strings);
    let at = string.start + 1;
    bytes.splice(at..at, escape.iter().copied());
}

fn white_space(random: &mut Random, bytes: &mut Vec<u8>) {
    let blank: &[u8] = random.pick::<&[u8]>(&[b" ", b"\n\n", b"\t", b"\r", b"\x0b", b"\xc2\xa0"]);
    insert(random, bytes, blank);
}

fn windows_lines(_: &mut Random, bytes: &mut Vec<u8>) {
    let mut text = Vec::with_capacity(bytes.len());
    for &byte in bytes.iter() {
        if byte == b'\n' {
            text.push(b'\r');
        }
        text.push(byte);
    }
    *bytes = text;
}

/// The ranges of the lines, including their line ends.
fn lines(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut found = Vec::new();
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        found.push(start..start + line.len());
        start += line.len();
    }
    found
}

fn line(random: &mut Random, bytes: &[u8]) -> Range<usize> {
    let lines = lines(bytes);
    lines.get(random.below(lines.len())).cloned().unwrap_or(0..0)
}

fn remove_line(random: &mut Random, bytes: &mut Vec<u8>) {
    let removed = line(random, bytes);
    // A document of one line would become empty.
    if removed.len() < bytes.len() {
        bytes.drain(removed);
    }
}

fn repeat_line(random: &mut Random, bytes: &mut Vec<u8>) {
    let again = line(random, bytes);
    let copy = bytes[again].to_vec();
    let lines = lines(bytes);
    let at = lines.get(random.below(lines.len())).map_or(0, |line| line.end);
    bytes.splice(at..at, copy);
}

fn swap_lines(random: &mut Random, bytes: &mut Vec<u8>) {
    let (one, other) = (line(random, bytes), line(random, bytes));
    swap(bytes, one, other);
}

fn tear_line(random: &mut Random, bytes: &mut Vec<u8>) {
    let torn = line(random, bytes);
    let at = torn.start + random.below(torn.len());
    bytes.drain(at..torn.end);
}

fn empty_line(random: &mut Random, bytes: &mut Vec<u8>) {
    let at = line(random, bytes).start;
    bytes.insert(at, b'\n');
}

/// Swaps two ranges, unless they overlap.
fn swap(bytes: &mut Vec<u8>, one: Range<usize>, other: Range<usize>) {
    let (first, second) = if one.start <= other.start { (one, other) } else { (other, one) };
    if first.end > second.start {
        return;
    }
    let mut new = bytes[..first.start].to_vec();
    new.extend_from_slice(&bytes[second.clone()]);
    new.extend_from_slice(&bytes[first.end..second.start]);
    new.extend_from_slice(&bytes[first]);
    new.extend_from_slice(&bytes[second.end..]);
    *bytes = new;
}

fn spot(
    random: &mut Random,
    bytes: &[u8],
    wanted: fn(&ValueLocation) -> bool,
) -> Option<ValueLocation> {
    let mut all = spots(bytes);
    all.retain(wanted);
    // The whole document is one of the values; to choose it is rarely of interest.
    if all.len() > 1 && random.chance(95) {
        all.remove(0);
    }
    (!all.is_empty()).then(|| random.pick(&all).clone())
}

fn any(_: &ValueLocation) -> bool {
    true
}

/// Replaces a value by one of another type, or by a meaningless one of the same type.
fn replace_value(random: &mut Random, bytes: &mut Vec<u8>) {
    let Some(spot) = spot(random, bytes, any) else { return };
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let long = format!("\"{}\"", "x".repeat(70));
    let new = *random.pick(&[
        "null",
        "null",
        "null",
        "\"\"",
        "\" \"",
        "[]",
        "{}",
        "[null]",
        "[{}]",
        "0",
        "-1.5e300",
        "true",
        "false",
        "\"user\"",
        "\"assistant\"",
        "\"text\"",
        "[[]]",
        &deep,
        &long,
    ]);
    bytes.splice(spot.value, new.bytes());
}

/// Removes a member of an object or an element of a list, with its comma.
fn remove_member(random: &mut Random, bytes: &mut Vec<u8>) {
    let Some(spot) = spot(random, bytes, |spot| spot.inside) else { return };
    let mut removed = spot.whole();
    let comma = |at: Option<usize>| at.and_then(|at| bytes.get(at)) == Some(&b',');
    if comma(Some(removed.end)) {
        removed.end += 1;
    } else if comma(removed.start.checked_sub(1)) {
        removed.start -= 1;
    }
    bytes.drain(removed);
}

fn repeat_member(random: &mut Random, bytes: &mut Vec<u8>) {
    let Some(spot) = spot(random, bytes, |spot| spot.inside) else { return };
    let whole = spot.whole();
    let mut copy = vec![b','];
    copy.extend_from_slice(&bytes[whole.clone()]);
    bytes.splice(whole.end..whole.end, copy);
}

/// Repeats a key with another value.
fn duplicate_key(random: &mut Random, bytes: &mut Vec<u8>) {
    let Some(spot) = spot(random, bytes, |spot| spot.key.is_some()) else { return };
    let Some(key) = spot.key.clone() else { return };
    let mut copy = vec![b','];
    copy.extend_from_slice(&bytes[key]);
    copy.push(b':');
    copy.extend_from_slice(random.pick::<&[u8]>(&[b"null", b"\"again\"", b"[]", b"1"]));
    let at = spot.value.end;
    bytes.splice(at..at, copy);
}

fn swap_values(random: &mut Random, bytes: &mut Vec<u8>) {
    let (one, other) = (spot(random, bytes, any), spot(random, bytes, any));
    if let (Some(one), Some(other)) = (one, other) {
        swap(bytes, one.value, other.value);
    }
}

fn copy_value(random: &mut Random, bytes: &mut Vec<u8>) {
    let (one, other) = (spot(random, bytes, any), spot(random, bytes, any));
    if let (Some(one), Some(other)) = (one, other) {
        let copy = bytes[other.value].to_vec();
        bytes.splice(one.value, copy);
    }
}

fn wrap_value(random: &mut Random, bytes: &mut Vec<u8>) {
    let Some(spot) = spot(random, bytes, any) else { return };
    let (before, behind): (&[u8], &[u8]) =
        *random.pick::<(&[u8], &[u8])>(&[(b"[", b"]"), (b"{\"value\":", b"}"), (b"[[", b"]]")]);
    let whole = [before, &bytes[spot.value.clone()], behind].concat();
    bytes.splice(spot.value, whole);
}

fn rename_key(random: &mut Random, bytes: &mut Vec<u8>) {
    let Some(key) = spot(random, bytes, |spot| spot.key.is_some()).and_then(|spot| spot.key) else {
        return;
    };
    let new = *random.pick(&["\"x\"", "\"\"", "\"type\"", "\"role\"", "\"content\"", "\"id\""]);
    bytes.splice(key, new.bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &[u8] = br#"{"messages":[{"role":"user","content":"hi"}],"model":"m"}"#;

    #[test]
    fn the_same_seed_gives_the_same_damage() {
        for seed in 0..200 {
            assert_eq!(mutate(DOCUMENT, seed), mutate(DOCUMENT, seed), "{seed}");
        }
        let different = (0..200).filter(|&seed| mutate(DOCUMENT, seed) != DOCUMENT).count();
        assert!(different > 150, "{different}");
    }

    #[test]
    fn anything_can_be_damaged_again_and_again() {
        let mut bytes = DOCUMENT.repeat(2);
        for seed in 0..3_000 {
            bytes = mutate(&bytes, seed);
            if bytes.len() > 4_000 || bytes.is_empty() {
                bytes = DOCUMENT.to_vec();
            }
        }
        assert!(mutate(b"", 1).len() < 4_000);
    }

    #[test]
    fn most_damaged_documents_are_still_json() {
        let reads = |seed: &u64| {
            serde_json::from_slice::<serde_json::Value>(&mutate(DOCUMENT, *seed)).is_ok()
        };
        let readable = (0..1_000).filter(reads).count();
        assert!((300..900).contains(&readable), "{readable}");
    }
}
