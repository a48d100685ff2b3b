//! The page that maps what providers demand to the rules that check it.

use std::{collections::BTreeSet, fmt::Write as _};

use foxwedge_core::rules;

use super::{
    facts::{Checked, FAMILIES},
    pages::{file_name, notice},
};

/// `docs/catalogue.md`.
pub(super) fn page() -> String {
    let mut page = notice();
    let facts = || FAMILIES.iter().flat_map(|family| family.facts);
    let open = facts().filter(|fact| matches!(fact.checked, Checked::Not(_))).count();
    let _ = write!(
        page,
        "# What providers demand\n\n\
         Every demand that providers are known to make of a history with tools, and the rule that \
         checks it. The demands come from\npublic documentation, SDK types, error texts in public \
         reports, and runs of the providers' own packages; each rule's page\nsays which. Of {} demands \
         {open} are not checked.\n",
        facts().count()
    );
    for family in FAMILIES {
        let _ = write!(page, "\n## {}\n\n", family.title);
        for (at, fact) in family.facts.iter().enumerate() {
            let number = format!("{}{}", family.letter, at + 1);
            let _ = match fact.checked {
                Checked::By(code) => writeln!(page, "- {number} {} {}", fact.demand, link(code)),
                Checked::Not(why) => writeln!(page, "- {number} {} *Not checked:* {why}.", fact.demand),
            };
        }
    }
    page.push_str(&beside());
    page
}

fn link(code: u16) -> String {
    rules::ALL.iter().find(|rule| rule.code == code).map_or_else(
        || format!("FW{code}"),
        |rule| format!("[{}](rules/{})", rule.label(), file_name(rule)),
    )
}

/// Rules that stand behind no row: what they find follows from several demands at once.
fn beside() -> String {
    let mapped: BTreeSet<u16> = FAMILIES
        .iter()
        .flat_map(|family| family.facts)
        .filter_map(|fact| match fact.checked {
            Checked::By(code) => Some(code),
            Checked::Not(_) => None,
        })
        .collect();
    let mut text = String::new();
    for rule in rules::ALL.iter().filter(|rule| !mapped.contains(&rule.code)) {
        let _ = writeln!(text, "- {}: {}", link(rule.code), rule.summary);
    }
    if text.is_empty() {
        return text;
    }
    format!(
        "\n## Rules without a row\n\n\
         What these find is refused as a consequence of several demands above, or is inferred; their \
         pages say so.\n\n{text}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_is_complete_and_names_rules_that_exist() {
        let sizes: Vec<(char, usize)> =
            FAMILIES.iter().map(|family| (family.letter, family.facts.len())).collect();
        let expected =
            [('P', 8), ('O', 8), ('I', 9), ('C', 16), ('R', 6), ('T', 12), ('X', 24), ('F', 12)];
        assert_eq!(sizes, expected);
        for fact in FAMILIES.iter().flat_map(|family| family.facts) {
            if let Checked::By(code) = fact.checked {
                assert!(rules::ALL.iter().any(|rule| rule.code == code), "FW{code}");
            }
        }
    }
}
