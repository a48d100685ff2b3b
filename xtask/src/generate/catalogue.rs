//! The page of demands that no rule checks.

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
    let total = facts().count();
    let _ = write!(
        page,
        "# What is not checked\n\n\
         {total} demands of providers and agents on a history with tools are known, from public \
         documentation, SDK types, error texts\nin public reports, and runs of the providers' own \
         packages. The [rules](rules/README.md) check {} of them; each rule's page\nnames its evidence. \
         The other {open} are listed here.\n",
        total - open,
    );
    for family in FAMILIES {
        let mut checked = BTreeSet::new();
        let mut list = String::new();
        for (at, fact) in family.facts.iter().enumerate() {
            match fact.checked {
                Checked::By(code) => _ = checked.insert(code),
                Checked::Not(why) => {
                    let number = format!("{}{}", family.letter, at + 1);
                    let _ = writeln!(list, "- {number} {} *Why:* {why}.", fact.demand);
                }
            }
        }
        let rules: Vec<String> = checked.into_iter().map(link).collect();
        let _ = write!(page, "\n## {}\n\nChecked: {}.\n", family.title, rules.join(", "));
        if !list.is_empty() {
            let _ = write!(page, "\n{list}");
        }
    }
    page
}

fn link(code: u16) -> String {
    rules::ALL.iter().find(|rule| rule.code == code).map_or_else(
        || format!("FW{code}"),
        |rule| format!("[{}](rules/{})", rule.label(), file_name(rule)),
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
