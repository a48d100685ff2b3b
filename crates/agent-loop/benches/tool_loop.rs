//! What the tool loop costs: a turn of it beside the bare call of the same model with the same
//! requests, and taking up a long conversation beside parsing the same JSON.
//!
//! `cargo bench -p foxwedge-agent-loop --bench tool_loop`

use std::{
    env, fs,
    hint::black_box,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use foxwedge_agent_loop::tool_loop::{ApproveAll, LoopSetup, SilentObserver, ToolLoop};
use foxwedge_core::Format;
use foxwedge_store::{AnyStore, NewRecord, NewSession, Store, StoreUrl};
use foxwedge_tools::{
    Tool, ToolCallResult, ToolEffect, ToolFuture, ToolInvocation, ToolSpec, Toolbox,
};
use foxwedge_upstream::model::{
    ChatModel, ModelDescription, ModelEndpoint, ReplyStream, ValidRequest,
};
use serde_json::{Value, json};

/// Runs that are measured, behind some that are not.
const RUNS: usize = 200;
/// Replies of one run: one that calls, one that speaks.
const TURNS: usize = 2;
/// How often a conversation is taken up.
const OPENS: usize = 9;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let folder = env::temp_dir().join(format!("foxwedge-loop-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    runtime.block_on(async {
        turns("memory", "memory:").await;
        turns("SQLite file", &address(&folder, "turns")).await;
        for count in [100, 1_000, 10_000] {
            opening(count, &address(&folder, &format!("open-{count}"))).await;
        }
    });
    let _ = fs::remove_dir_all(&folder);
}

fn address(folder: &Path, name: &str) -> String {
    format!("sqlite:{}", folder.join(format!("{name}.db")).display())
}

/// One turn of the loop, one bare call and one bare write, in the same round.
async fn turns(name: &str, address: &str) {
    let url: StoreUrl = address.parse().expect("an address");
    let store = Arc::new(AnyStore::open(&url).await.expect("a store"));
    let model =
        Arc::new(Kept { inner: ModelEndpoint::scripted("scripted"), asked: Mutex::default() });
    let (mut looped, mut bare, mut written) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..RUNS + 20 {
        let setup = LoopSetup::new(format!("session-{round}"));
        let mut toolbox = Toolbox::new();
        toolbox.add(Arc::new(See::new())).expect("one tool");
        let open =
            ToolLoop::open(store.clone(), setup, model.clone(), toolbox, Arc::new(ApproveAll));
        let mut tool_loop = open.await.expect("a loop");
        let began = Instant::now();
        tool_loop.prompt("Please call see.", &mut SilentObserver).await.expect("a run");
        let took = began.elapsed();
        let requests =
            std::mem::take(&mut *model.asked.lock().unwrap_or_else(PoisonError::into_inner));
        assert_eq!(requests.len(), TURNS, "a call and a reply");
        let began = Instant::now();
        for request in requests {
            hear(model.inner.send(request)).await;
        }
        let called = began.elapsed();
        let began = Instant::now();
        store.append_records(tool_loop.session(), vec![small()]).await.expect("a record");
        let wrote = began.elapsed();
        if round >= 20 {
            looped.push(took / TURNS as u32);
            bare.push(called / TURNS as u32);
            written.push(wrote);
        }
    }
    let (looped, bare, written) = (median(looped), median(bare), median(written));
    println!(
        "turn, {name}: loop {:.0} µs, bare call {:.0} µs, ratio {:.2}, the loop's own {:.0} µs; one small write takes {:.0} µs",
        micros(looped),
        micros(bare),
        micros(looped) / micros(bare),
        micros(looped) - micros(bare),
        micros(written)
    );
}

/// The least that can be written.
fn small() -> NewRecord {
    let (id, kind, body) = ("one".to_owned(), "note".to_owned(), "{}".to_owned());
    NewRecord { id, parent: None, run: None, kind, body }
}

