//! The specification, its examples and the adapters keep to what they say.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use super::{folder, vectors};

/// Lines of a printed page, and characters of a line.
const PAGE: (usize, usize) = (54, 110);

#[test]
fn the_specification_names_vectors_that_exist_and_every_clause_has_one() {
    let text = fs::read_to_string(folder().join("SPEC.md")).expect("the specification");
    let vectors = vectors();
    let ids: BTreeSet<&str> = vectors.iter().map(|vector| vector.id.as_str()).collect();
    let is_id = |word: &&str| {
        word.len() == 5 && word.starts_with('V') && word[1..].chars().all(|c| c.is_ascii_digit())
    };
    let mut named = 0;
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(is_id) {
        assert!(ids.contains(word), "{word} is no vector");
        named += 1;
    }
    assert!(named > 100, "{named}");
    let sections: BTreeMap<&str, &str> = text
        .split("\n### ")
        .skip(1)
        .map(|section| section.split_once('\n').expect("a heading"))
        .map(|(heading, body)| (heading.split(' ').next().expect("a clause"), body))
        .collect();
    for vector in &vectors {
        assert!(sections.contains_key(vector.clause.as_str()), "no clause `{}`", vector.clause);
    }
    for (clause, body) in sections.iter().filter(|(clause, _)| clause.starts_with("FW")) {
        assert!(
            body.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| is_id(&word)),
            "{clause}"
        );
    }
}

#[test]
fn every_example_of_the_specification_is_a_vector_and_every_clause_says_who_demands_it() {
    let text = fs::read_to_string(folder().join("SPEC.md")).expect("the specification");
    let vectors = vectors();
    let (_, clauses) = text.split_once("<!-- clauses").expect("clauses");
    let mut examples = 0;
    for section in clauses.split("\n### ").skip(1) {
        let name = section.lines().next().expect("a heading");
        let evidence = section.contains("| `") || section.contains("No evidence is known");
        assert!(evidence, "{name}: who demands it?");
        for row in section.lines().filter(|line| line.starts_with("| `")) {
            let seen = row.split('|').nth(3).map(str::trim).unwrap_or_default();
            assert!(seen.len() == 7 && seen.starts_with("20"), "{name}: since when? {row}");
        }
        for example in section.split("```json\n").skip(1) {
            let (input, _) = example.split_once("\n```").expect("the end of an example");
            let before = section.split("```json").next().unwrap_or_default();
            let id = before.trim_end().lines().last().and_then(|line| line.split(',').next());
            let vector = vectors.iter().find(|vector| Some(vector.id.as_str()) == id);
            let vector = vector.unwrap_or_else(|| panic!("{name}: {id:?} is no vector"));
            assert_eq!(vector.input.trim(), input, "{name}");
            examples += 1;
        }
    }
    assert!(examples > 30, "{examples}");
}

#[test]
fn the_specification_has_at_most_forty_pages() {
    let text = fs::read_to_string(folder().join("SPEC.md")).expect("the specification");
    let lines: usize = text.lines().map(|line| line.chars().count() / PAGE.1 + 1).sum();
    assert!(lines <= 40 * PAGE.0, "{} pages", lines.div_ceil(PAGE.0));
}

#[test]
fn an_adapter_is_short() {
    let adapters = fs::read_dir(folder().join("adapters")).expect("adapters");
    for file in adapters.map(|file| file.expect("a file").path()) {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&file).expect("an adapter");
        let code = text.lines().filter(|line| !line.trim().is_empty()).count();
        assert!(!name.contains("_engine.") || code <= 60, "{name}: {code} lines");
    }
}
