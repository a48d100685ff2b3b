//! What a compaction would do: the cut as one would make it by counting messages, and the one that
//! parts nothing. Nothing is written.

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
use foxwedge_gateway::console::{CompactionAmount, CompactionPreviewOptions, LocalSessionError};
use foxwedge_tokens::{CachedCounter, CountingMethod, ModelTokenizer};
use serde_json::{Value, json};

use crate::{
    check_settings::CheckSettings,
    cli::InputFormat,
    compact::ProviderConversation,
    source::{self, InputHint, InputRejection, ParsedInput},
};

/// Texts whose tokens are remembered.
const TOKEN_CACHE_SIZE: usize = 1 << 16;

/// Beyond so many bytes tokens are estimated: nobody waits for an exact number.
const MAX_EXACT_BYTES: usize = 8 << 20;

/// Parted pairs that are listed, and weights.
const MAX_ORPHANS: usize = 200;
const MAX_WEIGHTS: usize = 2_000;

/// The conversation of a session file.
pub(super) fn preview_source(
    source: &ParsedInput<'_>,
    wish: &CompactionPreviewOptions,
) -> Result<Value, LocalSessionError> {
    let none = || LocalSessionError::Unreadable("there is no conversation in it".into());
    let document = source.documents.first().ok_or_else(none)?;
    let conversation = ProviderConversation::of(document);
    let model = wish.model.as_deref().or(conversation.model);
    preview_cut(&conversation.text, conversation.wire, conversation.check_options, model, wish.cut)
}

/// A request, or a list of messages.
pub(super) fn preview_body(
    text: &str,
    wire: Option<Format>,
    wish: &CompactionPreviewOptions,
) -> Result<Value, LocalSessionError> {
    let ask = CheckSettings::of(wire.map(InputFormat::Wire), Policy::default());
    let manner = InputHint { is_json_lines: false, from_folder: false };
    let readable = source::decode_text(text.as_bytes());
    let readable = readable.map_err(|failure| LocalSessionError::Unreadable(failure.message))?;
    match source::parse_input(&readable, manner, &ask) {
        Ok(source) => preview_source(&source, wish),
        Err(InputRejection::Failed(failure)) => Err(LocalSessionError::Unreadable(failure.message)),
        Err(InputRejection::Skipped) => {
            Err(LocalSessionError::Unreadable("there is no conversation in it".into()))
        }
    }
}

fn preview_cut(
    text: &str,
    wire: Format,
    question: CheckOptions,
    model: Option<&str>,
    cut: CompactionAmount,
) -> Result<Value, LocalSessionError> {
    let unread =
        |error: foxwedge_formats::ReadError| LocalSessionError::Unreadable(error.to_string());
    let reading = read(text, wire, outline_options(question.profile)).map_err(unread)?;
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
        question,
        stages: vec![stage],
        limits,
        pins: Vec::new(),
        elision: Default::default(),
        recent: None,
    };
    let compacted = compact(text, wire, &settings, &mut counter, &mut DigestSummarizer)
        .map_err(compact_refusal)?;
    let account = &compacted.account;
    let weights: Vec<u64> = account.messages.iter().map(|(tokens, _)| *tokens).collect();
    let naive = naive_cut(cut, &weights, account.before.surroundings);
    let (orphans, parted) = split_pairs(&reading.draft, naive);
    let left = |from: usize| weights.iter().skip(from).sum::<u64>();
    let first = weights.first().copied().unwrap_or(0);
    let naive_tokens = match naive {
        cut if cut <= 1 => account.before.tokens,
        cut => account.before.surroundings + first + left(cut),
    };
    let made = account.stages.iter().find_map(|stage| stage.cut).map(|cut| cut.actual);
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
            "orphans_total": parted,
            "sound": parted == 0,
        },
        "ours": {
            "cut": made.or_else(|| account.removed_ranges().last().map(|range| range.end)),
            "kept": message_ranges(&compacted, |became| became == MessageOutcome::Unchanged),
            "changed": message_ranges(&compacted, |became| became == MessageOutcome::Changed),
            "gone": message_ranges(&compacted, |became| {
                became == MessageOutcome::Removed || became == MessageOutcome::Summarized
            }),
            "sound": is_valid(&compacted, wire, &question),
        },
        "weights": weights,
        "weights_step": step,
    }))
}

