//! How many tools are offered to a model: as many as its provider takes.

use foxwedge_core::Profile;

use crate::model::max_tools;

/// What was learned about how many tools a provider takes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ToolOffer {
    /// So many were not refused, as far as anybody knows.
    learned_limit: Option<usize>,
}

impl ToolOffer {
    /// How many tools may be offered.
    pub(super) fn max_tools(self, profile: Profile) -> usize {
        let known = max_tools(profile).unwrap_or(usize::MAX);
        self.learned_limit.map_or(known, |learned| learned.min(known))
    }

    /// The provider refused so many: half of them from now on, of which there have to be some.
    pub(super) fn reduce(&mut self, offered: usize) -> Option<usize> {
        let fewer = offered / 2;
        (fewer > 0).then(|| {
            self.learned_limit = Some(fewer);
            fewer
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offer_that_is_refused_becomes_smaller_until_nothing_is_left() {
        let mut offer = ToolOffer::default();
        assert_eq!(offer.max_tools(Profile::OpenaiChat), 128);
        assert_eq!(offer.max_tools(Profile::Anthropic), usize::MAX);
        assert_eq!(offer.reduce(128), Some(64));
        assert_eq!(offer.max_tools(Profile::OpenaiChat), 64);
        assert_eq!(offer.max_tools(Profile::Anthropic), 64);
        let mut all = Vec::new();
        let mut offered = 64;
        while let Some(fewer) = offer.reduce(offered) {
            all.push(fewer);
            offered = fewer;
        }
        assert_eq!(all, [32, 16, 8, 4, 2, 1]);
    }
}
