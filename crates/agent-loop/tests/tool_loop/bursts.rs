//! Any number of pieces at once, and any end behind them: none is lost.

use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::{Arc, Mutex, PoisonError},
    task::Poll,
};

use foxwedge_agent_loop::tool_loop::LoopHandle;
use foxwedge_core::Format;
use foxwedge_run::{Outcome, RunUsage};
use foxwedge_store::AnyStore;
use foxwedge_testkit::Random;
use foxwedge_tools::ToolFuture;
use foxwedge_upstream::model::{
    ChatModel, ModelDescription, ModelError, ReplyDelta, ReplyStopReason, ReplyStream,
    ReplyToolCall, ValidRequest,
};

use crate::{
    account::{LAST, ReplyAccount, pieces, run},
    ground,
    points::{runtime, stride},
    script::{self, Say, WIRES, provider, trouble},
    streams::SentPiece,
};

/// A model that has so many pieces ready at once, and then none for a moment.
struct BurstModel {
    about: ModelDescription,
    wire: Format,
    replies: Mutex<VecDeque<Vec<SentPiece>>>,
    /// How many pieces are ready at once, round and round.
    bursts: Vec<usize>,
    /// What comes behind the first reply.
    end: BurstEnd,
    handle: Mutex<Option<LoopHandle>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BurstEnd {
    Whole,
    /// It breaks off behind its last piece.
    Error,
    /// Somebody interrupts as soon as so many pieces were taken.
    Pressed(usize),
}

impl BurstModel {
    fn new(wire: Format, sent: &[SentPiece], bursts: &[usize], end: BurstEnd) -> Arc<BurstModel> {
        let (name, profile) = script::named(provider(wire));
        let about = ModelDescription { name: name.into(), wire, profile, window: None };
        let mut replies = VecDeque::from([sent.to_vec()]);
        replies.push_back(vec![SentPiece::Text(LAST.to_owned())]);
        let (replies, handle) = (Mutex::new(replies), Mutex::new(None));
        Arc::new(BurstModel { about, wire, replies, bursts: bursts.to_vec(), end, handle })
    }
}

impl ChatModel for BurstModel {
    fn about(&self) -> &ModelDescription {
        &self.about
    }

    fn send(&self, _: ValidRequest) -> Box<dyn ReplyStream> {
        let mut replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = replies.len() == 2;
        let sent = replies.pop_front().unwrap_or_default();
        let mut pieces: VecDeque<ReplyDelta> = sent.into_iter().map(piece).collect();
        let end = if is_first { self.end } else { BurstEnd::Whole };
        if end == BurstEnd::Whole {
            pieces.push_back(ReplyDelta::Stop(ReplyStopReason::Done));
        }
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (bursts, wire) = (self.bursts.clone(), self.wire);
        let (said, at, ready) = (Vec::new(), 0, bursts.first().copied().unwrap_or(usize::MAX));
        Box::new(BurstSpeech { pieces, said, bursts, at, ready, end, handle, wire })
    }
}

struct BurstSpeech {
    pieces: VecDeque<ReplyDelta>,
    said: Vec<Say>,
    bursts: Vec<usize>,
    at: usize,
    ready: usize,
    end: BurstEnd,
    handle: Option<LoopHandle>,
    wire: Format,
}

impl ReplyStream for BurstSpeech {
    fn next_delta(&mut self) -> ToolFuture<'_, Result<Option<ReplyDelta>, ModelError>> {
        Box::pin(poll_fn(|context| {
            if self.ready == 0 {
                self.at += 1;
                self.ready = self.bursts[self.at % self.bursts.len()];
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            self.ready -= 1;
            let Some(piece) = self.pieces.pop_front() else {
                return Poll::Ready(match self.end {
                    BurstEnd::Whole | BurstEnd::Pressed(_) => Ok(None),
                    BurstEnd::Error => Err(trouble()),
                });
            };
            match &piece {
                ReplyDelta::Text(text) => self.said.push(Say::Text(text.clone())),
                ReplyDelta::Reasoning(text) => self.said.push(Say::Thought(text.clone())),
                ReplyDelta::Call(call) => self.said.push(Say::Call(call.clone())),
                _ => {}
            }
            if let BurstEnd::Pressed(left) = &mut self.end {
                *left = left.saturating_sub(1);
                if *left == 0
                    && let Some(handle) = self.handle.take()
                {
                    handle.interrupt();
                }
            }
            Poll::Ready(Ok(Some(piece)))
        }))
    }

