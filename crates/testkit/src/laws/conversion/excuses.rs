//! What may differ after a conversion, and how often: reported losses, and repairs for the target
//! provider.
//!
//! Each kind of loss allows exactly its own kind of difference.

use std::collections::BTreeMap;

use foxwedge_core::{Edit, Strategy};
use foxwedge_formats::{convert::ConvertedRequest, model::LossKind};

use crate::{DocumentGist, GistFacet, difference, missing};

/// Allowed differences, with their number.
#[derive(Clone, Debug, Default)]
pub(super) struct LossAllowance(BTreeMap<GistFacet, usize>);

/// Facets whose differences can be counted.
const COUNTED: [GistFacet; 9] = [
    GistFacet::Arguments,
    GistFacet::ErrorMarks,
    GistFacet::Media,
    GistFacet::Thoughts,
    GistFacet::Seals,
    GistFacet::Refusals,
    GistFacet::Others,
    GistFacet::CacheMarks,
    GistFacet::Citations,
];

impl LossAllowance {
    /// The allowance from the losses and edits of these conversions.
    pub(super) fn of(conversions: &[&ConvertedRequest]) -> LossAllowance {
        let mut excuses = LossAllowance::default();
        for converted in conversions {
            for loss in &converted.losses {
                lost(loss.kind).iter().for_each(|facet| excuses.add(*facet));
            }
            for edit in converted.source_edits.iter().chain(&converted.target_edits) {
                mended(edit).iter().for_each(|facet| excuses.add(*facet));
            }
        }
        excuses
    }

    fn add(&mut self, facet: GistFacet) {
        *self.0.entry(facet).or_default() += 1;
    }

    /// Whether no difference is allowed.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first difference that is not allowed.
    pub(super) fn unexcused(&self, before: &DocumentGist, after: &DocumentGist) -> Option<String> {
        for facet in COUNTED {
            let (absent, reported) = (missing(before, after, facet), self.told(facet));
            if absent > reported {
                return Some(format!("{absent} {facet:?} are gone, {reported} are told"));
            }
        }
        let forget =
            |gist: &DocumentGist| self.0.keys().fold(gist.clone(), |gist, it| gist.without(*it));
        difference(&forget(before), &forget(after))
    }

    fn told(&self, facet: GistFacet) -> usize {
        self.0.get(&facet).copied().unwrap_or(0)
    }
}

fn lost(what: LossKind) -> &'static [GistFacet] {
    match what {
        // Instructions may become text of the user, and they hold only text.
        LossKind::Instructions => &[GistFacet::Sides, GistFacet::Media, GistFacet::Others],
        LossKind::Reasoning => &[GistFacet::Thoughts, GistFacet::Seals],
        LossKind::Signature => &[GistFacet::Seals],
        LossKind::Media => &[GistFacet::Media],
        LossKind::ErrorMark => &[GistFacet::ErrorMarks],
        LossKind::Order => &[GistFacet::Order],
        LossKind::Arguments => &[GistFacet::Arguments],
        LossKind::CacheMark => &[GistFacet::CacheMarks],
        LossKind::Citation => &[GistFacet::Citations],
        LossKind::Refusal => &[GistFacet::Refusals],
        LossKind::ServerCall | LossKind::Unknown => &[GistFacet::Others],
        LossKind::Tool
        | LossKind::ToolChoice
        | LossKind::Setting
        | LossKind::StopReason
        | LossKind::Usage
        | LossKind::Candidates => &[],
    }
}

/// What a repair changes in the content. Most repairs change nothing: they move results to their
/// turn, assign ids, join messages, or add text of our own.
fn mended(edit: &Edit) -> &'static [GistFacet] {
    let thoughts = edit.note.contains("reasoning") || edit.note.contains("thinking");
    match edit.code {
        _ if edit.strategy == Strategy::DropThinking => &[GistFacet::Thoughts, GistFacet::Seals],
        _ if edit.strategy == Strategy::Drop && thoughts => {
            &[GistFacet::Thoughts, GistFacet::Seals]
        }
        // A message with only reasoning has no content left where reasoning does not count.
        301 if edit.strategy == Strategy::Drop => &[GistFacet::Thoughts, GistFacet::Seals],
        // A policy that drops results without a call also drops the results of provider-run
        // searches.
        102 if edit.strategy == Strategy::Drop => &[GistFacet::Others],
        207 => &[GistFacet::Names],
        302 => &[GistFacet::Arguments],
        305 | 306 | 310 | 402 => &[GistFacet::Order],
        406 | 407 => &[GistFacet::Sides],
        601 | 602 => &[GistFacet::Others],
        _ => &[],
    }
}
