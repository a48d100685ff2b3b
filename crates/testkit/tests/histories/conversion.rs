//! Requests in another format: the laws, the behaviours that conversion owes to the seeds and to its
//! peers, whole requests for every target, and recordings of real clients.

mod laws;
mod seeds;
mod peers;
mod providers;
mod requests;
mod recorded;
mod digests;

use foxwedge_core::{Format, Policy, Profile};
use foxwedge_formats::{
    convert::{ConversionOptions, ConvertedRequest, request},
    model::LossKind,
};
use foxwedge_testkit::laws::{
    LawCase, LawTally,
    conversion::{judge, target},
};
use serde_json::Value;

/// Repairs that speak for the user are allowed.
const BOLD: Policy = Policy {
    allow_unsafe: true,
    unanswered: foxwedge_core::UnansweredPolicy::Answer,
    orphans: foxwedge_core::OrphanPolicy::Quote,
    tail: foxwedge_core::TailPolicy::Dead,
    language: foxwedge_core::PlaceholderLanguage::English,
};

/// A document for a profile, in the format that its provider reads. No law may be broken on the way.
fn sent(from: Format, profile: Profile, document: &str) -> ConvertedRequest {
    under(from, profile, BOLD, document)
}

/// The same under a policy.
fn under(from: Format, profile: Profile, policy: Policy, document: &str) -> ConvertedRequest {
    lawful(from, profile, policy, document);
    let options =
        ConversionOptions { profile: Some(profile), policy, ..ConversionOptions::default() };
    request(document, from, target(profile), &options).expect("a test document can be read")
}

/// Asserts that the laws hold for a document.
fn lawful(from: Format, profile: Profile, policy: Policy, document: &str) {
    let case = LawCase { seed: 0, agent: None, wire: from, profile, policy, size: 0 };
    if let Err((law, what)) = judge(&case, document, &mut LawTally::default()) {
        let (from, to) = (from.name(), profile.name());
        panic!("{law} is broken from {from} to {to}\n{document}\n{what}");
    }
}

/// The messages of a converted request.
fn list(converted: &ConvertedRequest) -> Vec<Value> {
    crate::support::list(&crate::support::value(&converted.body))
}

/// The shape of a converted request.
fn shape(converted: &ConvertedRequest) -> String {
    crate::support::shape(&list(converted))
}

/// What was lost, in order.
fn lost(converted: &ConvertedRequest) -> Vec<LossKind> {
    converted.losses.iter().map(|loss| loss.kind).collect()
}
