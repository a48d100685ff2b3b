//! Preview of a compaction: a naive cut that only counts messages or tokens, and our cut that
//! never separates a tool call from its result. Nothing is written.

use foxwedge_core::{
    CheckOptions, Draft, DraftCall, Format, PartKind, Policy, check,
    compact::{HistoryFraction, TokenLimits},
    pair_calls,
};
use foxwedge_formats::{
    compact::{
        CompactError, CompactedText, CompactionSettings, CompactionStage, DigestSummarizer,
        MessageOutcome, compact,
    },
    outline_options, read,
};
use foxwedge_tokens::{CachedCounter, CountingMethod, ModelTokenizer};
use serde_json::{Value, json};

use super::LocalSessionError;
use crate::{
    check_settings::CheckSettings,
    input_format::InputFormat,
    provider_conversation::ProviderConversation,
    source::{self, InputHint, InputRejection, ParsedInput},
};

/// Texts whose token counts are cached.
const TOKEN_CACHE_SIZE: usize = 1 << 16;

/// Above this size tokens are estimated, because an exact count takes too long.
const MAX_EXACT_BYTES: usize = 8 << 20;

/// Limits for listed orphans and message weights.
const MAX_ORPHANS: usize = 200;
const MAX_WEIGHTS: usize = 2_000;

/// What to compact.
#[derive(Clone, Debug)]
pub enum CompactionSubject {
    /// A session file.
    File(String),
    /// A request, or a list of messages.
    Body {
        /// The JSON text.
        text: String,
        /// The format, if the client names it.
        wire: Option<Format>,
    },
}

/// Options of a compaction preview.
#[derive(Clone, Debug)]
pub struct CompactionPreviewOptions {
    /// How much to remove.
    pub cut: CompactionAmount,
    /// The model whose tokens are counted, if it is not the one in the conversation.
    pub model: Option<String>,
}

/// How much a compaction removes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum CompactionAmount {
    /// This share of the messages.
    Fraction(f64),
    /// All but what fits into this many tokens.
    Budget(u64),
}

/// Preview for the conversation of a session file.
pub(super) fn preview_source(
    source: &ParsedInput<'_>,
    preview: &CompactionPreviewOptions,
) -> Result<Value, LocalSessionError> {
    let none = || LocalSessionError::Unreadable("it contains no conversation".into());
    let document = source.documents.first().ok_or_else(none)?;
    let conversation = ProviderConversation::of(document);
    let model = preview.model.as_deref().or(conversation.model);
    let (format, options) = (conversation.wire, conversation.check_options);
    preview_cut(&conversation.text, format, options, model, preview.cut)
}

/// Preview for a request or a list of messages.
pub(super) fn preview_body(
    text: &str,
    format: Option<Format>,
    preview: &CompactionPreviewOptions,
) -> Result<Value, LocalSessionError> {
    let settings = CheckSettings::of(format.map(InputFormat::Wire), Policy::default());
    let hint = InputHint { is_json_lines: false, from_folder: false };
    let readable = source::decode_text(text.as_bytes());
    let readable = readable.map_err(|failure| LocalSessionError::Unreadable(failure.message))?;
    match source::parse_input(&readable, hint, &settings) {
        Ok(source) => preview_source(&source, preview),
        Err(InputRejection::Failed(failure)) => Err(LocalSessionError::Unreadable(failure.message)),
        Err(InputRejection::Skipped) => {
            Err(LocalSessionError::Unreadable("it contains no conversation".into()))
        }
    }
}

