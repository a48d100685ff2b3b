//! What somebody may have meant.

use foxwedge_engine::config::distance;

/// The known word nearest to what was typed, if any is near.
pub(crate) fn nearest<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let typed = letters(typed).take(64).collect::<Vec<char>>();
    let reach = (typed.len() / 3).max(1);
    known
        .map(|word| (distance(&typed, &letters(word).collect::<Vec<char>>()), word))
        .filter(|(distance, _)| *distance <= reach)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

fn letters(word: &str) -> impl Iterator<Item = char> {
    word.chars().map(|c| c.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word() {
        let known = ["unanswered-call", "orphan-answer", "FW101", "FW105"];
        let table = [
            ("unanswerd-call", Some("unanswered-call")),
            ("orphan_answer", Some("orphan-answer")),
            ("fw110", Some("FW101")),
            ("", None),
            ("banana", None),
        ];
        for (typed, expected) in table {
            assert_eq!(nearest(typed, known.into_iter()), expected, "{typed}");
        }
    }
}
