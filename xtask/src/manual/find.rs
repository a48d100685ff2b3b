//! A reader who searches for a phrase of an error message finds the page about it.

use std::{
    fs,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use foxwedge_core::Rule;

use super::page::ManualPage;
use crate::Outcome;

/// Fewer searches than these mean that the list of messages was not read.
const MIN_SEARCHES: usize = 100;
const SCRIPT: &str = include_str!("find.mjs");

/// Searches for a phrase of every error message, in the site that was written. Needs Node, as a browser
/// has its own way to run the script.
pub(super) fn check(folder: &Path, pages: &[ManualPage], texts: &[(&Rule, &str)]) -> Outcome {
    if Command::new("node").arg("--version").output().is_err() {
        println!("the search was not tried: there is no Node");
        return Ok(());
    }
    let mut queries: Vec<(&Rule, String)> =
        texts.iter().filter_map(|(rule, text)| Some((*rule, phrase(text)?))).collect();
    // A phrase that messages about several rules have in common leads to one of them.
    queries.retain(|(rule, query)| {
        let mut others = texts.iter().filter(|(other, _)| other.code != rule.code);
        !others.any(|(_, text)| plain(text).contains(&plain(query)))
    });
    if queries.len() < MIN_SEARCHES {
        return Err(format!("only {} searches are left", queries.len()));
    }
    let lines: String = queries.iter().map(|(_, query)| format!("{query}\n")).collect();
    let found = answers(folder, &lines).map_err(|error| format!("find.mjs: {error}"))?;
    let mut wrong = Vec::new();
    for ((rule, query), url) in queries.iter().zip(found.lines()) {
        let page = pages.iter().find(|page| page.output() == url);
        // The page of the message, or that of its rule.
        let is_right = page.is_some_and(|page| {
            url.contains(&rule.label())
                || page.links.iter().any(|link| link.contains(&rule.label()))
        });
        if !is_right {
            wrong.push(format!("`{query}` finds `{url}`, not a page about {}", rule.label()));
        }
    }
    if found.lines().count() != queries.len() || !wrong.is_empty() {
        return Err(format!(
            "{} of {} searches fail\n{}",
            wrong.len(),
            queries.len(),
            wrong.join("\n")
        ));
    }
    println!("the search finds the pages of {} error messages by a phrase of each", queries.len());
    Ok(())
}

fn answers(folder: &Path, lines: &str) -> std::io::Result<String> {
    let script = folder.join("find.mjs");
    fs::write(&script, SCRIPT)?;
    let mut node = Command::new("node");
    node.arg(&script).arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = node.spawn()?;
    // The script reads all of it before it prints.
    child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(lines.as_bytes()))?;
    let output = child.wait_with_output()?;
    fs::remove_file(script)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Letters and digits in words, as the search compares them.
fn plain(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ").to_lowercase()
}

/// What a reader would type: the longest run of plain words, at most eight of them.
fn phrase(text: &str) -> Option<String> {
    let is_plain =
        |word: &&str| word.chars().all(|c| c.is_ascii_alphabetic() || "_'-,.".contains(c));
    let words: Vec<&str> = text.split_whitespace().collect();
    let runs = words.split(|word| !is_plain(word));
    let longest = runs.max_by_key(|run| run.len())?;
    (longest.len() >= 3).then(|| longest[..longest.len().min(8)].join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_places_are_not_searched_for() {
        let text = "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.";
        assert_eq!(phrase(text).as_deref(), Some("ids were found without"));
        assert_eq!(phrase("400"), None);
    }
}