fn preview_cut(
    text: &str,
    format: Format,
    options: CheckOptions,
    model: Option<&str>,
    cut: CompactionAmount,
) -> Result<Value, LocalSessionError> {
    let read_error =
        |error: foxwedge_formats::ReadError| LocalSessionError::Unreadable(error.to_string());
    let reading = read(text, format, outline_options(options.profile)).map_err(read_error)?;
    let tokenizer = match text.len() {
        length if length > MAX_EXACT_BYTES => ModelTokenizer::of(estimated_counting()),
        _ => ModelTokenizer::for_model(model),
    };
    let mut counter = CachedCounter::new(tokenizer, TOKEN_CACHE_SIZE);
    let (stage, limits) = match cut {
        CompactionAmount::Fraction(share) => (
            CompactionStage::Window(HistoryFraction::new(share).unwrap_or(HistoryFraction::HALF)),
            None,
        ),
        CompactionAmount::Budget(tokens) => {
            (CompactionStage::Budget, Some(TokenLimits::new(tokens, tokens)))
        }
    };
    let settings = CompactionSettings {
        question: options,
        stages: vec![stage],
        limits,
        pins: Vec::new(),
        elision: Default::default(),
        recent: None,
    };
    let compacted = compact(text, format, &settings, &mut counter, &mut DigestSummarizer)
        .map_err(compact_refusal)?;
    let account = &compacted.account;
    let weights: Vec<u64> = account.messages.iter().map(|(tokens, _)| *tokens).collect();
    let naive = naive_cut(cut, &weights, account.before.surroundings);
    let (orphans, split_total) = split_pairs(&reading.draft, naive);
    let left = |from: usize| weights.iter().skip(from).sum::<u64>();
    let first = weights.first().copied().unwrap_or(0);
    let naive_tokens = match naive {
        cut if cut <= 1 => account.before.tokens,
        cut => account.before.surroundings + first + left(cut),
    };
    let actual_cut = account.stages.iter().find_map(|stage| stage.cut).map(|cut| cut.actual);
    let (step, weights) = sum_weights(&weights);
    Ok(json!({
        "tokens": {
            "before": account.before.tokens,
            "after": account.after.tokens,
            "naive": naive_tokens,
            "counting": tokenizer.counting().name(),
            "exact": account.exact,
        },
        "messages": { "before": account.before.messages, "after": account.after.messages },
        "asked": match cut {
            CompactionAmount::Fraction(share) => json!({ "fraction": share, "budget": null }),
            CompactionAmount::Budget(tokens) => json!({ "fraction": null, "budget": tokens }),
        },
        "repaired": account.repaired.len(),
        "naive": {
            "cut": naive,
            "orphans": orphans,
            "orphans_total": split_total,
            "sound": split_total == 0,
        },
        "ours": {
            "cut": actual_cut.or_else(|| account.removed_ranges().last().map(|range| range.end)),
            "kept": message_ranges(&compacted, |outcome| outcome == MessageOutcome::Unchanged),
            "changed": message_ranges(&compacted, |outcome| outcome == MessageOutcome::Changed),
            "gone": message_ranges(&compacted, |outcome| {
                outcome == MessageOutcome::Removed || outcome == MessageOutcome::Summarized
            }),
            "sound": is_valid(&compacted, format, &options),
        },
        "weights": weights,
        "weights_step": step,
    }))
}

/// The counting method that does not use a tokenizer vocabulary.
fn estimated_counting() -> CountingMethod {
    CountingMethod::all()
        .find(|counting| !counting.is_exact())
        .unwrap_or_else(|| ModelTokenizer::for_model(None).counting())
}

/// Where a cut would be that only counts messages or tokens. The first message stays.
fn naive_cut(cut: CompactionAmount, weights: &[u64], around: u64) -> usize {
    let count = weights.len();
    match cut {
        CompactionAmount::Fraction(share) => {
            let behind = count.saturating_sub(1) as u64;
            let raw = HistoryFraction::new(share).map_or(0, |share| share.of(behind));
            let raw = usize::try_from(raw).unwrap_or(0);
            (1 + raw - raw % 2).min(count)
        }
        CompactionAmount::Budget(tokens) => {
            let total: u64 = around + weights.iter().sum::<u64>();
            let mut over = total.saturating_sub(tokens);
            let mut cut = 1;
            for weight in weights.iter().skip(1) {
                if over == 0 {
                    break;
                }
                over = over.saturating_sub(*weight);
                cut += 1;
            }
            cut.min(count)
        }
    }
}

