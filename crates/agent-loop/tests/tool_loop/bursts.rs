//! Any number of deltas at once, with any end after them: none is lost.

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
    account::{LAST, ReplyAccount, deltas, run},
    points::{runtime, stride},
    script::{self, FORMATS, Step, failure, provider},
    streams::SentDelta,
    test_store,
};

/// A model that has several deltas ready at once, then none for a moment.
struct BurstModel {
    about: ModelDescription,
    wire: Format,
    replies: Mutex<VecDeque<Vec<SentDelta>>>,
    /// Sizes of the bursts, repeated.
    bursts: Vec<usize>,
    /// The replies after the first one.
    end: BurstEnd,
    handle: Mutex<Option<LoopHandle>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BurstEnd {
    Whole,
    /// It fails after its last delta.
    Error,
    /// An interrupt after this many deltas.
    Interrupted(usize),
}

impl BurstModel {
    fn new(wire: Format, sent: &[SentDelta], bursts: &[usize], end: BurstEnd) -> Arc<BurstModel> {
        let (name, profile) = script::named(provider(wire));
        let about = ModelDescription { name: name.into(), wire, profile, window: None };
        let mut replies = VecDeque::from([sent.to_vec()]);
        replies.push_back(vec![SentDelta::Text(LAST.to_owned())]);
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
        let mut deltas: VecDeque<ReplyDelta> = sent.into_iter().map(delta).collect();
        let end = if is_first { self.end } else { BurstEnd::Whole };
        if end == BurstEnd::Whole {
            deltas.push_back(ReplyDelta::Stop(ReplyStopReason::Done));
        }
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (bursts, wire) = (self.bursts.clone(), self.wire);
        let (delivered, at, ready) = (Vec::new(), 0, bursts.first().copied().unwrap_or(usize::MAX));
        Box::new(BurstReplyStream { deltas, delivered, bursts, at, ready, end, handle, wire })
    }
}

struct BurstReplyStream {
    deltas: VecDeque<ReplyDelta>,
    delivered: Vec<Step>,
    bursts: Vec<usize>,
    at: usize,
    ready: usize,
    end: BurstEnd,
    handle: Option<LoopHandle>,
    wire: Format,
}

impl ReplyStream for BurstReplyStream {
    fn next_delta(&mut self) -> ToolFuture<'_, Result<Option<ReplyDelta>, ModelError>> {
        Box::pin(poll_fn(|context| {
            if self.ready == 0 {
                self.at += 1;
                self.ready = self.bursts[self.at % self.bursts.len()];
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            self.ready -= 1;
            let Some(delta) = self.deltas.pop_front() else {
                return Poll::Ready(match self.end {
                    BurstEnd::Whole | BurstEnd::Interrupted(_) => Ok(None),
                    BurstEnd::Error => Err(failure()),
                });
            };
            match &delta {
                ReplyDelta::Text(text) => self.delivered.push(Step::Text(text.clone())),
                ReplyDelta::Reasoning(text) => self.delivered.push(Step::Thought(text.clone())),
                ReplyDelta::Call(call) => self.delivered.push(Step::Call(call.clone())),
                _ => {}
            }
            if let BurstEnd::Interrupted(remaining) = &mut self.end {
                *remaining = remaining.saturating_sub(1);
                if *remaining == 0
                    && let Some(handle) = self.handle.take()
                {
                    handle.interrupt();
                }
            }
            Poll::Ready(Ok(Some(delta)))
        }))
    }

