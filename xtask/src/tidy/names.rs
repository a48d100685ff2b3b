//! Type names that explain themselves: unique, and of more than one word.
//!
//! Counts structs, enums, traits and type aliases of the product. Associated types are no names of
//! ours. The bars are shares of all types, so that a few local one-word types do no harm.

use std::collections::BTreeMap;

use super::{Complaint, complaint};
use crate::workspace::File;

/// The smallest share of distinct names, in percent.
const MIN_DISTINCT: usize = 95;

/// The largest share of one-word names, in percent.
const MAX_ONE_WORD: usize = 10;

/// Words that mean something only to the authors: participles, furniture, speech.
const PRIVATE_VOCABULARY: [&str; 66] = [
    "Asked", "Answered", "Told", "Said", "Heard", "Held", "Kept", "Seen", "Made", "Named",
    "Wanted", "Claimed", "Judged", "Guarded", "Prepared", "Worked", "Written", "Opened", "Planned",
    "Watched", "Noted", "Pulled", "Called", "Desk", "Shelf", "Paper", "Page", "Sheet", "Pen",
    "Ledger", "Card", "Door", "Seat", "Seats", "Crew", "Gear", "Leash", "Litter", "Scales", "Room",
    "Pile", "Tale", "Story", "Talk", "Voice", "Teller", "Telling", "Speech", "Words", "Word",
    "Manner", "Manners", "Trouble", "Wish", "Wishes", "Fate", "Onlooker", "Asker", "Ear",
    "Visitor", "Labour", "Bit", "Spot", "Anew", "How", "Way",
];

/// A type, and where it is defined.
struct TypeName<'f> {
    name: &'f str,
    path: &'f str,
    line: usize,
    public: bool,
}

pub(super) fn check(files: &[File]) -> Vec<Complaint> {
    let types: Vec<TypeName<'_>> =
        files.iter().filter(is_product).flat_map(defined_types).collect();
    let mut complaints = Vec::new();
    let mut places: BTreeMap<&str, Vec<&TypeName<'_>>> = BTreeMap::new();
    for defined in &types {
        places.entry(defined.name).or_default().push(defined);
        if PRIVATE_VOCABULARY.contains(&defined.name) {
            let place = format!("{}:{}", defined.path, defined.line);
            complaints.push(complaint(
                place,
                format!("`{}` is a word that only its author understands", defined.name),
            ));
        }
    }
    for (name, defined) in &places {
        let mut public = defined.iter().filter(|it| it.public);
        if let (Some(first), Some(second)) = (public.next(), public.next()) {
            let place = format!("{}:{}", second.path, second.line);
            let what =
                format!("`{name}` is public a second time, after {}:{}", first.path, first.line);
            complaints.push(complaint(place, what));
        }
    }
    let percent = |part: usize| part * 100 / types.len().max(1);
    let one_word = types.iter().filter(|it| is_one_word(it.name)).count();
    if percent(places.len()) < MIN_DISTINCT {
        let what = format!("{} % of the type names are distinct", percent(places.len()));
        complaints.push(complaint("crates", format!("{what}; {MIN_DISTINCT} % are asked for")));
    }
    if percent(one_word) > MAX_ONE_WORD {
        let what = format!("{} % of the type names are one word", percent(one_word));
        complaints.push(complaint("crates", format!("{what}; {MAX_ONE_WORD} % may be")));
    }
    complaints
}

fn is_product(file: &&File) -> bool {
    let tools = ["crates/testkit/", "crates/bench/"];
    file.path.starts_with("crates/")
        && file.path.contains("/src/")
        && file.is_rust()
        && !file.is_test()
        && !tools.iter().any(|tool| file.path.starts_with(tool))
}

fn defined_types(file: &File) -> Vec<TypeName<'_>> {
    let mut found = Vec::new();
    for (at, text) in file.text.lines().enumerate() {
        if text.starts_with("#[cfg(test)]") {
            break;
        }
        let item = text.trim_start();
        let public = item.starts_with("pub ");
        let item = match item.strip_prefix("pub") {
            Some(rest) => rest.trim_start_matches(|it: char| it != ' ').trim_start(),
            None => item,
        };
        // An alias inside a block is an associated type.
        let keywords = ["struct ", "enum ", "trait ", "union "];
        let alias = item.strip_prefix("type ").filter(|_| !text.starts_with(' '));
        let name = keywords.iter().find_map(|keyword| item.strip_prefix(keyword)).or(alias);
        let name = name.and_then(|rest| rest.split(|it: char| !it.is_alphanumeric()).next());
        if let Some(name) = name.filter(|name| name.len() > 1) {
            found.push(TypeName { name, path: &file.path, line: at + 1, public });
        }
    }
    found
}

/// Whether there is no capital letter behind a small one.
fn is_one_word(name: &str) -> bool {
    let pairs = name.chars().zip(name.chars().skip(1));
    !pairs.into_iter().any(|(one, two)| !one.is_uppercase() && two.is_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(files: &[(&str, &str)]) -> Vec<String> {
        let file = |(path, text): &(&str, &str)| File {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        };
        let files: Vec<File> = files.iter().map(file).collect();
        check(&files).into_iter().map(|it| format!("{}: {}", it.place, it.what)).collect()
    }

    #[test]
    fn second_public_names_and_private_words_are_found() {
        let many: String = (0..40).map(|at| format!("struct Some{at}Thing;\n")).collect();
        let found = complaints(&[
            ("crates/a/src/lib.rs", &many),
            ("crates/a/src/one.rs", "pub struct FileReport;\nimpl X {\n    type Told = ();\n}\n"),
            ("crates/b/src/two.rs", "pub(crate) struct Told;\n"),
            ("crates/b/src/three.rs", "pub enum FileReport {}\n#[cfg(test)]\nstruct Kept;\n"),
            ("crates/testkit/src/lib.rs", "pub struct FileReport;\n"),
        ]);
        let expected = [
            "crates/b/src/two.rs:1: `Told` is a word that only its author understands",
            "crates/b/src/three.rs:1: `FileReport` is public a second time, after crates/a/src/one.rs:1",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn shares_are_held() {
        let text = "struct Kind;\nmod m {\n    struct Kind;\n}\n";
        let found = complaints(&[("crates/a/src/lib.rs", text)]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(is_one_word("Kind") && is_one_word("JSON") && !is_one_word("PartKind"));
    }
}
