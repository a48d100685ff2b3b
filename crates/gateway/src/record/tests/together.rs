//! Batched writes: a request that ends within one batch is written in one operation, with the same
//! result as separate writes.

use foxwedge_run::EventPayload;
use tokio::time::sleep;

use super::*;
use crate::record::queue::{RecordQueueItem, WriteUrgency};

/// Everything stored about a session, without ids and times.
async fn stored_rows(bench: &Bench, session: &str) -> String {
    let row = bench.store.session(session).await.expect("a store").expect("a session");
    let mut dump = format!("{} {} {:?} {}\n", row.owner, row.title, row.meta, row.epoch);
    let mut ids = Vec::new();
    for run in bench.runs().await.iter().filter(|run| run.session == session) {
        ids.push(run.id.clone());
        dump += &format!("{} {:?} {:?}\n", run.epoch, run.agent, run.model);
        if let RunState::Ended { ended, summary, .. } = &run.state {
            dump += &format!("{ended:?} {summary:?}\n");
        }
        for stored in bench.store.events(&run.id, 0, 100).await.expect("events") {
            let event = stored.event;
            dump += &format!("{:?} {:?} {:?}\n", event.epoch, event.seq, event.body);
        }
    }
    for record in bench.store.records(session, 0, 100).await.expect("records") {
        dump += &format!("{record:?}\n");
    }
    for (number, id) in ids.iter().enumerate() {
        dump = dump.replace(id, &format!("run {number}"));
    }
    dump
}

#[tokio::test]
async fn writing_at_once_and_in_parts_gives_the_same_rows() {
    type Scenario = fn(RequestRecording);
    let table: [(&str, Scenario); 5] = [
        ("a text", |recording| whole(recording, "hi", &[], 1)),
        ("nobody listens", drop),
        ("trouble", |recording| recording.fail_with_status(StatusCode::BAD_GATEWAY)),
        ("cut", |recording| recording.finish(ReplyCompletion::Cut, None)),
        ("calls", |recording| whole(recording, "", &[("a", "{}")], 1)),
    ];
    for (name, scenario) in table {
        let bench = Bench::new(ContentRecording::Stored).await;
        // Three requests in each, so that they have to stay in order.
        for session in ["once", "bits"] {
            for _ in 0..3 {
                let recording = bench.guarded(session, &[], "{}", &fixed("{}"));
                if session == "bits" {
                    bench.flush().await;
                }
                scenario(recording);
                if session == "bits" {
                    bench.flush().await;
                }
            }
        }
        let (once, bits) = (stored_rows(&bench, "once").await, stored_rows(&bench, "bits").await);
        assert!(once.lines().count() > 10, "{name}: {once}");
        let lines = |text: &str| -> Vec<String> { text.lines().map(timeless).collect() };
        assert_eq!(lines(&once), lines(&bits), "{name}");
    }
}

/// A line without the time of a record and its session.
fn timeless(line: &str) -> String {
    let line = line.replace("once", "it").replace("bits", "it");
    match line.split_once("at: ") {
        Some((before, rest)) => {
            format!("{before}{}", rest.trim_start_matches(|c: char| c.is_ascii_digit()))
        }
        None => line,
    }
}

#[tokio::test]
async fn a_request_in_progress_is_already_in_the_store() {
    let bench = Bench::new(ContentRecording::Stored).await;
    let mut recording = bench.begin("s", &[], "{}");
    recording.record_event(&StreamEvent::Start(ReplyHead::default()));
    let found = async {
        loop {
            let rows =
                bench.store.runs(ListFilter::default(), ListPage::default()).await.expect("runs");
            if let Some(row) = rows.first() {
                return row.clone();
            }
            sleep(Duration::from_millis(1)).await;
        }
    };
    let row = timeout(Duration::from_secs(10), found).await.expect("nobody had to ask for it");
    assert_eq!((run_summary(&row).as_str(), row.last), ("open", 1));
    whole(recording, "hi", &[], 1);
    assert_eq!(bench.run_summaries().await, ["completed"]);
    let events = bench.store.events(&row.id, 0, 100).await.expect("events");
    assert!(events.iter().any(|stored| matches!(stored.event.body, EventPayload::Text(_))));
}

#[tokio::test]
async fn a_flush_does_not_wait_for_more_items() {
    let (queue, mut reader) = queue::open(8);
    let hour = Duration::from_secs(3_600);
    let writer = async {
        let mut items = Vec::new();
        reader.next(&mut items, 8).await;
        assert_eq!(reader.wait_unless_urgent(hour).await, WriteUrgency::Urgent);
        for item in items {
            if let RecordQueueItem::Flush(sender) = item {
                let _ = sender.send(());
            }
        }
    };
    let both = async { tokio::join!(queue.flush(), writer) };
    timeout(Duration::from_secs(10), both).await.expect("at once");
}