    fn take_message(&mut self) -> Option<String> {
        // A thought in the middle has no place in what this spells.
        let said: Vec<Say> =
            self.said.iter().filter(|say| !matches!(say, Say::Thought(_))).cloned().collect();
        script::message(provider(self.wire), 1, &said)
    }
}

fn piece(sent: SentPiece) -> ReplyDelta {
    match sent {
        SentPiece::Text(text) => ReplyDelta::Text(text),
        SentPiece::Thought(text) => ReplyDelta::Reasoning(text),
        SentPiece::Call { id, name, arguments, .. } => {
            ReplyDelta::Call(ReplyToolCall { id, name, arguments: arguments.to_string() })
        }
        SentPiece::Usage(output) => ReplyDelta::Usage(RunUsage { output, ..RunUsage::default() }),
    }
}

pub(crate) async fn memory() -> Arc<AnyStore> {
    ground::open("memory:").await
}

/// Numbers around what may be taken at once, and around twice that.
pub(crate) const AROUND: [usize; 12] = [1, 2, 63, 64, 65, 66, 127, 128, 129, 130, 193, 300];

#[test]
fn no_number_of_pieces_at_once_loses_one() {
    runtime().block_on(async {
        let store = memory().await;
        for number in (1..=300).filter(|number| AROUND.contains(number) || number % stride(7) == 0)
        {
            let wire = WIRES[number % WIRES.len()];
            let sent = pieces(number, None, number as u64);
            let model = BurstModel::new(wire, &sent, &[usize::MAX], BurstEnd::Whole);
            let told = format!("{number} pieces at once, {wire:?}");
            let account = run(&store, &format!("n{number}"), model, "go", drop).await;
            account.check(&ReplyAccount::of(&sent), &told);
        }
    });
}

#[test]
fn no_kind_of_piece_is_lost_in_a_burst() {
    runtime().block_on(async {
        let store = memory().await;
        for kind in [0, 3, 4, 5, 6] {
            for number in [63, 64, 65, 66, 129, 130] {
                // A word in front, so that there is something to say.
                let mut sent = vec![SentPiece::Text("first-".to_owned())];
                sent.extend(pieces(number - 1, Some(kind), number as u64));
                let model =
                    BurstModel::new(Format::Anthropic, &sent, &[usize::MAX], BurstEnd::Whole);
                let told = format!("{number} pieces of kind {kind}");
                let account = run(&store, &format!("k{kind}-{number}"), model, "go", drop).await;
                account.check(&ReplyAccount::of(&sent), &told);
            }
        }
    });
}

#[test]
fn no_size_of_bursts_loses_a_piece() {
    runtime().block_on(async {
        let store = memory().await;
        let mut random = Random::new(65);
        let some: Vec<usize> = (0..40).map(|_| 1 + random.below(140)).collect();
        let sizes = [63, 64, 65, 66, 127, 128, 129, 130].map(|size| vec![size]);
        let mixed = [vec![1], vec![64, 1], vec![65, 63], vec![1, 64, 2], some];
        for (at, bursts) in sizes.into_iter().chain(mixed).enumerate() {
            let sent = pieces(260, None, 1_000 + at as u64);
            let model = BurstModel::new(Format::OpenaiChat, &sent, &bursts, BurstEnd::Whole);
            let account = run(&store, &format!("b{at}"), model, "go", drop).await;
            account.check(&ReplyAccount::of(&sent), &format!("bursts of {bursts:?}"));
        }
    });
}

#[test]
fn what_is_in_front_of_an_error_is_kept() {
    runtime().block_on(async {
        let store = memory().await;
        for number in AROUND {
            let sent = pieces(number, None, 2_000 + number as u64);
            let model = BurstModel::new(Format::Anthropic, &sent, &[usize::MAX], BurstEnd::Error);
            let told = format!("an error behind {number} pieces");
            let account = run(&store, &format!("e{number}"), model, "go", drop).await;
            let expected = ReplyAccount::of(&sent);
            assert_eq!(account.finished.ended.outcome, Some(Outcome::Failed), "{told}");
            assert_eq!((&account.shown, &account.stored), (&expected, &expected), "{told}");
            assert_eq!(account.executed, [], "{told}");
            account.check_history(&expected, &told);
        }
    });
}

#[test]
fn an_interrupt_in_a_burst_keeps_what_was_taken_and_runs_nothing() {
    runtime().block_on(async {
        let store = memory().await;
        for taken in [1, 2, 63, 64, 65, 66, 128, 129] {
            let sent = pieces(200, None, 3_000 + taken as u64);
            let end = BurstEnd::Pressed(taken);
            let model = BurstModel::new(Format::Anthropic, &sent, &[usize::MAX], end);
            let told = format!("an interrupt behind {taken} pieces");
            let hand = {
                let model = model.clone();
                move |handle| {
                    *model.handle.lock().unwrap_or_else(PoisonError::into_inner) = Some(handle);
                }
            };
            let account = run(&store, &format!("p{taken}"), model, "go", hand).await;
            let expected = ReplyAccount::of(&sent[..taken]);
            assert_eq!(account.finished.ended.outcome, Some(Outcome::Stopped), "{told}");
            assert_eq!((&account.shown, &account.stored), (&expected, &expected), "{told}");
            assert_eq!(account.executed, [], "{told}");
            account.check_history(&expected, &told);
        }
    });
}
