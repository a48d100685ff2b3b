//! Suggestions for misspelled names.

/// The known name nearest to the typed one, if any is near. `base-url` and `BaseUrl` are like
/// `base_url`.
pub fn nearest_name<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let normalize = |name: &str| {
        name.replace(['_', '-'], "").chars().take(64).collect::<String>().to_ascii_lowercase()
    };
    let typed = normalize(typed);
    let max_distance = (typed.chars().count() / 3).max(1);
    let distance = |name: &str| strsim::osa_distance(&typed, &normalize(name));
    let near = known.into_iter().map(|name| (distance(name), name));
    let near = near.filter(|(distance, _)| *distance <= max_distance);
    near.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typo_finds_the_nearest_name() {
        let keys = ["base_url", "key", "key_file", "headers", "attempts"];
        let rules = ["unanswered-call", "orphan-result", "FW101", "FW105"];
        let table: [(&str, &[&str], Option<&str>); 14] = [
            ("base-url", &keys, Some("base_url")),
            ("baseurl", &keys, Some("base_url")),
            ("BASE_URL", &keys, Some("base_url")),
            ("bse_url", &keys, Some("base_url")),
            ("header", &keys, Some("headers")),
            ("keyfile", &keys, Some("key_file")),
            ("kye", &keys, Some("key")),
            ("", &keys, None),
            ("timeout", &keys, None),
            ("unanswerd-call", &rules, Some("unanswered-call")),
            ("orphan_result", &rules, Some("orphan-result")),
            ("fw110", &rules, Some("FW101")),
            ("", &rules, None),
            ("banana", &rules, None),
        ];
        for (typed, known, expected) in table {
            assert_eq!(nearest_name(typed, known.iter().copied()), expected, "{typed}");
        }
    }
}
