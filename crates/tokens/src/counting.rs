//! How a model's tokens are counted: exactly, or by an estimate.

use crate::{estimate::Family, vocabulary::Vocabulary};

/// A way of counting.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum Counting {
    /// With the model's own vocabulary.
    Exact(Vocabulary),
    /// By an estimate for its family.
    Estimate(Family),
}

impl Counting {
    /// Every way of counting.
    pub fn all() -> impl Iterator<Item = Counting> {
        let exact = Vocabulary::ALL.into_iter().map(Counting::Exact);
        exact.chain(Family::ALL.into_iter().map(Counting::Estimate))
    }

    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Counting::Exact(vocabulary) => vocabulary.name(),
            Counting::Estimate(Family::Neutral) => "estimate",
            Counting::Estimate(Family::Claude) => "estimate-claude",
            Counting::Estimate(Family::EarlyClaude) => "estimate-early-claude",
            Counting::Estimate(Family::Gemini) => "estimate-gemini",
        }
    }

    /// The way of counting of that name.
    pub fn parse(name: &str) -> Option<Counting> {
        let exact = Vocabulary::parse(name).map(Counting::Exact);
        exact.or_else(|| Counting::all().find(|counting| counting.name() == name))
    }

    /// Whether it is more than an estimate.
    pub fn is_exact(self) -> bool {
        match self {
            Counting::Exact(_) => true,
            Counting::Estimate(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ways_of_counting_belong_together() {
        for counting in Counting::all() {
            assert_eq!(Counting::parse(counting.name()), Some(counting));
        }
        for family in Family::ALL {
            assert_eq!(Family::parse(family.name()), Some(family));
        }
        let table = [
            ("o200k_base", Some(Counting::Exact(Vocabulary::O200k))),
            ("estimate", Some(Counting::Estimate(Family::Neutral))),
            ("estimate-claude", Some(Counting::Estimate(Family::Claude))),
            ("estimate-neutral", None),
            ("", None),
        ];
        for (name, expected) in table {
            assert_eq!(Counting::parse(name), expected, "{name}");
        }
    }
}
