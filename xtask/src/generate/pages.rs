//! One page for each rule, and the table of all of them.

use std::fmt::Write as _;

use foxwedge_core::{Profile, Rule, RuleEvidence, rules};

use super::{Page, examples};
use crate::workspace::File;

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

/// The page that the rule carries itself; rules it mentions become links.
fn page(rule: &Rule, files: &[File]) -> String {
    let mut page = notice();
    let mut fenced = false;
    for line in rule.explain.lines() {
        fenced ^= line.starts_with("```");
        if fenced || line.starts_with('#') {
            page.push_str(line);
        } else {
            page.push_str(&linked(line, rule));
        }
        page.push('\n');
    }
    page.push_str(&examples::section(rule, files));
    page.push_str("\n[All rules](README.md)\n");
    page
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

/// The table of all rules with a column for each profile.
pub(super) fn index() -> String {
    let mut page = notice();
    page.push_str(
        "# Rules\n\n\
         Codes and names never change meaning and are never reused. `foxwedge rule FW101` prints a \
         page in the terminal.\n\n\
         ● the provider refuses it: documented, measured, or its error text was seen · \
         ○ inferred from a compatible provider.\n\
         Rules look at what a format can show: a rule about blocks finds nothing in a chat history.\n",
    );
    for (digit, family) in FAMILIES {
        let _ = write!(page, "\n## FW{digit} {family}\n\n| code | name | finds |");
        for profile in Profile::ALL {
            let _ = write!(page, " {} |", profile.name());
        }
        page.push_str("\n|---|---|---|");
        page.push_str(&":-:|".repeat(Profile::ALL.len()));
        page.push('\n');
        for rule in rules::ALL.iter().filter(|rule| rule.code / 100 == digit) {
            page.push_str(&row(rule));
        }
    }
    page
}

fn row(rule: &Rule) -> String {
    let label = rule.label();
    let mut row = format!("| [{label}]({}) | {} | {} |", file_name(rule), rule.name, rule.summary);
    for profile in Profile::ALL {
        row.push_str(match rule.evidence(profile) {
            Some(RuleEvidence::Documented) => " ● |",
            Some(RuleEvidence::Inferred) => " ○ |",
            None => "  |",
        });
    }
    row.push('\n');
    row
}

/// Stands at the head of every generated page.
pub(super) fn notice() -> String {
    "<!-- Made by `cargo xtask generate`. Change the rule, not this file. -->\n\n".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_row() {
        let index = index();
        for rule in rules::ALL {
            assert!(index.contains(&format!("| [{}](", rule.label())), "{}", rule.label());
        }
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
