//! Repairs a history after a provider refused it, based on the error message.

use bytes::Bytes;
use foxwedge_core::{
    CheckOptions, ErrorExplanation, Format, Policy, Profile, RuleSet, Strategy, classify_open_call,
    display_id, explain, placeholder_text,
};
use foxwedge_formats::{outline_options, read, text};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::{json, value::RawValue};

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
    /// The error that the provider sent.
    pub error: &'a str,
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
    let RefusedRequest { body: sent, error, format, profile, model } = refused;
    let source = text(sent).ok()?;
    let mut named = RuleSet::default();
    [explanation.code].iter().chain(explanation.other_codes).for_each(|code| named.add(*code));
    let policy = Policy { allow_unsafe: true, ..policy };
    if format == Format::OpenaiResponses
        && explanation.code == 101
        && let Some((body, changes)) = answer_stored_calls(source, error, policy, &explanation.ids)
    {
        let check_options = CheckOptions { profile, rules: named, policy };
        return Some(RepairedRetry { body: body.into(), check_options, changes });
    }
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

/// Adds placeholder results for calls that the server stores and the error names, whatever the policy
/// says of calls without a result: these cannot be dropped. `None` if the request continues no stored
/// conversation, or has the calls itself.
fn answer_stored_calls(
    source: &str,
    error: &str,
    policy: Policy,
    calls: &[&str],
) -> Option<(String, CountedList<RepairChange>)> {
    #[derive(Deserialize)]
    struct StoredHistory<'a> {
        previous_response_id: Option<IgnoredAny>,
        conversation: Option<IgnoredAny>,
        #[serde(borrow)]
        input: &'a RawValue,
    }
    let request: StoredHistory<'_> = serde_json::from_str(source).ok()?;
    request.previous_response_id.or(request.conversation)?;
    let kind = match error.to_lowercase() {
        error if error.contains("for function call") => "function_call_output",
        error if error.contains("for custom tool call") => "custom_tool_call_output",
        _ => return None,
    };
    let input = request.input.get();
    let is_stored = |call: &&&str| !input.contains(&json!(call).to_string());
    let calls: Vec<&str> = calls.iter().filter(is_stored).copied().collect();
    let placeholder = placeholder_text(classify_open_call(None), policy.language);
    let result = |call: &&str| json!({ "type": kind, "call_id": call, "output": placeholder });
    let results: Vec<String> = calls.iter().map(|call| result(call).to_string()).collect();
    let results = results.join(",");
    // Results come before what the user says next.
    let items = match input.strip_prefix('[') {
        Some(items) if items.trim_start().starts_with(']') => format!("[{results}{items}"),
        Some(items) => format!("[{results},{items}"),
        None if input.starts_with('"') => {
            format!(r#"[{results},{{"role":"user","content":{input}}}]"#)
        }
        None => return None,
    };
    let start = input.as_ptr() as usize - source.as_ptr() as usize;
    let (before, after) = (source.get(..start)?, source.get(start + input.len()..)?);
    let change = |call: &&str| RepairChange {
        code: 101,
        strategy: Strategy::Synthesize.name(),
        message: 0,
        calls: vec![(*call).to_owned()],
        note: format!("call {} gets a placeholder result", display_id(Some(call))),
    };
    let changes: Vec<RepairChange> = calls.iter().map(change).collect();
    (!calls.is_empty()).then(|| ([before, &items, after].concat(), changes.into()))
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
