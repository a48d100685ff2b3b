//! What a repair and a cut may cost. SPEC 4.2.
//!
//! A repair is valid, loses nothing, and changes the least: every open call costs one placeholder,
//! every stray result one quotation, every other change one. [`least_cost`] is what the
//! specification needs; an engine may not need more.

use super::{
    AbstractHistory, AbstractPart, HistoryLayout, HistoryPairing, ModelCall, ModelResult,
    ResultFate, SenderSide, broken_clauses,
};

/// What a repair changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RepairCost {
    /// Placeholders.
    pub placeholders: usize,
    /// Results that are none any more.
    pub strays: usize,
    /// Calls, results and texts that stand elsewhere.
    pub moves: usize,
    /// Texts that were written.
    pub fillers: usize,
}

/// The cost of a repair that does what the specification needs and nothing else: results behind
/// their turn, placeholders for open calls, quotations of stray results, and a text where the
/// profile demands one.
pub fn least_cost(
    history: &AbstractHistory,
    profile: &str,
    layout: HistoryLayout,
    waiting: bool,
) -> RepairCost {
    let history = &history.laid_out(layout);
    let pairing = &HistoryPairing::new(history, layout);
    // Instructions that are not allowed behind a call become a text of the user: the wait ends.
    let mut tail = history.0.iter().rev().take_while(|it| it.side != SenderSide::Model);
    let refused = broken_clauses(history, profile, layout, waiting).0.contains(&406);
    let waits = waiting && !(refused && tail.any(|it| it.side == SenderSide::System));
    // A turn of several messages may stay one, or be parted into turns with results of their own.
    let several = pairing.turns.iter().any(|turn| turn.messages.len() > 1);
    let ways: &[bool] = if several { &[false, true] } else { &[false] };
    let costs = ways.iter().map(|parted| cost_of(history, pairing, profile, waits, *parted));
    costs.max_by_key(|cost| cost.moves).unwrap_or_default()
}

fn cost_of(
    history: &AbstractHistory,
    pairing: &HistoryPairing,
    profile: &str,
    waits: bool,
    parted: bool,
) -> RepairCost {
    // Results belong behind their turn; in one that is parted, behind the message of their call.
    let place = |call: &ModelCall| match parted {
        true => call.message,
        false => pairing.turns[call.turn].messages.end - 1,
    };
    // OpenAI accepts an output anywhere behind its call.
    let stays = |call: &ModelCall, at: usize| profile == "openai-responses" && call.message < at;
    let mut cost = RepairCost::default();
    let mut repaired: Vec<(SenderSide, AbstractPart)> = Vec::new();
    let mut results = pairing.results.iter();
    let open = pairing.calls.iter().rfind(|call| !call.answered).filter(|_| waits);
    let running = open.filter(|call| pairing.may_run(history, call.turn));
    let running = running.map(|call| &pairing.turns[call.turn].messages);
    let mut before_running = 0;
    for (at, message) in history.0.iter().enumerate() {
        if running.is_some_and(|turn| turn.start == at) {
            before_running = repaired.len();
        }
        let mut parts = message.parts.clone();
        if profile == "anthropic" {
            // Calls come last in their message.
            parts.sort_by_key(|part| matches!(part, AbstractPart::Call(_)));
        }
        for part in &parts {
            let fate = part.result_id().and_then(|_| results.next()).map(|result| result.fate);
            match (fate, part) {
                (Some(ResultFate::Of(call)), _) if !stays(&pairing.calls[call], at) => {}
                (
                    Some(ResultFate::Second | ResultFate::Orphan),
                    AbstractPart::Result(_, number),
                ) => {
                    cost.strays += 1;
                    // A text behind calls that run would end their wait.
                    let place = running.filter(|turn| turn.end <= at).map(|_| before_running);
                    let quote = (SenderSide::User, AbstractPart::Quote(*number));
                    repaired.insert(place.unwrap_or(repaired.len()), quote);
                }
                _ => repaired.push((message.side, *part)),
            }
        }
        // Those in their place keep their order; each other one comes before the first of them that
        // belongs to a later call.
        let mut behind: Vec<(usize, AbstractPart)> = Vec::new();
        let here = |result: &&ModelResult| matches!(result.fate, ResultFate::Of(call) if place(&pairing.calls[call]) == at);
        for result in pairing.results.iter().filter(here) {
            let ResultFate::Of(index) = result.fate else { continue };
            let call = &pairing.calls[index];
            if pairing.turns[call.turn].home.contains(&result.message)
                && !stays(call, result.message)
            {
                behind.push((index, AbstractPart::Result(result.id, result.number)));
            }
        }
        for (index, call) in pairing.calls.iter().enumerate().filter(|(_, it)| place(it) == at) {
            let result = pairing.results.iter().find(|it| it.fate == ResultFate::Of(index));
            let part = match result {
                Some(result) if stays(call, result.message) => continue,
                Some(_) if behind.iter().any(|(other, _)| *other == index) => continue,
                Some(result) => AbstractPart::Result(result.id, result.number),
                None if waits && pairing.may_run(history, call.turn) => continue,
                None => {
                    cost.placeholders += 1;
                    AbstractPart::Placeholder(call.id)
                }
            };
            let later = behind.iter().position(|(other, _)| *other > index);
            behind.insert(later.unwrap_or(behind.len()), (index, part));
        }
        let behind = behind.into_iter().map(|(_, part)| part);
        repaired.extend(behind.map(|part| (SenderSide::User, part)));
    }
    cost.moves = moves(history, &repaired);
    cost.fillers = fillers(&repaired, profile);
    cost
}