/// The pairs that a cut separates, and their total number.
fn split_pairs(draft: &Draft<'_>, cut: usize) -> (Vec<Value>, usize) {
    let is_removed = |message: usize| (1..cut).contains(&message);
    let pairing = pair_calls(draft);
    let (mut listed, mut total) = (Vec::new(), 0);
    for call in &pairing.calls {
        let answer = call.answer().and_then(|answer| pairing.answers.get(answer));
        let is_call_removed = is_removed(call.message());
        let Some(answer) = answer.filter(|answer| is_removed(answer.message()) != is_call_removed)
        else {
            continue;
        };
        total += 1;
        if listed.len() < MAX_ORPHANS {
            let named: Option<&DraftCall<'_>> =
                match draft.parts.get(call.part()).map(|part| &part.kind) {
                    Some(PartKind::Call(call)) => Some(call),
                    _ => None,
                };
            listed.push(json!({
                "call": {
                    "id": named.and_then(|call| call.id.as_deref()),
                    "name": named.and_then(|call| call.name.as_deref()),
                    "message": call.message(),
                },
                "answer": { "message": answer.message() },
                "lost": if is_call_removed { "call" } else { "answer" },
            }));
        }
    }
    (listed, total)
}

/// Ranges of the messages with a wanted outcome.
fn message_ranges(
    compacted: &CompactedText<'_>,
    wanted: impl Fn(MessageOutcome) -> bool,
) -> Vec<[usize; 2]> {
    let mut ranges: Vec<[usize; 2]> = Vec::new();
    for (at, (_, outcome)) in compacted.account.messages.iter().enumerate() {
        if !wanted(*outcome) {
            continue;
        }
        match ranges.last_mut() {
            Some(range) if range[1] == at => range[1] = at + 1,
            Some(_) | None => ranges.push([at, at + 1]),
        }
    }
    ranges
}

/// Parses the compacted text again and checks it.
fn is_valid(compacted: &CompactedText<'_>, format: Format, options: &CheckOptions) -> bool {
    let again = read(&compacted.text, format, outline_options(options.profile));
    again.is_ok_and(|reading| check(&reading.draft, options).is_clean())
}

/// Sums of `step` weights each, so that there are at most `MAX_WEIGHTS`.
fn sum_weights(weights: &[u64]) -> (usize, Vec<u64>) {
    let step = weights.len().div_ceil(MAX_WEIGHTS).max(1);
    (step, weights.chunks(step).map(|chunk| chunk.iter().sum()).collect())
}

fn compact_refusal(error: CompactError) -> LocalSessionError {
    match error {
        CompactError::CannotShrink(_) | CompactError::NeedsBudget(_) => {
            LocalSessionError::CannotShrink(error.to_string())
        }
        error => LocalSessionError::Unreadable(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A history in which some cuts separate a tool call from its result.
    const PAIRS: &str = r#"[{"role":"user","content":"go"},
        {"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"a","content":"1"},
        {"role":"assistant","tool_calls":[{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"b","content":"2"},
        {"role":"assistant","content":"done"},
        {"role":"user","content":"more"}]"#;

    #[test]
    fn naive_cut_splits_pairs_and_ours_does_not() {
        for tenths in 0..=10_u32 {
            let preview = CompactionPreviewOptions {
                cut: CompactionAmount::Fraction(f64::from(tenths) / 10.0),
                model: None,
            };
            let response =
                preview_body(PAIRS, Some(Format::OpenaiChat), &preview).expect("it is a history");
            assert_eq!(response["ours"]["sound"], true, "{tenths}: {response}");
            let cut = response["naive"]["cut"].as_u64().expect("a number");
            let parts = cut == 2 || cut == 4;
            assert_eq!(response["naive"]["sound"], !parts, "{tenths}: {response}");
        }
        let preview = CompactionPreviewOptions { cut: CompactionAmount::Budget(45), model: None };
        let response = preview_body(PAIRS, None, &preview).expect("it is a history");
        assert!(response["tokens"]["after"].as_u64() <= Some(45), "{response}");
        assert_eq!(response["weights"].as_array().map(Vec::len), Some(7));
    }

    #[test]
    fn unreadable_or_unshrinkable_input_is_an_error() {
        let preview = |cut| CompactionPreviewOptions { cut, model: None };
        assert!(matches!(
            preview_body("{}", None, &preview(CompactionAmount::Budget(9))),
            Err(LocalSessionError::Unreadable(_))
        ));
        assert!(matches!(
            preview_body("\"", None, &preview(CompactionAmount::Budget(9))),
            Err(LocalSessionError::Unreadable(_))
        ));
        let none =
            preview_body(PAIRS, Some(Format::OpenaiChat), &preview(CompactionAmount::Budget(1)));
        assert!(matches!(none, Err(LocalSessionError::CannotShrink(_))), "{none:?}");
    }
}
