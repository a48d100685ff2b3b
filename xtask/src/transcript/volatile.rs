//! What differs from run to run: ids, times, addresses of backups. It is left out, or not compared.

/// Numbers that differ from run to run (the names of backups: a time and a process) are left out.
pub(super) fn without_numbers(text: &str) -> String {
    let text = &without_process(text);
    const LONG: usize = 15;
    let mut out = String::new();
    let mut digits = String::new();
    for c in text.chars().chain(['\n']) {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        out.push_str(if digits.len() >= LONG { "…" } else { &digits });
        digits.clear();
        out.push(c);
    }
    out.pop();
    out
}

/// The name of a backup without the process that made it: `…-NAME-PROCESS-0.bak`.
fn without_process(text: &str) -> String {
    let line = |line: &str| {
        let parts: Option<(&str, &str)> = line.split_once(".bak").filter(|_| line.contains(".bak"));
        let Some((head, tail)) = parts else { return line.to_owned() };
        let mut words = head.rsplitn(3, '-');
        match (words.next(), words.next(), words.next()) {
            (Some(number), Some(process), Some(rest))
                if process.len() < 12 && process.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                format!("{rest}-{number}.bak{tail}")
            }
            _ => line.to_owned(),
        }
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Whether a document shows what was printed, but for ids and times. A line `…` stands for any number
/// of lines, a line that ends with `…` for a longer one.
pub(super) fn is_same(shown: &str, printed: &str) -> bool {
    let (shown, printed) = (masked(shown), masked(printed));
    let shown: Vec<&str> = shown.lines().collect();
    let printed: Vec<&str> = printed.lines().collect();
    matches(&shown, &printed)
}

fn matches(shown: &[&str], printed: &[&str]) -> bool {
    match (shown, printed) {
        ([], []) => true,
        (["…", shown @ ..], printed) => {
            (0..=printed.len()).any(|from| matches(shown, &printed[from..]))
        }
        ([line, shown @ ..], [other, printed @ ..]) => {
            let is_start = line.strip_suffix('…').is_some_and(|start| other.starts_with(start));
            let is_same = line == other || differ_by_time(line, other);
            (is_same || is_start) && matches(shown, printed)
        }
        ([], _) | (_, []) => false,
    }
}

/// Whether a duration is all that one of two lines lacks: what takes no time has none, and a column is empty then.
fn differ_by_time(line: &str, other: &str) -> bool {
    let words = |line: &str| -> Vec<String> {
        let words = line.split_whitespace().filter(|word| !is_masked_duration(word));
        words.map(str::to_owned).collect()
    };
    (line.contains(TIME) || other.contains(TIME)) && words(line) == words(other)
}

/// A text in which ids, durations, times, tokens and numbers of tokens look the same.
fn masked(text: &str) -> String {
    text.split('\n')
        .map(|line| line.split(' ').map(mask_word))
        .map(join_words)
        .collect::<Vec<_>>()
        .join("\n")
}

fn join_words(words: impl Iterator<Item = String>) -> String {
    let mut words: Vec<String> = words.collect();
    // What takes no time has none: `completed in 0.1s`, `completed`; `stopped after 0.3s,`, `stopped,`.
    let is_time = |pair: &[String]| {
        matches!(pair[0].as_str(), "in" | "after") && is_masked_duration(&pair[1])
    };
    while let Some(at) = words.windows(2).position(is_time) {
        let removed = words.drain(at..at + 2).next_back().unwrap_or_default();
        if let Some(before) = at.checked_sub(1).and_then(|at| words.get_mut(at)) {
            before.push_str(removed.trim_start_matches(TIME));
        }
    }
    for at in 1..words.len() {
        // How many tokens a prompt has depends on the length of the folder's name, the size of a store
        // on its database.
        let is_unit = words[at].starts_with("tokens") || words[at] == "kB";
        if is_unit && words[at - 1].starts_with(|c: char| c.is_ascii_digit()) {
            words[at - 1] = "N".to_owned();
        }
    }
    words.join(" ")
}

/// A word without what differs from run to run.
fn mask_word(word: &str) -> String {
    if is_duration(word) {
        let number = word.trim_end_matches(MARKS);
        return format!("{TIME}{}", &word[number.len()..]);
    }
    if is_clock(word) {
        return "CLOCK".to_owned();
    }
    if let Some((before, _)) = word.split_once("fw_") {
        return format!("{before}fw_TOKEN");
    }
    let mut out = String::new();
    for part in word.split_inclusive(|c: char| !c.is_ascii_hexdigit()) {
        let digits = part.trim_end_matches(|c: char| !c.is_ascii_hexdigit());
        let is_id = digits.len() >= 12 && digits.contains(|c: char| c.is_ascii_digit());
        out.push_str(if is_id { "ID" } else { digits });
        out.push_str(&part[digits.len()..]);
    }
    out
}

/// What stands for a duration.
const TIME: &str = "TIME";

/// What may follow a duration.
const MARKS: [char; 2] = [',', ':'];

fn is_masked_duration(word: &str) -> bool {
    word.trim_end_matches(MARKS) == TIME
}

/// `0.3s`, `21.3s`
fn is_duration(word: &str) -> bool {
    let number = word.trim_end_matches(MARKS).strip_suffix('s');
    number.is_some_and(|number| {
        number.contains('.') && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    })
}

/// `2026-11-15`, `17:14:04`
fn is_clock(word: &str) -> bool {
    let shape: String = word.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
    shape == "9999-99-99" || shape == "99:99:99"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_numbers_are_left_out() {
        assert_eq!(without_numbers("a 12 b-012345678901234567-0.bak"), "a 12 b-…-0.bak");
        assert_eq!(without_numbers("x/012345678901234567-f_json-4711-0.bak"), "x/…-f_json-0.bak");
    }

    #[test]
    fn ids_and_times_may_differ_and_nothing_else() {
        let table = [
            ("a\nb", "a\nb", true),
            ("a\nb", "a\nc", false),
            ("a\nb", "a", false),
            ("chat-1c57b54908b56373 x", "chat-2d57b54908b56374 x", true),
            ("run-c0ffee12", "run-c0ffee13", false),
            ("done 0.2s", "done 1.4s", true),
            ("done 2s", "done 3s", false),
            ("stopped after 0.3s, may have run", "stopped, may have run", true),
            ("stopped after 0.3s, may have run", "stopped after 1.2s, may have run", true),
            ("stopped after 0.3s, may have run", "stopped", false),
            ("completed in 0.1s", "completed", true),
            ("now  0.1s  2 calls", "now        2 calls", true),
            ("now  0.1s  2 calls", "now        3 calls", false),
            ("a  b", "a b", false),
            ("at 2026-11-15 17:14:04 UTC", "at 2027-01-01 00:00:00 UTC", true),
            ("2,834 tokens in, 25 out", "2,836 tokens in, 25 out", true),
            ("2,834 tokens in, 25 out", "2,834 tokens in, 26 out", false),
            ("http://x/#token=fw_…", "http://x/#token=fw_abc", true),
            ("a\n…", "a\nb\nc", true),
            ("a\n…\nc", "a\nb\nc", true),
            ("a\n…\nd", "a\nb\nc", false),
            ("they said …", "they said no", true),
        ];
        for (shown, printed, expected) in table {
            assert_eq!(is_same(shown, printed), expected, "{shown:?} {printed:?}");
        }
    }
}
