//! Accounts of one reply from every side, and the check that they agree: what is shown, stored and
//! executed is what the model sent.

use std::sync::{Arc, Mutex, PoisonError};

use foxwedge_agent_loop::tool_loop::{
    ApproveAll, FinishedRun, LoopEvent, LoopHandle, LoopSetup, ToolLoop,
};
use foxwedge_core::Format;
use foxwedge_run::{EventPayload, Outcome, RunEffect, UiChange};
use foxwedge_store::{AnyStore, ListFilter, ListPage, Store};
use foxwedge_testkit::Random;
use foxwedge_tools::{Tool, ToolCallResult, ToolEffect, ToolFuture, ToolInvocation, ToolSpec};
use foxwedge_upstream::model::ChatModel;
use serde_json::{Value, json};

use crate::{
    history::{HistoryItem, HistoryView},
    script::objections,
    streams::SentDelta,
    test_tools::{about, toolbox},
};

/// The content of one reply: texts, reasoning and calls in order, adjacent parts joined.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct ReplyAccount {
    pub(crate) parts: Vec<AccountPart>,
    pub(crate) usage: Option<u64>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum AccountPart {
    Text(String),
    Thought(String),
    Call(String, String, Value),
}

impl ReplyAccount {
    pub(crate) fn of(deltas: &[SentDelta]) -> ReplyAccount {
        let mut account = ReplyAccount::default();
        for delta in deltas {
            match delta {
                SentDelta::Text(text) => account.text(text),
                SentDelta::Thought(text) => account.thought(text),
                SentDelta::Call { id, name, arguments, .. } => {
                    account.call(id, name, arguments.clone());
                }
                SentDelta::Usage(output) => account.usage = Some(*output),
            }
        }
        account
    }

    fn text(&mut self, more: &str) {
        match self.parts.last_mut() {
            Some(AccountPart::Text(text)) => text.push_str(more),
            _ => self.parts.push(AccountPart::Text(more.to_owned())),
        }
    }

    fn thought(&mut self, more: &str) {
        match self.parts.last_mut() {
            Some(AccountPart::Thought(text)) => text.push_str(more),
            _ => self.parts.push(AccountPart::Thought(more.to_owned())),
        }
    }

    fn call(&mut self, id: &str, name: &str, input: Value) {
        self.parts.push(AccountPart::Call(id.to_owned(), name.to_owned(), input));
    }

    /// All texts, then reasoning, then calls: for formats without an order between them.
    pub(crate) fn sorted(&self) -> ReplyAccount {
        let mut sorted = ReplyAccount { usage: self.usage, ..ReplyAccount::default() };
        let parts =
            |wanted: fn(&AccountPart) -> bool| self.parts.iter().filter(move |it| wanted(it));
        for part in parts(|part| matches!(part, AccountPart::Text(_)))
            .chain(parts(|part| matches!(part, AccountPart::Thought(_))))
            .chain(parts(|part| matches!(part, AccountPart::Call(..))))
        {
            match part {
                AccountPart::Text(text) => sorted.text(text),
                AccountPart::Thought(text) => sorted.thought(text),
                AccountPart::Call(id, name, input) => sorted.call(id, name, input.clone()),
            }
        }
        sorted
    }

    pub(crate) fn calls(&self) -> Vec<(String, String, Value)> {
        let calls = self.parts.iter().filter_map(|part| match part {
            AccountPart::Call(id, name, input) => Some((id.clone(), name.clone(), input.clone())),
            AccountPart::Text(_) | AccountPart::Thought(_) => None,
        });
        calls.collect()
    }

    fn thoughts(&self) -> String {
        let thoughts = self.parts.iter().filter_map(|part| match part {
            AccountPart::Thought(text) => Some(text.as_str()),
            AccountPart::Text(_) | AccountPart::Call(..) => None,
        });
        thoughts.collect()
    }

    pub(crate) fn text_content(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            AccountPart::Text(text) => Some(text.as_str()),
            AccountPart::Thought(_) | AccountPart::Call(..) => None,
        });
        texts.collect()
    }
}

/// The accounts of a run, about its first reply.
pub(crate) struct RunAccount {
    pub(crate) shown: ReplyAccount,
    pub(crate) stored: ReplyAccount,
    /// Executed calls, in the order of their starts.
    pub(crate) executed: Vec<(String, String, Value)>,
    /// The conversation after the prompt.
    pub(crate) history: HistoryView,
    pub(crate) document: Value,
    pub(crate) finished: FinishedRun,
}

