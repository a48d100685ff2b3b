//! What somebody may have meant.

/// The known word nearest to what was typed, if any is near.
pub(crate) fn nearest<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let typed: Vec<char> = typed.chars().take(64).map(|c| c.to_ascii_lowercase()).collect();
    let reach = (typed.len() / 3).max(1);
    known
        .map(|word| (distance(&typed, word), word))
        .filter(|(distance, _)| *distance <= reach)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// How many letters have to be put in, taken out, changed, or swapped with their neighbour.
fn distance(typed: &[char], word: &str) -> usize {
    let word: Vec<char> = word.chars().map(|c| c.to_ascii_lowercase()).collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=word.len()).collect()];
    for (i, a) in typed.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in word.iter().enumerate() {
            let change = rows[i][j] + usize::from(a != b);
            let mut best = change.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == word[j - 1] && typed[i - 1] == *b {
                best = best.min(rows[i - 1][j - 1] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows.last().and_then(|row| row.last()).copied().unwrap_or(0)
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