    fn take_message(&mut self) -> Option<String> {
        // The message has no place for reasoning in the middle.
        let sent: Vec<Step> = self
            .delivered
            .iter()
            .filter(|step| !matches!(step, Step::Thought(_)))
            .cloned()
            .collect();
        script::message(provider(self.wire), 1, &sent)
    }
}

fn delta(sent: SentDelta) -> ReplyDelta {
    match sent {
        SentDelta::Text(text) => ReplyDelta::Text(text),
        SentDelta::Thought(text) => ReplyDelta::Reasoning(text),
        SentDelta::Call { id, name, arguments, .. } => {
            ReplyDelta::Call(ReplyToolCall { id, name, arguments: arguments.to_string() })
        }
        SentDelta::Usage(output) => ReplyDelta::Usage(RunUsage { output, ..RunUsage::default() }),
    }
}

pub(crate) async fn memory() -> Arc<AnyStore> {
    test_store::open("memory:").await
}

/// Numbers around the batch size, and around twice that.
pub(crate) const AROUND: [usize; 12] = [1, 2, 63, 64, 65, 66, 127, 128, 129, 130, 193, 300];

#[test]
fn no_number_of_pieces_at_once_loses_one() {
    runtime().block_on(async {
        let store = memory().await;
        for number in (1..=300).filter(|number| AROUND.contains(number) || number % stride(7) == 0)
        {
            let wire = FORMATS[number % FORMATS.len()];
            let sent = deltas(number, None, number as u64);
            let model = BurstModel::new(wire, &sent, &[usize::MAX], BurstEnd::Whole);
            let label = format!("{number} pieces at once, {wire:?}");
            let account = run(&store, &format!("n{number}"), model, "go", drop).await;
            account.check(&ReplyAccount::of(&sent), &label);
        }
    });
}

#[test]
fn no_kind_of_delta_is_lost_in_a_burst() {
    runtime().block_on(async {
        let store = memory().await;
        for kind in [0, 3, 4, 5, 6] {
            for number in [63, 64, 65, 66, 129, 130] {
                // Text first, so that the reply is not empty.
                let mut sent = vec![SentDelta::Text("first-".to_owned())];
                sent.extend(deltas(number - 1, Some(kind), number as u64));
                let model =
                    BurstModel::new(Format::Anthropic, &sent, &[usize::MAX], BurstEnd::Whole);
                let label = format!("{number} pieces of kind {kind}");
                let account = run(&store, &format!("k{kind}-{number}"), model, "go", drop).await;
                account.check(&ReplyAccount::of(&sent), &label);
            }
        }
    });
}

#[test]
fn no_burst_size_loses_a_delta() {
    runtime().block_on(async {
        let store = memory().await;
        let mut random = Random::new(65);
        let some: Vec<usize> = (0..40).map(|_| 1 + random.below(140)).collect();
        let sizes = [63, 64, 65, 66, 127, 128, 129, 130].map(|size| vec![size]);
        let mixed = [vec![1], vec![64, 1], vec![65, 63], vec![1, 64, 2], some];
        for (at, bursts) in sizes.into_iter().chain(mixed).enumerate() {
            let sent = deltas(260, None, 1_000 + at as u64);
            let model = BurstModel::new(Format::OpenaiChat, &sent, &bursts, BurstEnd::Whole);
            let account = run(&store, &format!("b{at}"), model, "go", drop).await;
            account.check(&ReplyAccount::of(&sent), &format!("bursts of {bursts:?}"));
        }
    });
}

#[test]
fn deltas_before_an_error_are_kept() {
    runtime().block_on(async {
        let store = memory().await;
        for number in AROUND {
            let sent = deltas(number, None, 2_000 + number as u64);
            let model = BurstModel::new(Format::Anthropic, &sent, &[usize::MAX], BurstEnd::Error);
            let label = format!("an error behind {number} pieces");
            let account = run(&store, &format!("e{number}"), model, "go", drop).await;
            let expected = ReplyAccount::of(&sent);
            assert_eq!(account.finished.ended.outcome, Some(Outcome::Failed), "{label}");
            assert_eq!((&account.shown, &account.stored), (&expected, &expected), "{label}");
            assert_eq!(account.executed, [], "{label}");
            account.check_history(&expected, &label);
        }
    });
}

#[test]
fn an_interrupt_in_a_burst_keeps_delivered_deltas_and_runs_no_tool() {
    runtime().block_on(async {
        let store = memory().await;
        for taken in [1, 2, 63, 64, 65, 66, 128, 129] {
            let sent = deltas(200, None, 3_000 + taken as u64);
            let end = BurstEnd::Interrupted(taken);
            let model = BurstModel::new(Format::Anthropic, &sent, &[usize::MAX], end);
            let label = format!("an interrupt behind {taken} pieces");
            let hand = {
                let model = model.clone();
                move |handle| {
                    *model.handle.lock().unwrap_or_else(PoisonError::into_inner) = Some(handle);
                }
            };
            let account = run(&store, &format!("p{taken}"), model, "go", hand).await;
            let expected = ReplyAccount::of(&sent[..taken]);
            assert_eq!(account.finished.ended.outcome, Some(Outcome::Stopped), "{label}");
            assert_eq!((&account.shown, &account.stored), (&expected, &expected), "{label}");
            assert_eq!(account.executed, [], "{label}");
            account.check_history(&expected, &label);
        }
    });
}
