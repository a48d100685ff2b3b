//! The page of demands that no rule checks.

use std::fmt::Write as _;

use foxwedge_core::rules;

use super::{
    facts::{Checked, FAMILIES, Fact},
    pages::notice,
};

/// `docs/catalogue.md`.
pub(super) fn page() -> String {
    let mut page = notice();
    let total = FAMILIES.iter().flat_map(|family| family.facts).count();
    let checked = FAMILIES.iter().flat_map(|family| family.facts).filter(|fact| is_checked(fact));
    let checked = checked.count();
    let _ = write!(
        page,
        "# What is not checked\n\n\
         {total} demands of providers and agents on a history with tools are known, from public \
         documentation, SDK types, error texts\nin public reports, and runs of the providers' own \
         packages. The [rules](rules/README.md) check {checked} of them; each rule's page\nnames its evidence. \
         The other {} are listed here.\n",
        total - checked,
    );
    for family in FAMILIES {
        let mut list = String::new();
        for (at, fact) in family.facts.iter().enumerate() {
            if let Checked::Not(why) = fact.checked {
                let number = format!("{}{}", family.letter, at + 1);
                let _ = writeln!(list, "- {number} {} *Why:* {why}.", fact.demand);
            }
        }
        if !list.is_empty() {
            let _ = write!(page, "\n## {}\n\n{list}", family.title);
        }
    }
    page
}

/// Whether a rule that exists checks the demand.
fn is_checked(fact: &Fact) -> bool {
    matches!(fact.checked, Checked::By(code) if rules::ALL.iter().any(|rule| rule.code == code))
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
            let is_open = matches!(fact.checked, Checked::Not(_));
            assert!(is_open || is_checked(fact), "{}", fact.demand);
        }
    }
}
