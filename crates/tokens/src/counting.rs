//! How the tokens of a model are counted: exactly, or by an estimate.

use crate::{estimate::TokenizerFamily, vocabulary::TokenVocabulary};

/// A method of counting.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum CountingMethod {
    /// With the model's own vocabulary.
    Exact(TokenVocabulary),
    /// By an estimate for its family.
    Estimate(TokenizerFamily),
}

impl CountingMethod {
    /// Every method.
    pub fn all() -> impl Iterator<Item = CountingMethod> {
        let exact = TokenVocabulary::ALL.into_iter().map(CountingMethod::Exact);
        exact.chain(TokenizerFamily::ALL.into_iter().map(CountingMethod::Estimate))
    }

    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            CountingMethod::Exact(vocabulary) => vocabulary.name(),
            CountingMethod::Estimate(TokenizerFamily::Neutral) => "estimate",
            CountingMethod::Estimate(TokenizerFamily::Claude) => "estimate-claude",
            CountingMethod::Estimate(TokenizerFamily::EarlyClaude) => "estimate-early-claude",
            CountingMethod::Estimate(TokenizerFamily::Gemini) => "estimate-gemini",
        }
    }

    /// The method of that name.
    pub fn parse(name: &str) -> Option<CountingMethod> {
        let exact = TokenVocabulary::parse(name).map(CountingMethod::Exact);
        exact.or_else(|| CountingMethod::all().find(|method| method.name() == name))
    }

    /// Whether it is exact, not an estimate.
    pub fn is_exact(self) -> bool {
        match self {
            CountingMethod::Exact(_) => true,
            CountingMethod::Estimate(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_methods_parse_from_their_names() {
        for method in CountingMethod::all() {
            assert_eq!(CountingMethod::parse(method.name()), Some(method));
        }
        for family in TokenizerFamily::ALL {
            assert_eq!(TokenizerFamily::parse(family.name()), Some(family));
        }
        let table = [
            ("o200k_base", Some(CountingMethod::Exact(TokenVocabulary::O200k))),
            ("estimate", Some(CountingMethod::Estimate(TokenizerFamily::Neutral))),
            ("estimate-claude", Some(CountingMethod::Estimate(TokenizerFamily::Claude))),
            ("estimate-neutral", None),
            ("", None),
        ];
        for (name, expected) in table {
            assert_eq!(CountingMethod::parse(name), expected, "{name}");
        }
    }
}
