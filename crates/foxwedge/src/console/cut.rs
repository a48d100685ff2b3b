//! What a compaction would do: the cut as one would make it by counting messages, and the one that
//! parts nothing. Nothing is written.

use foxwedge_core::{
    Call, Draft, Kind, Policy, Question, Wire, check,
    compact::{Fraction, Limits},
    pair,
};
use foxwedge_dialect::{
    compact::{Became, CompactError, Compacted, Digest, Settings, Stage, compact},
    read, want,
};
use foxwedge_gateway::console::{Cut, Refusal, Wish};
use foxwedge_tokens::{Counting, Remembering, Tokenizer};
use serde_json::{Value, json};

use crate::{
    ask::Ask,
    cli::Format,
    compact::Conversation,
    source::{self, Closed, Manner, Source},
};

/// Texts whose tokens are remembered.
const REMEMBERED: usize = 1 << 16;

/// Beyond so many bytes tokens are estimated: nobody waits for an exact number.
const EXACT: usize = 8 << 20;

/// Parted pairs that are listed, and weights.
const ORPHANS: usize = 200;
const WEIGHTS: usize = 2_000;

/// The conversation of a session file.
pub(super) fn of_source(source: &Source<'_>, wish: &Wish) -> Result<Value, Refusal> {
    let none = || Refusal::Unreadable("there is no conversation in it".into());
    let document = source.documents.first().ok_or_else(none)?;
    let conversation = Conversation::of(document);
    let model = wish.model.as_deref().or(conversation.model);
    preview(&conversation.text, conversation.wire, conversation.question, model, wish.cut)
}

/// A request, or a list of messages.
pub(super) fn of_body(text: &str, wire: Option<Wire>, wish: &Wish) -> Result<Value, Refusal> {
    let ask = Ask::of(wire.map(Format::Wire), Policy::default());
    let manner = Manner { lines: false, walked: false };
    let readable = source::text(text.as_bytes());
    let readable = readable.map_err(|failure| Refusal::Unreadable(failure.message))?;
    match source::open(&readable, manner, &ask) {
        Ok(source) => of_source(&source, wish),
        Err(Closed::Failed(failure)) => Err(Refusal::Unreadable(failure.message)),
        Err(Closed::Skipped) => Err(Refusal::Unreadable("there is no conversation in it".into())),
    }
}

fn preview(
    text: &str,
    wire: Wire,
    question: Question,
    model: Option<&str>,
    cut: Cut,
) -> Result<Value, Refusal> {
    let unread = |error: foxwedge_dialect::ReadError| Refusal::Unreadable(error.to_string());
    let reading = read(text, wire, want(question.profile)).map_err(unread)?;
    let tokenizer = match text.len() {
        length if length > EXACT => Tokenizer::of(estimate()),
        _ => Tokenizer::for_model(model),
    };
    let mut counter = Remembering::new(tokenizer, REMEMBERED);
    let (stage, limits) = match cut {
        Cut::Fraction(share) => {
            (Stage::Window(Fraction::new(share).unwrap_or(Fraction::HALF)), None)
        }
        Cut::Budget(tokens) => (Stage::Budget, Some(Limits::new(tokens, tokens))),
    };
    let settings = Settings {
        question,
        stages: vec![stage],
        limits,
        pins: Vec::new(),
        elision: Default::default(),
        recent: None,
    };
    let compacted = compact(text, wire, &settings, &mut counter, &mut Digest).map_err(refused)?;
    let account = &compacted.account;
    let weights: Vec<u64> = account.messages.iter().map(|(tokens, _)| *tokens).collect();
    let naive = naive(cut, &weights, account.before.around);
    let (orphans, parted) = orphans(&reading.draft, naive);
    let left = |from: usize| weights.iter().skip(from).sum::<u64>();
    let first = weights.first().copied().unwrap_or(0);
    let naive_tokens = match naive {
        cut if cut <= 1 => account.before.tokens,
        cut => account.before.around + first + left(cut),
    };
    let made = account.stages.iter().find_map(|stage| stage.cut).map(|cut| cut.made);
    let (step, weights) = summed(&weights);
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
            Cut::Fraction(share) => json!({ "fraction": share, "budget": null }),
            Cut::Budget(tokens) => json!({ "fraction": null, "budget": tokens }),
        },
        "repaired": account.repaired.len(),
        "naive": {
            "cut": naive,
            "orphans": orphans,
            "orphans_total": parted,
            "sound": parted == 0,
        },
        "ours": {
            "cut": made.or_else(|| account.given_up().last().map(|range| range.end)),
            "kept": ranges(&compacted, |became| became == Became::Kept),
            "changed": ranges(&compacted, |became| became == Became::Changed),
            "gone": ranges(&compacted, |became| {
                became == Became::Gone || became == Became::Condensed
            }),
            "sound": is_sound(&compacted, wire, &question),
        },
        "weights": weights,
        "weights_step": step,
    }))
}

