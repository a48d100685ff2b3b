//! Stories of requests, and what is in the store behind them.

mod stories;
mod content;
mod overflow;
mod restart;
mod beside;
mod together;

use foxwedge_core::Family;
use foxwedge_dialect::{
    canon,
    stream::event::{Event, Head, Opened, Piece},
};

use foxwedge_run::Status;
use foxwedge_store::{Filter, Page, RunRow, RunState, Store};
use http::StatusCode;

use super::*;
use crate::{Action, Change, Noted as Finding};

/// A recorder over a store.
struct Bench {
    store: Arc<AnyStore>,
    recorder: Recorder,
    meter: Meter,
}

impl Bench {
    async fn new(content: Content) -> Bench {
        let store = AnyStore::open(&foxwedge_store::StoreUrl::Memory).await.expect("a store");
        Bench::over(Arc::new(store), content, queue::NOTES).await
    }

    async fn over(store: Arc<AnyStore>, content: Content, notes: usize) -> Bench {
        let record = config::Record { content, ..config::Record::default() };
        let (meter, sessions) = (Meter::new(), config::Sessions::default());
        let started =
            Recorder::with_room("me".into(), store.clone(), record, sessions, meter.clone(), notes)
                .await;
        let (recorder, _) = started.expect("a recorder");
        Bench { store, recorder, meter }
    }

    /// A request begins that answers these calls, in that body. `a!`: the tool has failed.
    fn begin(&self, session: &str, answers: &[&str], body: &str) -> Recording {
        self.guarded(session, answers, body, &untouched(body))
    }

    fn guarded(&self, session: &str, answers: &[&str], body: &str, guarded: &Guarded) -> Recording {
        let failed = answers.iter().filter_map(|id| id.strip_suffix('!'));
        let failed: Vec<Arc<str>> = failed.map(Arc::from).collect();
        let answers: Vec<Arc<str>> =
            answers.iter().map(|id| Arc::from(id.trim_end_matches('!'))).collect();
        self.recorder.begin(Begin {
            session: &session.into(),
            forked: None,
            owner: &"ann".into(),
            request: &"q-1".into(),
            model: &"model-1".into(),
            agent: Some("agent/1.0"),
            answers: &answers,
            failed: &failed,
            before: &Bytes::copy_from_slice(body.as_bytes()),
            guarded,
            mode: Mode::Fix,
            wire: Wire::OpenaiChat,
        })
    }

    /// Waits for the writer. A clock that stands still must not make that fail.
    async fn flush(&self) {
        self.recorder.0.queue.flush().await;
    }

    /// Every run, by session and in its order.
    async fn runs(&self) -> Vec<RunRow> {
        self.flush().await;
        let page = Page { after: None, limit: 1_000 };
        let mut runs = self.store.runs(Filter::default(), page).await.expect("runs");
        runs.sort_by_key(|run| (run.session.clone(), run.epoch));
        runs
    }

    /// Every run in a line: how it ended, and its calls.
    async fn told(&self) -> Vec<String> {
        self.runs().await.iter().map(told).collect()
    }

    fn counted(&self, line: &str) -> bool {
        self.meter.render().lines().any(|one| one == line)
    }
}

fn told(row: &RunRow) -> String {
    let RunState::Ended { ended, summary, .. } = &row.state else { return "open".to_owned() };
    let mut line = ended.outcome.map_or("?", |outcome| outcome.name()).to_owned();
    if let Some(code) = ended.problem.as_ref().and_then(|problem| problem.code.as_deref()) {
        line.push_str(&format!(" ({code})"));
    }
    for status in Status::ALL {
        let count = summary.count(status);
        if count > 0 {
            line.push_str(&format!(", {count} {}", status.name()));
        }
    }
    line
}

fn untouched(body: &str) -> Guarded {
    Guarded {
        body: Bytes::copy_from_slice(body.as_bytes()),
        action: Action::None,
        findings: Vec::new(),
        changes: Vec::new().into(),
        losses: Vec::new().into(),
        names: Vec::new(),
        compacted: None,
    }
}

fn fixed(body: &str) -> Guarded {
    Guarded {
        action: Action::Fixed,
        findings: vec![Finding { code: 101, strategy: "insert-answer", count: 1 }],
        changes: vec![Change {
            code: 101,
            strategy: "insert-answer",
            message: 1,
            calls: vec!["a".to_owned()],
            note: "answered call `a`".to_owned(),
        }]
        .into(),
        losses: vec!["the seed is not told".to_owned()].into(),
        compacted: Some((200, 100)),
        ..untouched(body)
    }
}

/// A reply in pieces: a text, then calls.
fn reply(recording: &mut Recording, text: &str, calls: &[(&str, &str)]) {
    recording.see(&Event::Start(Head::default()));
    if !text.is_empty() {
        recording.see(&Event::Open { block: 0, kind: Opened::Text });
        for piece in [text.get(..1), text.get(1..)].into_iter().flatten() {
            recording.see(&Event::More { block: 0, piece: Piece::Text(piece.into()) });
        }
        recording.see(&Event::Close { block: 0 });
    }
    for (place, (id, arguments)) in (1..).zip(calls) {
        call(recording, place, id);
        let piece = Piece::Text((*arguments).into());
        recording.see(&Event::More { block: place, piece });
        recording.see(&Event::Close { block: place });
    }
    let usage = canon::Usage { input: Some(10), output: Some(2), ..canon::Usage::default() };
    recording.see(&Event::Usage(usage));
}

/// A call begins.
fn call(recording: &mut Recording, block: u32, id: &str) {
    let id = Some(id.into());
    let kind = Opened::Call { id, name: "read".into(), family: Family::Function, signature: None };
    recording.see(&Event::Open { block, kind });
}

fn whole(mut recording: Recording, text: &str, calls: &[(&str, &str)], tip: u128) {
    reply(&mut recording, text, calls);
    recording.see(&Event::End);
    recording.ended(Ended::Replied, Some(tip));
}
