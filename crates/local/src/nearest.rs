//! Suggestions for mistyped names.

/// Returns the known name closest to the typed one, if any is close enough.
pub fn nearest<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let typed: String = typed.chars().take(64).map(|c| c.to_ascii_lowercase()).collect();
    let max_distance = (typed.chars().count() / 3).max(1);
    let distance = |name: &str| strsim::osa_distance(&typed, &name.to_ascii_lowercase());
    let near = known.map(|name| (distance(name), name)).filter(|(it, _)| *it <= max_distance);
    near.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typo_finds_the_nearest_name() {
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
