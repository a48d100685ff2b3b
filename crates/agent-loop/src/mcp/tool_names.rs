//! Tool names for the model: valid for every provider, and unique.

use std::collections::BTreeMap;

/// Maximum characters of a name.
const MAX_NAME: usize = 64;
/// Characters of the suffix that makes a name unique.
const HASH_LENGTH: usize = 8;

/// The names of the tools of one server, in their order. The names that go in are all different.
pub(super) fn model_tool_names(server: &str, tools: &[&str]) -> Vec<String> {
    let plain: Vec<String> = tools.iter().map(|tool| prefixed_name(server, tool)).collect();
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    for name in &plain {
        *uses.entry(name).or_default() += 1;
    }
    let named = plain.iter().zip(tools).map(|(name, tool)| {
        let is_unique = uses.get(name.as_str()) == Some(&1);
        // A valid name is kept, even if another name maps to the same.
        let is_unchanged = *name == format!("mcp__{server}__{tool}");
        if name.len() <= MAX_NAME && (is_unique || is_unchanged) {
            name.clone()
        } else {
            hashed_name(server, tool)
        }
    });
    named.collect()
}

/// The prefixed name, with every illegal character replaced by `_`.
fn prefixed_name(server: &str, tool: &str) -> String {
    format!("mcp__{}__{}", replace_illegal(server), replace_illegal(tool))
}

fn replace_illegal(text: &str) -> String {
    let is_legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    text.chars().map(|c| if is_legal(c) { c } else { '_' }).collect()
}

/// Shortens a name and adds a suffix that depends on both names.
fn hashed_name(server: &str, tool: &str) -> String {
    let input = format!("{}\0{tool}", server);
    let hash = blake3::hash(input.as_bytes()).to_hex();
    let suffix: String = hash.chars().take(HASH_LENGTH).collect();
    let prefix: String =
        prefixed_name(server, tool).chars().take(MAX_NAME - HASH_LENGTH - 1).collect();
    format!("{prefix}_{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_legal_and_different() {
        let long = "l".repeat(80);
        let table: [(&str, &[&str], &[&str]); 5] = [
            ("files", &["read", "write-it"], &["mcp__files__read", "mcp__files__write-it"]),
            ("my files", &["a.b", "é"], &["mcp__my_files__a_b", "mcp__my_files___"]),
            // The valid one keeps its name.
            ("s", &["a.b", "a_b"], &["mcp__s__a_b_cd1fcca6", "mcp__s__a_b"]),
            ("s", &["a.b", "a/b"], &["mcp__s__a_b_cd1fcca6", "mcp__s__a_b_8df182c0"]),
            ("s", &[""], &["mcp__s__"]),
        ];
        for (server, tools, expected) in table {
            assert_eq!(model_tool_names(server, tools), expected, "{server} {tools:?}");
        }
        let other = format!("{long}x");
        for (server, tools) in [("s", [long.as_str(), &other]), (&long, ["a", "b"])] {
            let found = model_tool_names(server, &tools);
            assert!(found.iter().all(|name| name.len() == MAX_NAME), "{found:?}");
            assert_ne!(found[0], found[1]);
        }
    }
}