/// Parts of both that do not keep their order: all but a longest common subsequence. Instructions
/// may stand anywhere.
pub fn moves(before: &AbstractHistory, after: &[(SenderSide, AbstractPart)]) -> usize {
    let identity = |part: AbstractPart| match part {
        AbstractPart::Text(number) | AbstractPart::Result(_, number) => Some((number, 0)),
        AbstractPart::Call(id) => Some((0, id)),
        AbstractPart::Placeholder(_) | AbstractPart::Quote(_) | AbstractPart::Filler => None,
    };
    let spoken = before.parts().filter(|(side, _)| *side != SenderSide::System);
    let before: Vec<(u32, u8)> = spoken.filter_map(|(_, part)| identity(part)).collect();
    let after = after.iter().filter_map(|(_, part)| identity(*part));
    let after: Vec<(u32, u8)> = after.filter(|part| before.contains(part)).collect();
    let mut row = vec![0; after.len() + 1];
    for one in &before {
        let mut diagonal = 0;
        for (at, two) in after.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if one == two { diagonal + 1 } else { above.max(row[at]) };
            diagonal = above;
        }
    }
    after.len() - row[after.len()]
}

/// Texts that roles demand: a user before the model, and for Mistral the model between a result and
/// the user. Instructions behind a result become a text of the user there.
fn fillers(parts: &[(SenderSide, AbstractPart)], profile: &str) -> usize {
    let spoken = parts.iter().skip_while(|(side, _)| *side == SenderSide::System);
    let mut opening = spoken.take_while(|(side, _)| *side == SenderSide::Model).peekable();
    let opens = match profile {
        "anthropic" | "bedrock" => opening.peek().is_some(),
        "gemini" => opening.any(|(_, part)| matches!(part, AbstractPart::Call(_))),
        _ => false,
    };
    let after_result = parts.windows(2).filter(|pair| {
        let speaks = pair[1].0 != SenderSide::Model && pair[1].1.result_id().is_none();
        profile == "mistral" && pair[0].1.result_id().is_some() && speaks
    });
    usize::from(opens) + after_result.count()
}

/// What a cut must keep: instructions at the beginning, and the last request of the user.
pub fn required_texts(history: &AbstractHistory) -> Vec<AbstractPart> {
    let is_text = |(_, part): &(SenderSide, AbstractPart)| matches!(part, AbstractPart::Text(_));
    let leading = history.parts().take_while(|(side, _)| *side == SenderSide::System);
    let of_user = history.parts().filter(|(side, _)| *side == SenderSide::User);
    leading.chain(of_user.filter(is_text).last()).map(|(_, part)| part).collect()
}