/// How tokens are counted where nobody's vocabulary is used.
fn estimated_counting() -> CountingMethod {
    CountingMethod::all()
        .find(|counting| !counting.is_exact())
        .unwrap_or_else(|| ModelTokenizer::for_model(None).counting())
}

/// Where somebody would cut who counts messages or tokens and looks at nothing else. The first
/// message stays.
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

/// The pairs of which a cut takes one half, and how many there are.
fn split_pairs(draft: &Draft<'_>, cut: usize) -> (Vec<Value>, usize) {
    let goes = |message: usize| (1..cut).contains(&message);
    let pairing = pair_calls(draft);
    let (mut listed, mut total) = (Vec::new(), 0);
    for call in &pairing.calls {
        let answer = call.answer().and_then(|answer| pairing.answers.get(answer));
        let Some(answer) = answer.filter(|answer| goes(answer.message()) != goes(call.message()))
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
                "lost": if goes(call.message()) { "call" } else { "answer" },
            }));
        }
    }
    (listed, total)
}

/// Messages that became something, as ranges.
fn message_ranges(
    compacted: &CompactedText<'_>,
    wanted: impl Fn(MessageOutcome) -> bool,
) -> Vec<[usize; 2]> {
    let mut ranges: Vec<[usize; 2]> = Vec::new();
    for (at, (_, became)) in compacted.account.messages.iter().enumerate() {
        if !wanted(*became) {
            continue;
        }
        match ranges.last_mut() {
            Some(range) if range[1] == at => range[1] = at + 1,
            Some(_) | None => ranges.push([at, at + 1]),
        }
    }
    ranges
}

/// Read again and judged again.
fn is_valid(compacted: &CompactedText<'_>, wire: Format, question: &CheckOptions) -> bool {
    let again = read(&compacted.text, wire, outline_options(question.profile));
    again.is_ok_and(|reading| check(&reading.draft, question).is_clean())
}

/// Weights, or sums of so many of them that there are not too many.
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

    /// Answers part from their calls at every odd cut.
    const PAIRS: &str = r#"[{"role":"user","content":"go"},
        {"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"a","content":"1"},
        {"role":"assistant","tool_calls":[{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"b","content":"2"},
        {"role":"assistant","content":"done"},
        {"role":"user","content":"more"}]"#;

    #[test]
    fn a_naive_cut_parts_pairs_and_ours_does_not() {
        for tenths in 0..=10_u32 {
            let wish = CompactionPreviewOptions {
                cut: CompactionAmount::Fraction(f64::from(tenths) / 10.0),
                model: None,
            };
            let told =
                preview_body(PAIRS, Some(Format::OpenaiChat), &wish).expect("it is a history");
            assert_eq!(told["ours"]["sound"], true, "{tenths}: {told}");
            let cut = told["naive"]["cut"].as_u64().expect("a number");
            let parts = cut == 2 || cut == 4;
            assert_eq!(told["naive"]["sound"], !parts, "{tenths}: {told}");
        }
        let wish = CompactionPreviewOptions { cut: CompactionAmount::Budget(45), model: None };
        let told = preview_body(PAIRS, None, &wish).expect("it is a history");
        assert!(told["tokens"]["after"].as_u64() <= Some(45), "{told}");
        assert_eq!(told["weights"].as_array().map(Vec::len), Some(7));
    }

    #[test]
    fn what_cannot_be_read_or_shortened_is_said() {
        let wish = |cut| CompactionPreviewOptions { cut, model: None };
        assert!(matches!(
            preview_body("{}", None, &wish(CompactionAmount::Budget(9))),
            Err(LocalSessionError::Unreadable(_))
        ));
        assert!(matches!(
            preview_body("\"", None, &wish(CompactionAmount::Budget(9))),
            Err(LocalSessionError::Unreadable(_))
        ));
        let none =
            preview_body(PAIRS, Some(Format::OpenaiChat), &wish(CompactionAmount::Budget(1)));
        assert!(matches!(none, Err(LocalSessionError::CannotShrink(_))), "{none:?}");
    }
}