/// A tool that records its calls.
struct NotingTool {
    about: ToolSpec,
    seen: Arc<Mutex<Vec<(String, String, Value)>>>,
}

impl Tool for NotingTool {
    fn spec(&self) -> &ToolSpec {
        &self.about
    }

    fn run<'a>(&'a self, work: ToolInvocation<'a>) -> ToolFuture<'a, ToolCallResult> {
        let call = (work.call_id.to_owned(), self.about.name.to_string(), work.input.clone());
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(call);
        Box::pin(async move { ToolCallResult::done(format!("answer to {}", work.call_id)) })
    }
}

/// Sends `prompt` to a model in its own session and records the first turn.
pub(crate) async fn run(
    store: &Arc<AnyStore>,
    session: &str,
    model: Arc<dyn ChatModel>,
    prompt: &str,
    hand: impl FnOnce(LoopHandle),
) -> RunAccount {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let tool = |name: &str, effect| {
        Arc::new(NotingTool { about: about(name, effect), seen: seen.clone() }) as Arc<dyn Tool>
    };
    let tools = toolbox([tool("see", ToolEffect::Reads), tool("do", ToolEffect::Writes)]);
    let setup = LoopSetup::new(session);
    let open = ToolLoop::open(store.clone(), setup, model, tools, Arc::new(ApproveAll));
    let mut tool_loop = open.await.expect("a loop");
    hand(tool_loop.handle());
    let (mut shown, mut turn) = (ReplyAccount::default(), 0);
    let mut listener = |event: LoopEvent| {
        let LoopEvent::Run(RunEffect::Show { change, .. }) = event else { return };
        match change {
            UiChange::StepStarted { turn: next } => turn = next,
            _ if turn > 1 => {}
            UiChange::TextDelta(_, delta) => shown.text(&delta),
            UiChange::ThoughtDelta(_, delta) => shown.thought(&delta),
            UiChange::ToolOpened { tool, name, .. } => shown.call(&tool.call, &name, Value::Null),
            UiChange::ToolReady { tool, input } => {
                let ready = shown.parts.iter_mut().find_map(|part| match part {
                    AccountPart::Call(id, _, known) if **id == *tool.call => Some(known),
                    _ => None,
                });
                *ready.expect("an open call") = serde_json::from_str(input.raw()).expect("JSON");
            }
            UiChange::Usage(usage) => shown.usage = Some(usage.output),
            _ => {}
        }
    };
    let finished = tool_loop.prompt(prompt, &mut listener).await.expect("a run");
    let document = tool_loop.to_request(Format::Anthropic).expect("a document");
    let document: Value = serde_json::from_str(&document).expect("JSON");
    let mut history = HistoryView::of(&document);
    history.items.remove(0);
    let executed = seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let stored = stored(store, session).await;
    RunAccount { shown, stored, executed, history, document, finished }
}

/// The account of the first turn in the stored log.
async fn stored(store: &AnyStore, session: &str) -> ReplyAccount {
    let of = ListFilter { session: Some(session.to_owned()), ..ListFilter::default() };
    let runs = store.runs(of, ListPage { after: None, limit: 2 }).await.expect("runs");
    assert_eq!(runs.len(), 1, "one prompt is one run");
    let (mut account, mut turn, mut place) = (ReplyAccount::default(), 0, 0);
    loop {
        let page = store.events(&runs[0].id, place, 500).await.expect("events");
        let Some(last) = page.last() else { return account };
        place = last.seq;
        for event in page.into_iter().map(|stored| stored.event) {
            match event.body {
                EventPayload::TurnStarted(next) => turn = next.turn.unwrap_or_default(),
                _ if turn > 1 => {}
                EventPayload::Text(text) => match text.delta {
                    Some(delta) => account.text(&delta),
                    None => assert_eq!(text.full, Some(account.text_content())),
                },
                EventPayload::Thought(text) => match text.delta {
                    Some(delta) => account.thought(&delta),
                    None => assert_eq!(text.full, Some(account.thoughts())),
                },
                EventPayload::ToolCall(call) => {
                    if let (Some(id), Some(name), Some(input)) =
                        (call.call.id, call.name, call.input)
                    {
                        let input = serde_json::from_str(input.raw()).expect("JSON");
                        account.call(&id, &name, input);
                    }
                }
                EventPayload::Usage(usage) => account.usage = Some(usage.output),
                _ => {}
            }
        }
    }
}

