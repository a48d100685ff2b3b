//! What a repair may change at most, and what a cut must keep. SPEC 4.2.

use super::{
    AbstractHistory, AbstractPart, DEMANDS, HistoryLayout, HistoryPairing, ModelResult, ResultFate,
    SenderSide, broken_clauses,
};

/// What a repair changed, or may change.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RepairCost {
    /// Placeholders.
    pub placeholders: usize,
    /// Results that are none any more.
    pub strays: usize,
    /// Calls, results and texts that stand elsewhere.
    pub moves: usize,
}

/// The most that a repair may change: a placeholder for each open call, a quotation for each second
/// result and each one without a call, and a move for each part that is not in its place.
pub fn allowed_cost(
    history: &AbstractHistory,
    profile: &str,
    layout: HistoryLayout,
    waiting: bool,
) -> RepairCost {
    let history = &history.laid_out(layout);
    let pairing = HistoryPairing::new(history, layout);
    // Instructions that are refused behind a call become a text of the user: the wait ends.
    let refused = broken_clauses(history, profile, layout, waiting).0.contains(&406);
    let mut tail = history.0.iter().rev().take_while(|it| it.side != SenderSide::Model);
    let waits = waiting && !(refused && tail.any(|it| it.side == SenderSide::System));
    let runs = |turn: usize| waits && pairing.may_run(history, turn);
    let is_stray = |result: &&ModelResult| !matches!(result.fate, ResultFate::Of(_));
    RepairCost {
        placeholders: pairing.calls.iter().filter(|it| !it.answered && !runs(it.turn)).count(),
        strays: pairing.results.iter().filter(is_stray).count(),
        moves: misplaced_parts(history, &pairing, profile),
    }
}

/// Results that are not in the place of their turn, or behind something else in their message, and
/// texts behind a call where calls come last.
fn misplaced_parts(history: &AbstractHistory, pairing: &HistoryPairing, profile: &str) -> usize {
    let demands = |code: u16| {
        DEMANDS
            .iter()
            .any(|it| it.0 == code && (it.1.contains(&profile) || it.2.contains(&profile)))
    };
    let in_place = |call: usize| {
        let home = &pairing.turns[pairing.calls[call].turn].home;
        let own = |it: &ModelResult| it.fate == ResultFate::Of(call) && home.contains(&it.message);
        pairing.results.iter().any(own)
    };
    let is_whole = |turn: usize| {
        let mut calls = pairing.calls.iter().enumerate().filter(|(_, call)| call.turn == turn);
        calls.all(|(index, _)| in_place(index))
    };
    let is_elsewhere = |result: &ModelResult, is_first: bool| {
        let ResultFate::Of(call) = result.fate else { return false };
        let call = &pairing.calls[call];
        let turn = &pairing.turns[call.turn];
        // A turn of several messages may become several turns, each with its results.
        let divided = demands(106) || !is_whole(call.turn);
        let parted = divided && call.message + 1 < turn.messages.end;
        // OpenAI accepts an output anywhere behind its call.
        let anywhere = profile == "openai-responses" && result.message > call.message;
        !anywhere && (parted || !is_first || !turn.home.contains(&result.message))
    };
    let mut results = pairing.results.iter();
    let mut count = 0;
    for message in &history.0 {
        let (mut is_first, mut has_called) = (true, false);
        for part in &message.parts {
            count += usize::from(match part {
                AbstractPart::Result(..) | AbstractPart::Placeholder(_) => {
                    results.next().is_some_and(|result| is_elsewhere(result, is_first))
                }
                AbstractPart::Text(_) => has_called && demands(306),
                _ => false,
            });
            is_first &= part.result_id().is_some();
            has_called |= matches!(part, AbstractPart::Call(_));
        }
    }
    count
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

/// The histories that leave out one text that an engine wrote. Each of them is invalid, or the text was
/// not needed.
pub fn without_written_texts(history: &AbstractHistory) -> impl Iterator<Item = AbstractHistory> {
    let places = history.0.iter().enumerate().flat_map(|(at, message)| {
        let written = |(_, part): &(usize, &AbstractPart)| **part == AbstractPart::Filler;
        message.parts.iter().enumerate().filter(written).map(move |(part, _)| (at, part))
    });
    places.map(|(at, part)| {
        let mut shorter = history.clone();
        shorter.0[at].parts.remove(part);
        shorter.0.retain(|message| !message.parts.is_empty());
        shorter
    })
}

/// What a cut must keep: instructions at the beginning, and the last request of the user.
pub fn required_texts(history: &AbstractHistory) -> Vec<AbstractPart> {
    let is_text = |(_, part): &(SenderSide, AbstractPart)| matches!(part, AbstractPart::Text(_));
    let leading = history.parts().take_while(|(side, _)| *side == SenderSide::System);
    let of_user = history.parts().filter(|(side, _)| *side == SenderSide::User);
    leading.chain(of_user.filter(is_text).last()).map(|(_, part)| part).collect()
}