async fn hear(mut speech: Box<dyn ReplyStream>) {
    while let Some(piece) = speech.next_delta().await.expect("a piece") {
        black_box(piece);
    }
    black_box(speech.take_message());
}

/// Taking up a conversation, and parsing it.
async fn opening(count: usize, address: &str) {
    let url: StoreUrl = address.parse().expect("an address");
    let store = Arc::new(AnyStore::open(&url).await.expect("a store"));
    fill(&store, count).await;
    let (mut opened, mut parsed, mut bytes) = (Vec::new(), Vec::new(), 0);
    for _ in 0..OPENS {
        let model = Arc::new(ModelEndpoint::scripted_in(Format::Anthropic, "scripted"));
        let began = Instant::now();
        let open = ToolLoop::open(
            store.clone(),
            LoopSetup::new("long"),
            model,
            Toolbox::new(),
            Arc::new(ApproveAll),
        );
        let tool_loop = open.await.expect("a loop");
        opened.push(began.elapsed());
        assert_eq!(tool_loop.history().len(), count);
        let document = tool_loop.to_request(Format::Anthropic).expect("a document");
        bytes = document.len();
        let began = Instant::now();
        black_box(serde_json::from_str::<Value>(&document).expect("JSON"));
        parsed.push(began.elapsed());
    }
    let (opened, parsed) = (median(opened), median(parsed));
    println!(
        "opening {count} messages ({bytes} bytes): {:.2} ms, {:.2} µs for each; serde_json reads the same in {:.2} ms, ratio {:.1}",
        micros(opened) / 1_000.0,
        micros(opened) / count as f64,
        micros(parsed) / 1_000.0,
        micros(opened) / micros(parsed)
    );
}

async fn fill(store: &AnyStore, count: usize) {
    let new =
        NewSession { id: "long".to_owned(), owner: "local".to_owned(), ..NewSession::default() };
    store.create_session(new).await.expect("a session");
    let record = |place: usize| {
        let body = match place % 4 {
            0 => {
                json!({ "role": "user", "content": format!("Question {place}: what is in the file?") })
            }
            1 => json!({ "role": "assistant", "content": [
                { "type": "text", "text": "Let me look at it first." },
                { "type": "tool_use", "id": format!("call_{place}"), "name": "see", "input": { "path": "src/main.rs" } },
            ] }),
            2 => json!({ "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": format!("call_{}", place - 1), "content": "fn main() { println!(\"hello\"); }\n".repeat(8) },
            ] }),
            _ => {
                json!({ "role": "assistant", "content": "It prints a greeting, and nothing else." })
            }
        };
        NewRecord {
            id: format!("m-{place}"),
            parent: place.checked_sub(1).map(|before| format!("m-{before}")),
            run: None,
            kind: "message".to_owned(),
            body: body.to_string(),
        }
    };
    let records: Vec<NewRecord> = (0..count).map(record).collect();
    for batch in records.chunks(5_000) {
        store.append_records("long", batch.to_vec()).await.expect("records");
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// A model that keeps what it was asked.
struct Kept {
    inner: ModelEndpoint,
    asked: Mutex<Vec<ValidRequest>>,
}

impl ChatModel for Kept {
    fn about(&self) -> &ModelDescription {
        self.inner.about()
    }

    fn send(&self, request: ValidRequest) -> Box<dyn ReplyStream> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
        self.inner.send(request)
    }
}

/// A tool that answers at once.
struct See(ToolSpec);

impl See {
    fn new() -> See {
        See(ToolSpec {
            name: "see".into(),
            description: "Looks at something.".into(),
            schema: json!({ "type": "object" }),
            effect: ToolEffect::Reads,
            limit: Duration::from_secs(10),
        })
    }
}

impl Tool for See {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run<'a>(&'a self, _: ToolInvocation<'a>) -> ToolFuture<'a, ToolCallResult> {
        Box::pin(async { ToolCallResult::done("seen") })
    }
}
