//! The page of demands that no rule checks.

use std::fmt::Write as _;

use super::{
    facts::{Checked, FAMILIES},
    pages::notice,
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
         These {open} are not checked:\n",
        total - open,
    );
    for family in FAMILIES {
        let unchecked = family.facts.iter().filter_map(|fact| match fact.checked {
            Checked::Not(why) => Some(format!("- {} *Why:* {why}.\n", fact.demand)),
            Checked::By(_) => None,
        });
        let list: String = unchecked.collect();
        if !list.is_empty() {
            let _ = write!(page, "\n## {}\n\n{list}", family.title);
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use foxwedge_core::rules;

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