/// How tokens are counted where nobody's vocabulary is used.
fn estimate() -> Counting {
    Counting::all()
        .find(|counting| !counting.is_exact())
        .unwrap_or_else(|| Tokenizer::for_model(None).counting())
}

/// Where somebody would cut who counts messages or tokens and looks at nothing else. The first
/// message stays.
fn naive(cut: Cut, weights: &[u64], around: u64) -> usize {
    let count = weights.len();
    match cut {
        Cut::Fraction(share) => {
            let behind = count.saturating_sub(1) as u64;
            let raw = Fraction::new(share).map_or(0, |share| share.of(behind));
            let raw = usize::try_from(raw).unwrap_or(0);
            (1 + raw - raw % 2).min(count)
        }
        Cut::Budget(tokens) => {
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
fn orphans(draft: &Draft<'_>, cut: usize) -> (Vec<Value>, usize) {
    let goes = |message: usize| (1..cut).contains(&message);
    let pairing = pair(draft);
    let (mut listed, mut total) = (Vec::new(), 0);
    for call in &pairing.calls {
        let answer = call.answer().and_then(|answer| pairing.answers.get(answer));
        let Some(answer) = answer.filter(|answer| goes(answer.message()) != goes(call.message()))
        else {
            continue;
        };
        total += 1;
        if listed.len() < ORPHANS {
            let named: Option<&Call<'_>> = match draft.parts.get(call.part()).map(|part| &part.kind)
            {
                Some(Kind::Call(call)) => Some(call),
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
fn ranges(compacted: &Compacted<'_>, wanted: impl Fn(Became) -> bool) -> Vec<[usize; 2]> {
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
fn is_sound(compacted: &Compacted<'_>, wire: Wire, question: &Question) -> bool {
    let again = read(&compacted.text, wire, want(question.profile));
    again.is_ok_and(|reading| check(&reading.draft, question).is_clean())
}

/// Weights, or sums of so many of them that there are not too many.
fn summed(weights: &[u64]) -> (usize, Vec<u64>) {
    let step = weights.len().div_ceil(WEIGHTS).max(1);
    (step, weights.chunks(step).map(|chunk| chunk.iter().sum()).collect())
}

fn refused(error: CompactError) -> Refusal {
    match error {
        CompactError::CannotShrink(_) | CompactError::NeedsBudget(_) => {
            Refusal::CannotShrink(error.to_string())
        }
        error => Refusal::Unreadable(error.to_string()),
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
            let wish = Wish { cut: Cut::Fraction(f64::from(tenths) / 10.0), model: None };
            let told = of_body(PAIRS, Some(Wire::OpenaiChat), &wish).expect("it is a history");
            assert_eq!(told["ours"]["sound"], true, "{tenths}: {told}");
            let cut = told["naive"]["cut"].as_u64().expect("a number");
            let parts = cut == 2 || cut == 4;
            assert_eq!(told["naive"]["sound"], !parts, "{tenths}: {told}");
        }
        let wish = Wish { cut: Cut::Budget(45), model: None };
        let told = of_body(PAIRS, None, &wish).expect("it is a history");
        assert!(told["tokens"]["after"].as_u64() <= Some(45), "{told}");
        assert_eq!(told["weights"].as_array().map(Vec::len), Some(7));
    }

    #[test]
    fn what_cannot_be_read_or_shortened_is_said() {
        let wish = |cut| Wish { cut, model: None };
        assert!(matches!(of_body("{}", None, &wish(Cut::Budget(9))), Err(Refusal::Unreadable(_))));
        assert!(matches!(of_body("\"", None, &wish(Cut::Budget(9))), Err(Refusal::Unreadable(_))));
        let none = of_body(PAIRS, Some(Wire::OpenaiChat), &wish(Cut::Budget(1)));
        assert!(matches!(none, Err(Refusal::CannotShrink(_))), "{none:?}");
    }
}
