//! Recorded requests, and the resulting rows in the store.

mod stories;
mod content;
mod overflow;
mod restart;
mod stopped_elsewhere;
mod beside;
mod together;

use foxwedge_core::CallFamily;
use foxwedge_formats::{
    model,
    stream::event::{BlockDelta, BlockStart, ReplyHead, StreamEvent},
};

use foxwedge_run::ToolStatus;
use foxwedge_store::{ListFilter, ListPage, RunRow, RunState, Store};
use http::StatusCode;

use super::*;
use crate::{FindingTally as Finding, GuardAction};
use foxwedge_upstream::RepairChange;

/// A recorder over a store.
struct Bench {
    store: Arc<AnyStore>,
    recorder: GatewayRecorder,
    metrics: Metrics,
}

impl Bench {
    async fn new(content: ContentRecording) -> Bench {
        let store = AnyStore::open(&foxwedge_store::StoreUrl::Memory).await.expect("a store");
        Bench::over(Arc::new(store), content, queue::QUEUE_CAPACITY).await
    }

    async fn over(store: Arc<AnyStore>, content: ContentRecording, capacity: usize) -> Bench {
        let record =
            config::RecordConfig { store_content: content, ..config::RecordConfig::default() };
        let (metrics, sessions) = (Metrics::new(), config::SessionConfig::default());
        let started = GatewayRecorder::start_with_capacity(
            "me".into(),
            store.clone(),
            record,
            sessions,
            metrics.clone(),
            capacity,
        )
        .await;
        let (recorder, _) = started.expect("a recorder");
        Bench { store, recorder, metrics }
    }

    /// Starts a request with results for these calls. `a!`: the tool has failed.
    fn begin(&self, session: &str, results: &[&str], body: &str) -> RequestRecording {
        self.guarded(session, results, body, &untouched(body))
    }

    fn guarded(
        &self,
        session: &str,
        results: &[&str],
        body: &str,
        guarded: &GuardedRequest,
    ) -> RequestRecording {
        let failed = results.iter().filter_map(|id| id.strip_suffix('!'));
        let failed: Vec<Arc<str>> = failed.map(Arc::from).collect();
        let results: Vec<Arc<str>> =
            results.iter().map(|id| Arc::from(id.trim_end_matches('!'))).collect();
        self.recorder.start_request(RecordingStart {
            session: &session.into(),
            match_kind: match session.starts_with("new-") && results.is_empty() {
                true => SessionMatchKind::New,
                false => SessionMatchKind::Named,
            },
            forked: None,
            owner: &"ann".into(),
            request: &"q-1".into(),
            model: &"model-1".into(),
            agent: Some("agent/1.0"),
            answered_calls: &results,
            failed_calls: &failed,
            original_body: &Bytes::copy_from_slice(body.as_bytes()),
            guarded,
            mode: GuardMode::Fix,
            format: Format::OpenaiChat,
        })
    }

    /// Waits for the writer, without a timeout, since tests may pause the clock.
    async fn flush(&self) {
        self.recorder.0.queue.flush().await;
    }

    /// All runs, by session and epoch.
    async fn runs(&self) -> Vec<RunRow> {
        self.flush().await;
        let page = ListPage { after: None, limit: 1_000 };
        let mut runs = self.store.runs(ListFilter::default(), page).await.expect("runs");
        runs.sort_by_key(|run| (run.session.clone(), run.epoch));
        runs
    }

    /// Each run as one line: its outcome and its calls.
    async fn run_summaries(&self) -> Vec<String> {
        self.runs().await.iter().map(run_summary).collect()
    }

    fn counted(&self, line: &str) -> bool {
        self.metrics.render().lines().any(|other| other == line)
    }
}

fn run_summary(row: &RunRow) -> String {
    let RunState::Ended { ended, summary, .. } = &row.state else { return "open".to_owned() };
    let mut line = ended.outcome.map_or("?", |outcome| outcome.name()).to_owned();
    if let Some(code) = ended.problem.as_ref().and_then(|problem| problem.code.as_deref()) {
        line.push_str(&format!(" ({code})"));
    }
    for status in ToolStatus::ALL {
        let count = summary.count(status);
        if count > 0 {
            line.push_str(&format!(", {count} {}", status.name()));
        }
    }
    line
}

fn untouched(body: &str) -> GuardedRequest {
    GuardedRequest {
        body: Bytes::copy_from_slice(body.as_bytes()),
        action: GuardAction::None,
        findings: Vec::new(),
        changes: Vec::new().into(),
        losses: Vec::new().into(),
        names: Vec::new(),
        free_text_tools: Vec::new(),
        compacted: None,
    }
}

fn fixed(body: &str) -> GuardedRequest {
    GuardedRequest {
        action: GuardAction::Fixed,
        findings: vec![Finding { code: 101, strategy: "insert-answer", count: 1 }],
        changes: vec![RepairChange {
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

/// Streams a reply: a text, then calls.
fn reply(recording: &mut RequestRecording, text: &str, calls: &[(&str, &str)]) {
    recording.record_event(&StreamEvent::Start(ReplyHead::default()));
    if !text.is_empty() {
        recording.record_event(&StreamEvent::Open { block: 0, kind: BlockStart::Text });
        for delta in [text.get(..1), text.get(1..)].into_iter().flatten() {
            recording.record_event(&StreamEvent::Delta {
                block: 0,
                delta: BlockDelta::Text(delta.into()),
            });
        }
        recording.record_event(&StreamEvent::Close { block: 0 });
    }
    for (block, (id, arguments)) in (1..).zip(calls) {
        call(recording, block, id);
        let delta = BlockDelta::Text((*arguments).into());
        recording.record_event(&StreamEvent::Delta { block, delta });
        recording.record_event(&StreamEvent::Close { block });
    }
    let usage =
        model::TokenUsage { input: Some(10), output: Some(2), ..model::TokenUsage::default() };
    recording.record_event(&StreamEvent::Usage(usage));
}

/// Starts a call.
fn call(recording: &mut RequestRecording, block: u32, id: &str) {
    let id = Some(id.into());
    let kind =
        BlockStart::Call { id, name: "read".into(), family: CallFamily::Function, signature: None };
    recording.record_event(&StreamEvent::Open { block, kind });
}

/// A reply that the token limit cut off.
fn cut(mut recording: RequestRecording, text: &str, calls: &[(&str, &str)]) {
    reply(&mut recording, text, calls);
    recording.record_event(&StreamEvent::Stop(model::StopReason::Length));
    recording.record_event(&StreamEvent::End);
    recording.finish(ReplyCompletion::Complete, Some(1));
}

fn whole(mut recording: RequestRecording, text: &str, calls: &[(&str, &str)], tip: u128) {
    reply(&mut recording, text, calls);
    recording.record_event(&StreamEvent::End);
    recording.finish(ReplyCompletion::Complete, Some(tip));
}
