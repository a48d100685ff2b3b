//! Limits the tools that are offered to a model to as many as its provider takes.

use foxwedge_core::Profile;

use foxwedge_upstream::model::max_tools;

/// The tool limit of a provider, as learned from its errors.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ToolOffer {
    /// Set after a refusal.
    learned_limit: Option<usize>,
}

impl ToolOffer {
    /// How many tools may be offered.
    pub(super) fn max_tools(self, profile: Profile) -> usize {
        let known = max_tools(profile).unwrap_or(usize::MAX);
        self.learned_limit.map_or(known, |learned| learned.min(known))
    }

    /// Halves the limit after the provider refused `offered` tools; `None` if none would be left.
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
    fn refused_offer_is_halved_until_no_tool_is_left() {
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
