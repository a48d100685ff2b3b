//! What may differ after a conversion, and how often: what is on the list of losses, and what was
//! mended for whoever gets the request.
//!
//! Each kind of loss excuses exactly its own kind of difference.

use std::collections::BTreeMap;

use foxwedge_core::{Edit, Strategy};
use foxwedge_dialect::{convert::ConvertedRequest, model::LossKind};

use crate::{Facet, Gist, difference, missing};

/// What is told, by what it excuses.
#[derive(Clone, Debug, Default)]
pub(super) struct Excuses(BTreeMap<Facet, usize>);

/// What can be counted.
const COUNTED: [Facet; 9] = [
    Facet::Arguments,
    Facet::ErrorMarks,
    Facet::Media,
    Facet::Thoughts,
    Facet::Seals,
    Facet::Refusals,
    Facet::Others,
    Facet::CacheMarks,
    Facet::Citations,
];

impl Excuses {
    /// What conversions told, one after the other.
    pub(super) fn of(ways: &[&ConvertedRequest]) -> Excuses {
        let mut excuses = Excuses::default();
        for converted in ways {
            for loss in &converted.losses {
                lost(loss.kind).iter().for_each(|facet| excuses.add(*facet));
            }
            for edit in converted.source_edits.iter().chain(&converted.target_edits) {
                mended(edit).iter().for_each(|facet| excuses.add(*facet));
            }
        }
        excuses
    }

    fn add(&mut self, facet: Facet) {
        *self.0.entry(facet).or_default() += 1;
    }

    /// Whether nothing is excused.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What differs without an excuse.
    pub(super) fn unexcused(&self, before: &Gist, after: &Gist) -> Option<String> {
        for facet in COUNTED {
            let (gone, told) = (missing(before, after, facet), self.told(facet));
            if gone > told {
                return Some(format!("{gone} {facet:?} are gone, {told} are told"));
            }
        }
        let forget = |gist: &Gist| self.0.keys().fold(gist.clone(), |gist, it| gist.without(*it));
        difference(&forget(before), &forget(after))
    }

    fn told(&self, facet: Facet) -> usize {
        self.0.get(&facet).copied().unwrap_or(0)
    }
}

fn lost(what: LossKind) -> &'static [Facet] {
    match what {
        // They may be told by the user, and hold nothing but text.
        LossKind::Instructions => &[Facet::Sides, Facet::Media, Facet::Others],
        LossKind::Reasoning => &[Facet::Thoughts, Facet::Seals],
        LossKind::Signature => &[Facet::Seals],
        LossKind::Media => &[Facet::Media],
        LossKind::ErrorMark => &[Facet::ErrorMarks],
        LossKind::Order => &[Facet::Order],
        LossKind::Arguments => &[Facet::Arguments],
        LossKind::CacheMark => &[Facet::CacheMarks],
        LossKind::Citation => &[Facet::Citations],
        LossKind::Refusal => &[Facet::Refusals],
        LossKind::ServerCall | LossKind::Unknown => &[Facet::Others],
        LossKind::Tool
        | LossKind::ToolChoice
        | LossKind::Setting
        | LossKind::StopReason
        | LossKind::Usage
        | LossKind::Candidates => &[],
    }
}

/// What a repair changes in what is said. Most repairs change nothing: they move answers home, give ids,
/// join messages, or say words of our own.
fn mended(edit: &Edit) -> &'static [Facet] {
    let thoughts = edit.note.contains("reasoning") || edit.note.contains("thinking");
    match edit.code {
        _ if edit.strategy == Strategy::DropThinking => &[Facet::Thoughts, Facet::Seals],
        _ if edit.strategy == Strategy::Drop && thoughts => &[Facet::Thoughts, Facet::Seals],
        // Of a message that only thinks, nothing is left where thoughts do not count.
        301 if edit.strategy == Strategy::Drop => &[Facet::Thoughts, Facet::Seals],
        // Whoever wants answers without a call dropped loses what answers a search of the provider.
        102 if edit.strategy == Strategy::Drop => &[Facet::Others],
        207 => &[Facet::Names],
        302 => &[Facet::Arguments],
        305 | 306 | 310 | 402 => &[Facet::Order],
        406 | 407 => &[Facet::Sides],
        601 | 602 => &[Facet::Others],
        _ => &[],
    }
}
