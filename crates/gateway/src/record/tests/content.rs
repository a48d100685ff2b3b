//! Message content is in no row, unless it is to be stored.

use foxwedge_run::{EventPayload, ToolOutcome};

use super::*;

const CANARY: &str = "canary-7f3a9c";

/// A conversation with the canary in every place that a client or a model can set.
async fn converse(bench: &Bench) {
    let body = format!(
        r#"{{"messages":[{{"role":"user","content":"{CANARY}"}},{{"role":"assistant","tool_calls":[
        {{"id":"a","type":"function","function":{{"name":"read","arguments":"{{}}"}}}}]}},
        {{"role":"tool","tool_call_id":"a","content":"{CANARY} answered"}}]}}"#
    );
    let mut recording = bench.guarded("s", &[], &body, &fixed(&body));
    recording.record_event(&StreamEvent::Open { block: 7, kind: BlockStart::Reasoning });
    let delta = BlockDelta::Text(format!("{CANARY} thought").into());
    recording.record_event(&StreamEvent::Delta { block: 7, delta });
    recording.record_event(&StreamEvent::Close { block: 7 });
    let arguments = format!(r#"{{"path":"{CANARY}"}}"#);
    whole(recording, &format!("{CANARY} said"), &[("a", &arguments)], 1);
    bench.flush().await;
    whole(bench.begin("s", &["a"], &body), &format!("{CANARY} at last"), &[], 2);
    let mut recording = bench.begin("s", &[], &body);
    recording.record_event(&StreamEvent::Failed(model::ProviderError {
        kind: model::ProviderErrorKind::Server,
        message: CANARY.into(),
        code: Some(CANARY.into()),
    }));
    recording.finish(ReplyCompletion::Failed, None);
    bench.flush().await;
}

async fn bodies(bench: &Bench) -> Vec<EventPayload> {
    let mut bodies = Vec::new();
    for run in bench.runs().await {
        let events = bench.store.events(&run.id, 0, 100).await.expect("events");
        bodies.extend(events.into_iter().map(|stored| stored.event.body));
    }
    bodies
}

#[tokio::test]
async fn content_is_left_out_of_every_file_of_the_store() {
    let folder = std::env::temp_dir().join(format!("foxwedge-record-{:016x}", random_seed()));
    let url = foxwedge_store::StoreUrl::Sqlite(folder.join("runs.db"));
    for (content, expected) in
        [(ContentRecording::Omitted, false), (ContentRecording::Stored, true)]
    {
        let store = Arc::new(AnyStore::open(&url).await.expect("a store"));
        let bench = Bench::over(store, content, queue::QUEUE_CAPACITY).await;
        converse(&bench).await;
        bench.recorder.drain().await;
        assert_eq!(bench.runs().await.iter().filter(|run| run.state == RunState::Open).count(), 0);
        drop(bench);
        let mut found = false;
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let bytes = std::fs::read(entry.expect("a file").path()).expect("bytes");
            found |= bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
        }
        assert_eq!(found, expected, "{content:?}");
    }
    std::fs::remove_dir_all(&folder).expect("removed");
}

