//! Pure crates see no clock, no chance, no files, no network, no process.

use super::{Complaint, complaint};
use crate::{
    tokens::{Token, tokens, without_tests},
    workspace::File,
};

const PURE: [&str; 9] = [
    "crates/json/src/",
    "crates/core/src/",
    "crates/formats/src/",
    "crates/sessions/src/",
    "crates/embed/src/",
    "crates/suite/src/",
    "crates/tokens/src/",
    "crates/run/src/",
    "crates/agents/src/",
];

/// The part of a pure crate that does I/O: a module with its folder.
const DRIVERS: [&str; 1] = ["crates/agents/src/live"];

/// Modules of the standard library that look at the world.
const WORLD: [&str; 6] = ["fs", "net", "time", "env", "process", "thread"];

/// Names that cannot mean anything else.
const NAMES: [&str; 3] = ["SystemTime", "Instant", "rand"];

pub(super) fn check(files: &[File]) -> Vec<Complaint> {
    let pure = |file: &&File| {
        let below = |parts: &[&str]| parts.iter().any(|part| file.path.starts_with(part));
        file.is_rust() && !file.is_test() && below(&PURE) && !below(&DRIVERS)
    };
    let mut complaints = Vec::new();
    for file in files.iter().filter(pure) {
        for (line, what) in impurities(&without_tests(&tokens(&file.text))) {
            let place = format!("{}:{line}", file.path);
            complaints.push(complaint(place, format!("`{what}` in a pure crate")));
        }
    }
    complaints
}

fn impurities(tokens: &[Token<'_>]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if NAMES.contains(&token.text) {
            found.push((token.line, token.text.to_owned()));
        }
        let path = tokens.get(at + 1).is_some_and(|next| next.text == "::");
        if token.text == "std" && path {
            let heads = heads(tokens.get(at + 2..).unwrap_or(&[]));
            let world = heads.into_iter().filter(|head| WORLD.contains(&head.text));
            found.extend(world.map(|head| (head.line, format!("std::{}", head.text))));
        }
    }
    found
}

/// The first names behind `std::`: one, or those of a group such as `{fs, io::{self, Read}}`.
fn heads<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    if tokens.first().is_none_or(|first| first.text != "{") {
        return tokens.first().copied().into_iter().collect();
    }
    let mut depth = 0_usize;
    let mut before = "";
    let mut heads = Vec::new();
    for token in tokens {
        match token.text {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ if depth == 1 && (before == "{" || before == ",") => heads.push(*token),
            _ => {}
        }
        if depth == 0 {
            break;
        }
        before = token.text;
    }
    heads
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_world_is_found_in_every_spelling() {
        let table = [
            ("use std::fs;", "std::fs"),
            (
                "use std::{collections::HashMap, env, io::{self, Read}, process::exit};",
                "std::env std::process",
            ),
            ("let now = std::time::Instant::now();", "std::time Instant"),
            ("use std::{io::{fs}, ops::Range}; // std::fs", ""),
            ("let text = \"std::fs\"; operand(); self.time.env()", ""),
            ("#[cfg(test)] mod tests { use std::fs; }", ""),
        ];
        for (source, expected) in table {
            let found = impurities(&without_tests(&tokens(source)));
            let names: Vec<String> = found.into_iter().map(|(_, name)| name).collect();
            assert_eq!(names.join(" "), expected, "{source}");
        }
    }
}
