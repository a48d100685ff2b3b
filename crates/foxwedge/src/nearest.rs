//! Suggestions for mistyped words.

/// The known word nearest to what was typed, if any is near.
pub(crate) fn nearest<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let typed: String = typed.chars().take(64).map(|c| c.to_ascii_lowercase()).collect();
    let max_distance = (typed.chars().count() / 3).max(1);
    let distance = |word: &str| strsim::osa_distance(&typed, &word.to_ascii_lowercase());
    let near = known.map(|word| (distance(word), word)).filter(|(it, _)| *it <= max_distance);
    near.min_by_key(|(distance, _)| *distance).map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word() {
        let known = ["unanswered-call", "orphan-result", "FW101", "FW105"];
        let table = [
            ("unanswerd-call", Some("unanswered-call")),
            ("orphan_result", Some("orphan-result")),
            ("fw110", Some("FW101")),
            ("", None),
            ("banana", None),
        ];
        for (typed, expected) in table {
            assert_eq!(nearest(typed, known.into_iter()), expected, "{typed}");
        }
    }
}