impl RunAccount {
    /// Asserts that all accounts equal what the model sent, and that every call ran once.
    pub(crate) fn check(&self, sent: &ReplyAccount, label: &str) {
        let calls = sent.calls();
        assert_eq!(self.shown, *sent, "shown: {label}");
        assert_eq!(self.stored, *sent, "stored: {label}");
        let sorted = |calls: &[(String, String, Value)]| {
            let mut calls = calls.to_vec();
            calls.sort_by(|one, other| one.0.cmp(&other.0));
            calls
        };
        assert_eq!(sorted(&self.executed), sorted(&calls), "executed: {label}");
        // After calls the model replies again.
        let speaks = !calls.is_empty() || !sent.text_content().is_empty();
        let outcome = if speaks { Outcome::Completed } else { Outcome::NoText };
        assert_eq!(self.finished.ended.outcome, Some(outcome), "{label}");
        self.check_history(sent, label);
    }

    /// The conversation agrees, and every call has its own result.
    pub(crate) fn check_history(&self, sent: &ReplyAccount, label: &str) {
        let calls = sent.calls();
        let kept: Vec<(&str, &Value)> =
            self.history.calls().map(|call| (call.id.as_str(), &call.arguments)).collect();
        let expected: Vec<(&str, &Value)> =
            calls.iter().map(|(id, _, input)| (id.as_str(), input)).collect();
        assert_eq!(kept, expected, "history: {label}");
        let answers = self.answers();
        for (id, ..) in &calls {
            let given: Vec<&str> = answers
                .iter()
                .filter(|(answered, _)| answered == id)
                .map(|(_, text)| text.as_str())
                .collect();
            assert_eq!(given.len(), 1, "answers to {id}: {label}");
            if self.executed.iter().any(|(ran, ..)| ran == id) {
                assert_eq!(given, [format!("answer to {id}")], "{label}");
            }
        }
        assert_eq!(answers.len(), calls.len(), "{label}");
        let text_content: String = self
            .history
            .items
            .iter()
            .take_while(|item| !matches!(item, HistoryItem::Model(text) if text == LAST))
            .filter_map(|item| match item {
                HistoryItem::Model(text) => Some(text.as_str()),
                HistoryItem::User(_) | HistoryItem::Call(_) | HistoryItem::Other(_) => None,
            })
            .collect();
        assert_eq!(text_content, sent.text_content(), "history: {label}");
        assert_eq!(objections("anthropic", &self.document), Vec::<String>::new(), "{label}");
    }
}

impl RunAccount {
    /// The results in the conversation: the ids of their calls, and their texts.
    fn answers(&self) -> Vec<(String, String)> {
        let messages = self.document["messages"].as_array().into_iter().flatten();
        let blocks = messages.flat_map(|it| it["content"].as_array().into_iter().flatten());
        let results = blocks.filter(|block| block["type"] == "tool_result");
        let answer = |block: &Value| {
            let text = match &block["content"] {
                Value::String(text) => text.clone(),
                other => other[0]["text"].as_str().unwrap_or_default().to_owned(),
            };
            (block["tool_use_id"].as_str().unwrap_or_default().to_owned(), text)
        };
        results.map(answer).collect()
    }
}

/// The reply of the model after one with calls.
pub(crate) const LAST: &str = "That was the last of it.";

/// This many deltas, of every kind or of one.
pub(crate) fn deltas(number: usize, kind: Option<usize>, seed: u64) -> Vec<SentDelta> {
    let mut random = Random::new(seed);
    let delta = |at: usize| match kind.unwrap_or_else(|| random.below(7)) {
        0..=2 => SentDelta::Text(format!("w{at}-")),
        3 => SentDelta::Thought(format!("t{at}-")),
        4 => SentDelta::Usage(at as u64 + 2),
        other => SentDelta::Call {
            id: format!("call_{seed}_{at}"),
            name: if other == 5 { "see" } else { "do" }.to_owned(),
            arguments: json!({ "path": format!("a/\u{e9}\"{at}"), "n": at }),
            fragments: 1 + at % 4,
        },
    };
    (0..number).map(delta).collect()
}
