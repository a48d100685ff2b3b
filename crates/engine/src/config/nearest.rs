//! What somebody may have meant.

/// The known word nearest to what was written, if any is near.
pub(super) fn nearest<'a>(
    written: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let written: Vec<char> = normalize(written).take(64).collect();
    let reach = (written.len() / 3).max(1);
    let near = known.into_iter().map(|word| {
        let letters: Vec<char> = normalize(word).collect();
        (distance(&written, &letters), word)
    });
    near.filter(|(distance, _)| *distance <= reach).min_by_key(|(far, _)| *far).map(|(_, it)| it)
}

/// `base-url` and `BaseUrl` are `base_url` to us.
fn normalize(word: &str) -> impl Iterator<Item = char> {
    word.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase())
}

/// How many letters have to be put in, taken out, changed, or swapped with their neighbour.
pub fn distance(written: &[char], word: &[char]) -> usize {
    let mut rows: Vec<Vec<usize>> = vec![(0..=word.len()).collect()];
    for (i, a) in written.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in word.iter().enumerate() {
            let change = rows[i][j] + usize::from(a != b);
            let mut best = change.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == word[j - 1] && written[i - 1] == *b {
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
        let known = ["base_url", "key", "key_file", "headers", "tries"];
        let table = [
            ("base-url", Some("base_url")),
            ("baseurl", Some("base_url")),
            ("BASE_URL", Some("base_url")),
            ("bse_url", Some("base_url")),
            ("header", Some("headers")),
            ("keyfile", Some("key_file")),
            ("kye", Some("key")),
            ("", None),
            ("timeout", None),
        ];
        for (written, expected) in table {
            assert_eq!(nearest(written, known), expected, "{written}");
        }
    }
}
