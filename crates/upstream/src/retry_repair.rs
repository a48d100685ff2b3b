//! Repairs a history once after a provider refused it, based on the error message.

use bytes::Bytes;
use foxwedge_core::{CheckOptions, ErrorExplanation, Format, Policy, Profile, RuleSet, explain};
use foxwedge_formats::{outline_options, read, text};

use crate::{CountedList, RepairChange, changes_of};

/// What a provider error is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RejectionClass {
    /// The shape of the history: the rule, as the number in its code.
    Shape(u16),
    /// Something else.
    Other,
}

/// Classifies a provider error.
pub fn classify_rejection(error: &str) -> (RejectionClass, Option<ErrorExplanation<'_>>) {
    match explain(error) {
        Some(explanation) => (RejectionClass::Shape(explanation.code), Some(explanation)),
        None => (RejectionClass::Other, None),
    }
}

/// A request that a provider refused.
#[derive(Clone, Copy)]
pub struct RefusedRequest<'a> {
    /// The body that was sent.
    pub body: &'a Bytes,
    /// Its format.
    pub format: Format,
    /// The profile that its history satisfies.
    pub profile: Profile,
    /// The upstream's name of the model.
    pub model: &'a str,
}

/// A request that was repaired after a provider error.
pub struct RepairedRetry {
    /// The body.
    pub body: Bytes,
    /// The options of the repair: stricter than those of the first check.
    pub check_options: CheckOptions,
    /// The changes.
    pub changes: CountedList<RepairChange>,
}

/// Repairs the request for the rules that the error names, whatever profile they belong to; `None`
/// if that changes nothing.
pub fn repair_for_retry(
    refused: RefusedRequest<'_>,
    policy: Policy,
    explanation: &ErrorExplanation<'_>,
) -> Option<RepairedRetry> {
    let RefusedRequest { body: sent, format, profile, model } = refused;
    let source = text(sent).ok()?;
    let mut named = RuleSet::default();
    [explanation.code].iter().chain(explanation.other_codes).for_each(|code| named.add(*code));
    let policy = Policy { allow_unsafe: true, ..policy };
    // Other rules of a stricter profile would change what the provider accepts.
    let profiles = [error_profile(explanation.provider, format), Some(profile)];
    let profiles = profiles.into_iter().flatten().chain([Profile::Strict]);
    let tries = profiles.map(|profile| CheckOptions { profile, rules: named, policy });
    tries.into_iter().find_map(|check_options| {
        let mut reading = read(source, format, outline_options(check_options.profile)).ok()?;
        reading.draft.body.model = Some(model.into());
        let (patched, repair) = reading.fix(&check_options);
        let body = patched.to_string();
        // The same bytes would be refused again.
        (body != source).then(|| {
            let changes = changes_of(repair.edits);
            RepairedRetry { body: body.into(), check_options, changes }
        })
    })
}

/// The profile of the provider that words an error so. Many providers copy the wordings of others.
fn error_profile(provider: &str, format: Format) -> Option<Profile> {
    match (provider, format) {
        ("mistral", _) => Some(Profile::Mistral),
        ("deepseek", _) => Some(Profile::Deepseek),
        ("anthropic", _) => Some(Profile::Anthropic),
        ("bedrock", _) => Some(Profile::Bedrock),
        ("openai", Format::OpenaiResponses) => Some(Profile::OpenaiResponses),
        ("openai", _) => Some(Profile::OpenaiChat),
        ("gemini" | "google", Format::GeminiInteractions) => Some(Profile::GeminiInteractions),
        ("gemini" | "google", _) => Some(Profile::Gemini),
        _ => None,
    }
}
