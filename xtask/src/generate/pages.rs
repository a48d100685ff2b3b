//! One page for each rule, and the table of all of them.

use std::fmt::Write as _;

use foxwedge_core::{Profile, Rule, RuleEvidence, rules};

use super::{Page, examples};
use crate::{manual, workspace::File};

/// The families, by the first digit of the code.
const FAMILIES: [(u16, &str); 8] = [
    (1, "Pairing"),
    (2, "Ids and names"),
    (3, "Content"),
    (4, "Roles"),
    (5, "Reasoning"),
    (6, "Server tools"),
    (7, "Session chain"),
    (8, "File"),
];

/// The file of a rule's page.
pub(super) fn file_name(rule: &Rule) -> String {
    format!("{}-{}.md", rule.label(), rule.name)
}

/// A page for every rule.
pub(super) fn rules(folder: &str, files: &[File]) -> Vec<Page> {
    let page = |rule: &&Rule| Page {
        path: format!("{folder}{}", file_name(rule)),
        text: page(rule, files),
    };
    rules::ALL.iter().map(page).collect()
}

/// The page that the rule carries itself, with links, an example, and each error text only in the list of them.
fn page(rule: &Rule, files: &[File]) -> String {
    let text = rule.explain.split_once("## Applies to").map_or(rule.explain, |(text, _)| text);
    let texts_are_listed = manual::has_error_text(rule);
    let mut page = notice();
    let mut lines = text.trim_end().lines();
    let mut refusals = false;
    while let Some(line) = lines.next() {
        if line.starts_with("## ") {
            refusals = line == "## Who refuses it";
        }
        if line.starts_with("```") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            if refusals && texts_are_listed {
                let _ = writeln!(page, "{}", refusing_providers(rule, &block));
            } else {
                let _ = write!(page, "{line}\n{}\n```\n", block.join("\n"));
            }
        } else if line.starts_with('#') {
            let _ = writeln!(page, "{line}");
        } else {
            let _ = writeln!(page, "{}", linked(line, rule));
        }
    }
    page.push_str(&examples::section(rule, files));
    page.push_str("\n[All rules](README.md)\n");
    page
}

/// The providers of a block with error texts, and where the texts are.
fn refusing_providers(rule: &Rule, block: &[&str]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for line in block.iter().filter(|line| !line.starts_with(' ')) {
        let name = line.split(' ').next().unwrap_or_default();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let anchor = format!("{}-{}", rule.label().to_lowercase(), rule.name);
    format!("{} ([texts](../errors.md#{anchor})).", names.join(", "))
}

/// What each rule finds, in Chinese, as the console imports it.
pub(super) fn console_summaries() -> String {
    let mut text = "/** What each rule finds, in Chinese. Made by `cargo xtask generate`. */\n\n\
        export const RULES_ZH: Readonly<Record<string, string>> = {\n"
        .to_owned();
    for rule in rules::ALL {
        let summary = rule.chinese().map_or("", |chinese| chinese.summary);
        let _ = writeln!(text, "  {}: {summary:?},", rule.label());
    }
    text + "};\n"
}

/// The profiles that have a rule with this evidence.
fn profiles(rule: &Rule, evidence: RuleEvidence) -> String {
    let has = |profile: &Profile| rule.evidence(*profile) == Some(evidence);
    let (with, without): (Vec<Profile>, Vec<Profile>) = Profile::ALL.into_iter().partition(has);
    let names = |profiles: &[Profile]| {
        profiles.iter().map(|profile| profile.name()).collect::<Vec<_>>().join(", ")
    };
    match without.len() {
        0 => "all".to_owned(),
        1..=3 => format!("all but {}", names(&without)),
        _ => names(&with),
    }
}

/// The line with every other rule's code as a link to its page.
fn linked(line: &str, here: &Rule) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("FW") {
        let (before, found) = rest.split_at(at);
        let (label, after) = found.split_at(found.len().min(5));
        text.push_str(before);
        match rules::find_rule(label).filter(|rule| rule.code != here.code && rule.label() == label)
        {
            Some(rule) => {
                let _ = write!(text, "[{label}]({})", file_name(rule));
            }
            None => text.push_str(label),
        }
        rest = after;
    }
    text + rest
}

/// The table of all rules with the profiles of each.
pub(super) fn index() -> String {
    let mut page = notice();
    page.push_str(
        "# Rules\n\n\
         Codes and names never change meaning and are never reused. `foxwedge rule FW101` prints a \
         page in the terminal.\n\
         *Refused by* lists [profiles](../formats.md): documented, measured, or the error text was seen; \
         after ○ inferred from a\ncompatible provider. A rule about blocks finds nothing in a chat history.\n",
    );
    for (digit, family) in FAMILIES {
        let _ = write!(
            page,
            "\n## FW{digit} {family}\n\n| rule | finds | refused by |\n|---|---|---|\n"
        );
        for rule in rules::ALL.iter().filter(|rule| rule.code / 100 == digit) {
            page.push_str(&row(rule));
        }
    }
    page
}

fn row(rule: &Rule) -> String {
    let certain = profiles(rule, RuleEvidence::Documented);
    let inferred = profiles(rule, RuleEvidence::Inferred);
    let inferred = if inferred.is_empty() { inferred } else { format!("○ {inferred}") };
    let gap = if certain.is_empty() || inferred.is_empty() { "" } else { " " };
    format!(
        "| [{} {}]({}) | {} | {certain}{gap}{inferred} |\n",
        rule.label(),
        rule.name,
        file_name(rule),
        rule.summary
    )
}

/// Stands at the head of every generated page.
pub(super) fn notice() -> String {
    "<!-- cargo xtask generate -->\n\n".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_row() {
        let index = index();
        for rule in rules::ALL {
            assert!(index.contains(&format!("| [{} ", rule.label())), "{}", rule.label());
        }
    }

    #[test]
    fn error_texts_are_named_by_their_providers() {
        let rule = rules::find_rule("FW402").expect("a rule");
        let block =
            ["bedrock     A conversation", "anthropic   messages: roles", "            a row"];
        assert_eq!(
            refusing_providers(rule, &block),
            "bedrock, anthropic ([texts](../errors.md#fw402-role-order))."
        );
    }

    #[test]
    fn mentions_become_links_and_the_page_itself_does_not() {
        let here = rules::find_rule("FW101").expect("the first rule");
        assert_eq!(
            linked("(see FW601), FW101, FW999, FW", here),
            "(see [FW601](FW601-dead-server-call.md)), FW101, FW999, FW"
        );
    }
}
