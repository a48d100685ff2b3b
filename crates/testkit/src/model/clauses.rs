//! What providers demand of pairing, order, ids and roles. SPEC 6.

use std::collections::BTreeSet;

use super::{AbstractHistory, AbstractPart, HistoryLayout, HistoryPairing, ResultFate, SenderSide};

/// A clause: its code, the profiles with evidence that they demand it, those of which it is only
/// inferred, and whether a history breaks it.
pub struct ClauseDemand(
    pub u16,
    pub &'static [&'static str],
    pub &'static [&'static str],
    fn(&ClauseCase<'_>) -> bool,
);

/// What a clause is about.
struct ClauseCase<'c> {
    history: &'c AbstractHistory,
    pairing: HistoryPairing,
    profile: &'c str,
    /// Whether calls at the end may still be running.
    waiting: bool,
}

const CHAT: &str = "openai-chat";
const RESPONSES: &str = "openai-responses";
const ANTHROPIC: &str = "anthropic";
const GEMINI: &str = "gemini";
const BEDROCK: &str = "bedrock";
const INTERACTIONS: &str = "gemini-interactions";
const MISTRAL: &str = "mistral";
const DEEPSEEK: &str = "deepseek";

const PAIRED: &[&str] = &[CHAT, RESPONSES, ANTHROPIC, GEMINI, BEDROCK, MISTRAL, DEEPSEEK];

/// The clauses of the model.
pub const DEMANDS: [ClauseDemand; 13] = [
    ClauseDemand(101, PAIRED, &[INTERACTIONS], |case| {
        case.pairing.calls.iter().any(|call| {
            let runs = case.waiting && case.pairing.may_run(case.history, call.turn);
            !call.answered && !runs
        })
    }),
    ClauseDemand(102, PAIRED, &[INTERACTIONS], |case| {
        case.any_result(|_, fate| fate == ResultFate::Orphan)
    }),
    ClauseDemand(
        103,
        &[RESPONSES, ANTHROPIC, GEMINI, BEDROCK, MISTRAL, DEEPSEEK],
        &[CHAT, INTERACTIONS],
        |case| {
            case.any_result(|at, fate| {
                let ResultFate::Of(call) = fate else { return false };
                let call = &case.pairing.calls[call];
                let turn = &case.pairing.turns[call.turn];
                // OpenAI accepts an output anywhere behind its call.
                let anywhere = case.profile == RESPONSES && at > call.message;
                !anywhere && !turn.home.contains(&at) && !turn.late.contains(&at)
            })
        },
    ),
    ClauseDemand(
        104,
        &[CHAT, ANTHROPIC, BEDROCK, MISTRAL],
        &[RESPONSES, GEMINI, INTERACTIONS, DEEPSEEK],
        |case| case.any_result(|_, fate| fate == ResultFate::Second),
    ),
    ClauseDemand(105, &[ANTHROPIC, GEMINI, BEDROCK], &[], |case| {
        case.any_result(|at, fate| match fate {
            ResultFate::Of(call) => {
                case.pairing.turns[case.pairing.calls[call].turn].late.contains(&at)
            }
            ResultFate::Second | ResultFate::Orphan => false,
        })
    }),
    ClauseDemand(106, &[BEDROCK, MISTRAL, DEEPSEEK], &[], |case| {
        case.pairing.turns.iter().any(|turn| turn.messages.len() > 1)
    }),
    ClauseDemand(
        201,
        &[ANTHROPIC, MISTRAL],
        &[CHAT, RESPONSES, BEDROCK, INTERACTIONS, DEEPSEEK],
        |case| {
            let mut seen = BTreeSet::new();
            case.pairing.calls.iter().any(|call| !seen.insert((call.turn, call.id)))
        },
    ),
    ClauseDemand(305, &[ANTHROPIC, BEDROCK], &[GEMINI], |case| {
        case.history.0.iter().any(|message| {
            let mut parts = message.parts.iter().skip_while(|part| part.result_id().is_some());
            message.side == SenderSide::User && parts.any(|part| part.result_id().is_some())
        })
    }),
    ClauseDemand(306, &[], &[ANTHROPIC], |case| {
        case.history.0.iter().any(|message| {
            let mut parts =
                message.parts.iter().skip_while(|part| !matches!(part, AbstractPart::Call(_)));
            parts.any(|part| matches!(part, AbstractPart::Text(_)))
        })
    }),
    ClauseDemand(401, &[ANTHROPIC, GEMINI], &[BEDROCK], |case| {
        let first = case.history.0.iter().find(|message| message.side != SenderSide::System);
        first.is_some_and(|message| {
            message.side == SenderSide::Model && (case.profile != GEMINI || message.has_calls())
        })
    }),
    ClauseDemand(402, &[GEMINI, BEDROCK], &[], |case| {
        case.any_neighbors(|at, before, side| {
            let one_turn = case
                .pairing
                .turns
                .iter()
                .any(|turn| turn.messages.contains(&(at - 1)) && turn.messages.contains(&at));
            let calls = case.history.0[at].has_calls();
            before == side
                && side != SenderSide::System
                && !one_turn
                && (case.profile != GEMINI || side == SenderSide::Model && calls)
        })
    }),
    ClauseDemand(404, &[MISTRAL, BEDROCK], &[], |case| {
        // On Bedrock only models of Mistral demand it.
        case.profile == MISTRAL
            && case.any_neighbors(|at, _, side| {
                side == SenderSide::User
                    && case.history.0[at - 1].is_result()
                    && !case.history.0[at].is_result()
            })
    }),
    ClauseDemand(406, &[ANTHROPIC, GEMINI, BEDROCK, MISTRAL], &[], |case| {
        let mut messages = case.history.0.iter().enumerate();
        messages.any(|(at, message)| {
            let before = at.checked_sub(1).map(|at| &case.history.0[at]);
            let after_model = before.is_some_and(|it| it.side == SenderSide::Model);
            message.side == SenderSide::System
                && match case.profile {
                    ANTHROPIC => {
                        let mut later = case.history.0[at + 1..].iter();
                        let next = later.find(|next| next.side != SenderSide::System);
                        before.is_none()
                            || after_model
                            || next.is_some_and(|next| next.side == SenderSide::User)
                    }
                    MISTRAL => after_model || before.is_some_and(|it| it.is_result()),
                    _ => true,
                }
        })
    }),
];

/// The clauses that a history breaks for a profile: those that are known, and those inferred.
pub fn broken_clauses(
    history: &AbstractHistory,
    profile: &str,
    layout: HistoryLayout,
    waiting: bool,
) -> (BTreeSet<u16>, BTreeSet<u16>) {
    let history = &history.laid_out(layout);
    let pairing = HistoryPairing::new(history, layout);
    let case = ClauseCase { history, pairing, profile, waiting };
    let broken = |of: fn(&ClauseDemand) -> &'static [&'static str]| {
        let demanded = DEMANDS.iter().filter(|demand| of(demand).contains(&profile));
        demanded.filter(|demand| demand.3(&case)).map(|demand| demand.0).collect()
    };
    (broken(|demand| demand.1), broken(|demand| demand.2))
}

impl ClauseCase<'_> {
    fn any_result(&self, broken: impl Fn(usize, ResultFate) -> bool) -> bool {
        self.pairing.results.iter().any(|result| broken(result.message, result.fate))
    }

    fn any_neighbors(&self, broken: impl Fn(usize, SenderSide, SenderSide) -> bool) -> bool {
        let messages = &self.history.0;
        (1..messages.len()).any(|at| broken(at, messages[at - 1].side, messages[at].side))
    }
}