#[tokio::test]
async fn sizes_names_and_statuses_are_there() {
    let bench = Bench::new(ContentRecording::Omitted).await;
    converse(&bench).await;
    let mut seen = Vec::new();
    for body in bodies(&bench).await {
        match body {
            EventPayload::Text(text) => {
                seen.push(format!("text {:?}", text.full.unwrap_or_default()))
            }
            EventPayload::Thought(text) => {
                seen.push(format!("thought {:?}", text.full.unwrap_or_default()))
            }
            EventPayload::ToolCall(call) => {
                let input = call.input.map(|input| input.raw().to_owned()).unwrap_or_default();
                seen.push(format!("call {} {input}", call.name.unwrap_or_default()));
            }
            EventPayload::ToolResult(result) => seen.push(format!("result {:?}", result.outcome)),
            _ => {}
        }
    }
    let expected = [
        r#"thought "[21 characters, not recorded]""#,
        r#"text "[18 characters, not recorded]""#,
        r#"call read {"foxwedge":"24 bytes left out"}"#,
        "result Ok",
        r#"text "[21 characters, not recorded]""#,
    ];
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn stored_content_is_complete_and_comes_in_few_deltas() {
    let bench = Bench::new(ContentRecording::Stored).await;
    converse(&bench).await;
    let results: Vec<String> = bodies(&bench)
        .await
        .into_iter()
        .filter_map(|body| match body {
            EventPayload::ToolResult(result) if result.outcome == ToolOutcome::Ok => result.content,
            _ => None,
        })
        .map(|content| content.plain())
        .collect();
    assert_eq!(results, [format!("{CANARY} answered")]);

    let mut recording = bench.begin("t", &[], "");
    recording.record_event(&StreamEvent::Open { block: 0, kind: BlockStart::Text });
    let mut sent = String::new();
    for number in 0..4_000 {
        let word = format!("{number} ");
        sent.push_str(&word);
        recording
            .record_event(&StreamEvent::Delta { block: 0, delta: BlockDelta::Text(word.into()) });
    }
    recording.record_event(&StreamEvent::Close { block: 0 });
    recording.finish(ReplyCompletion::Complete, Some(9));
    let row = bench.runs().await.pop().expect("a run");
    let RunState::Ended { ended, .. } = &row.state else { panic!("it has ended") };
    assert_eq!(ended.text.as_deref(), Some(&*sent));
    let events = bench.store.events(&row.id, 0, 1_000).await.expect("events");
    let mut deltas = String::new();
    let mut number = 0;
    for stored in events {
        if let EventPayload::Text(text) = stored.event.body {
            deltas.push_str(text.delta.as_deref().or(text.full.as_deref()).unwrap_or_default());
            number += 1;
        }
    }
    assert_eq!(deltas, sent);
    assert!((2..40).contains(&number), "{number} pieces");
}

#[tokio::test]
async fn an_endless_text_is_stored_up_to_the_limit() {
    let bench = Bench::new(ContentRecording::Stored).await;
    let mut recording = bench.begin("t", &[], "");
    recording.record_event(&StreamEvent::Open { block: 0, kind: BlockStart::Text });
    let megabyte = "ä".repeat(1 << 19);
    for _ in 0..3 {
        recording.record_event(&StreamEvent::Delta {
            block: 0,
            delta: BlockDelta::Text(megabyte.as_str().into()),
        });
    }
    call(&mut recording, 1, "a");
    recording.record_event(&StreamEvent::Delta {
        block: 1,
        delta: BlockDelta::Text(r#"{"a":1}"#.into()),
    });
    recording.record_event(&StreamEvent::End);
    recording.finish(ReplyCompletion::Complete, None);
    let row = bench.runs().await.pop().expect("a run");
    let events = bench.store.events(&row.id, 0, 1_000).await.expect("events");
    let sizes: usize = events
        .iter()
        .map(|stored| match &stored.event.body {
            EventPayload::Text(text) => {
                [&text.delta, &text.full].into_iter().flatten().map(String::len).sum()
            }
            _ => 0,
        })
        .sum();
    assert!(sizes < (1 << 20) + 100, "{sizes}");
    let cut = events.iter().any(|stored| match &stored.event.body {
        EventPayload::Text(text) => {
            let text_value = text.delta.as_deref().or(text.full.as_deref()).unwrap_or_default();
            text_value.ends_with("[1048576 characters left out]")
        }
        EventPayload::ToolCall(call) => call.input.as_ref().is_some_and(|input| {
            assert_eq!(input.raw(), r#"{"foxwedge":"7 bytes left out"}"#);
            false
        }),
        _ => false,
    });
    assert!(cut);
}
