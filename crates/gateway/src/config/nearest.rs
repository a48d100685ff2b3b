//! Suggestions for misspelled names.

/// The known name nearest to the given one, if any is near.
pub(super) fn nearest<'a>(
    given: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let given: String = normalize(given).take(64).collect();
    let max_distance = (given.chars().count() / 3).max(1);
    let distance = |name: &str| strsim::osa_distance(&given, &normalize(name).collect::<String>());
    let candidates = known.into_iter().map(|name| (distance(name), name));
    let near = candidates.filter(|(distance, _)| *distance <= max_distance);
    near.min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// Treats `base-url` and `BaseUrl` like `base_url`.
fn normalize(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|c| !matches!(c, '_' | '-')).map(|c| c.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_word() {
        let known = ["base_url", "key", "key_file", "headers", "attempts"];
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
        for (given, expected) in table {
            assert_eq!(nearest(given, known), expected, "{given}");
        }
    }
}
