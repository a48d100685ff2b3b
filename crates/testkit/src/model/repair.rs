//! What a repair and a cut may cost. SPEC 4.2.
//!
//! A repair is valid, loses nothing, and changes the least: every open call costs one placeholder,
//! every stray result one quotation, every other change one. [`least_cost`] is what the
//! specification needs; an engine may not need more.

use super::{AbstractHistory, AbstractPart, HistoryLayout, HistoryPairing, ResultFate, SenderSide};

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
    let history = history.laid_out(layout);
    let pairing = HistoryPairing::new(&history, layout);
    let (known, inferred) = super::broken_clauses(&history, profile, layout, waiting);
    let broken = |code: u16| known.contains(&code) || inferred.contains(&code);
    let keeps_place = profile == "openai-responses";
    let mut repaired: Vec<(SenderSide, AbstractPart)> = Vec::new();
    let mut cost = RepairCost::default();
    let mut results = pairing.results.iter();
    for (at, message) in history.0.iter().enumerate() {
        for part in &message.parts {
            let fate = part.result_id().and_then(|_| results.next()).map(|result| result.fate);
            match (fate, part) {
                (Some(ResultFate::Of(call)), _)
                    if keeps_place && pairing.calls[call].message < at =>
                {
                    repaired.push((message.side, *part));
                }
                (Some(ResultFate::Of(_)), _) => {}
                (
                    Some(ResultFate::Second | ResultFate::Orphan),
                    AbstractPart::Result(_, number),
                ) => {
                    cost.strays += 1;
                    repaired.push((SenderSide::User, AbstractPart::Quote(*number)));
                }
                _ => repaired.push((message.side, *part)),
            }
        }
        let ended = |turn: &super::ModelTurn| turn.messages.end == at + 1;
        for turn in (0..pairing.turns.len()).filter(|turn| ended(&pairing.turns[*turn])) {
            for result in &pairing.results {
                let ResultFate::Of(call) = result.fate else { continue };
                let call = &pairing.calls[call];
                let stays = keeps_place && call.message < result.message;
                if let Some(number) = result.number.filter(|_| call.turn == turn && !stays) {
                    repaired.push((SenderSide::User, AbstractPart::Result(result.id, number)));
                }
            }
            let open = pairing.calls.iter().filter(|call| call.turn == turn && !call.answered);
            for call in open.filter(|_| broken(101)) {
                cost.placeholders += 1;
                repaired.push((SenderSide::User, AbstractPart::Placeholder(call.id)));
            }
        }
    }
    cost.moves = moves(&history, &repaired);
    cost.fillers = fillers(&repaired, profile);
    cost
}

/// What an engine changed, from a history to its repair.
pub fn repair_cost(before: &AbstractHistory, after: &AbstractHistory) -> RepairCost {
    let after: Vec<(SenderSide, AbstractPart)> = after.parts().collect();
    let count =
        |wanted: fn(&AbstractPart) -> bool| after.iter().filter(|(_, part)| wanted(part)).count();
    let is_result = |part: &AbstractPart| matches!(part, AbstractPart::Result(..));
    let results = before.parts().filter(|(_, part)| is_result(part)).count();
    RepairCost {
        placeholders: count(|part| matches!(part, AbstractPart::Placeholder(_))),
        strays: results.saturating_sub(count(|part| matches!(part, AbstractPart::Result(..)))),
        moves: moves(before, &after),
        fillers: count(|part| matches!(part, AbstractPart::Filler)),
    }
}

/// Parts of both that do not keep their order: all but a longest common subsequence. Instructions
/// may stand anywhere.
fn moves(before: &AbstractHistory, after: &[(SenderSide, AbstractPart)]) -> usize {
    let stays = |part: &AbstractPart| {
        matches!(part, AbstractPart::Text(_) | AbstractPart::Call(_) | AbstractPart::Result(..))
    };
    let spoken = before.parts().filter(|(side, part)| *side != SenderSide::System && stays(part));
    let before: Vec<AbstractPart> = spoken.map(|(_, part)| part).collect();
    let after: Vec<AbstractPart> =
        after.iter().map(|(_, part)| *part).filter(|part| before.contains(part)).collect();
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
/// the user.
fn fillers(parts: &[(SenderSide, AbstractPart)], profile: &str) -> usize {
    let mut spoken = parts.iter().filter(|(side, _)| *side != SenderSide::System);
    let first = spoken.next();
    let opens = first.is_some_and(|(side, part)| match profile {
        "anthropic" | "bedrock" => *side == SenderSide::Model,
        "gemini" => matches!(part, AbstractPart::Call(_)),
        _ => false,
    });
    let after_result = parts.windows(2).filter(|pair| {
        let speaks = pair[1].0 == SenderSide::User && pair[1].1.result_id().is_none();
        profile == "mistral" && pair[0].1.result_id().is_some() && speaks
    });
    usize::from(opens) + after_result.count()
}

/// What a cut must keep: instructions, and the last request of the user.
pub fn required_texts(history: &AbstractHistory) -> Vec<AbstractPart> {
    let texts = || history.parts().filter(|(_, part)| matches!(part, AbstractPart::Text(_)));
    let last = texts().filter(|(side, _)| *side == SenderSide::User).last();
    let system = texts().filter(|(side, _)| *side == SenderSide::System);
    system.chain(last).map(|(_, part)| part).collect()
}
