//! What the writer takes together: a request that is over by then is told to the store at once, and
//! nobody can see a difference behind it.

use foxwedge_run::EventPayload;
use tokio::time::sleep;

use super::*;
use crate::record::queue::{RecordQueueItem, WriteUrgency};

/// Everything that is kept of a session, without names and times.
async fn kept(bench: &Bench, session: &str) -> String {
    let row = bench.store.session(session).await.expect("a store").expect("a session");
    let mut told = format!("{} {} {:?} {}\n", row.owner, row.title, row.meta, row.epoch);
    let mut ids = Vec::new();
    for run in bench.runs().await.iter().filter(|run| run.session == session) {
        ids.push(run.id.clone());
        told += &format!("{} {:?} {:?}\n", run.epoch, run.agent, run.model);
        if let RunState::Ended { ended, summary, .. } = &run.state {
            told += &format!("{ended:?} {summary:?}\n");
        }
        for stored in bench.store.events(&run.id, 0, 100).await.expect("events") {
            let event = stored.event;
            told += &format!("{:?} {:?} {:?}\n", event.epoch, event.seq, event.body);
        }
    }
    for record in bench.store.records(session, 0, 100).await.expect("records") {
        told += &format!("{record:?}\n");
    }
    for (number, id) in ids.iter().enumerate() {
        told = told.replace(id, &format!("run {number}"));
    }
    told
}

#[tokio::test]
async fn what_is_told_at_once_is_what_is_told_in_pieces() {
    type Story = fn(RequestRecording);
    let table: [(&str, Story); 5] = [
        ("a text", |recording| whole(recording, "hi", &[], 1)),
        ("nobody listens", drop),
        ("trouble", |recording| recording.fail_with_status(StatusCode::BAD_GATEWAY)),
        ("cut", |recording| recording.finish(ReplyCompletion::Cut, None)),
        ("calls", |recording| whole(recording, "", &[("a", "{}")], 1)),
    ];
    for (name, story) in table {
        let bench = Bench::new(ContentRecording::Stored).await;
        // Three requests in each, so that they have to stay in order.
        for session in ["once", "bits"] {
            for _ in 0..3 {
                let recording = bench.guarded(session, &[], "{}", &fixed("{}"));
                if session == "bits" {
                    bench.flush().await;
                }
                story(recording);
                if session == "bits" {
                    bench.flush().await;
                }
            }
        }
        let (once, bits) = (kept(&bench, "once").await, kept(&bench, "bits").await);
        assert!(once.lines().count() > 10, "{name}: {once}");
        let lines = |text: &str| -> Vec<String> { text.lines().map(timeless).collect() };
        assert_eq!(lines(&once), lines(&bits), "{name}");
    }
}

/// A line without the time of a record, and without its session.
fn timeless(line: &str) -> String {
    let line = line.replace("once", "it").replace("bits", "it");
    match line.split_once("at: ") {
        Some((before, rest)) => {
            format!("{before}{}", rest.trim_start_matches(|sign: char| sign.is_ascii_digit()))
        }
        None => line,
    }
}

#[tokio::test]
async fn what_goes_on_is_in_the_store_meanwhile() {
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
    assert_eq!((told(&row).as_str(), row.last), ("open", 1));
    whole(recording, "hi", &[], 1);
    assert_eq!(bench.told().await, ["completed"]);
    let events = bench.store.events(&row.id, 0, 100).await.expect("events");
    assert!(events.iter().any(|stored| matches!(stored.event.body, EventPayload::Text(_))));
}

#[tokio::test]
async fn whoever_looks_does_not_wait_for_what_may_come() {
    let (queue, mut notes) = queue::open(8);
    let hour = Duration::from_secs(3_600);
    let writer = async {
        let mut taken = Vec::new();
        notes.next(&mut taken, 8).await;
        assert_eq!(notes.wait_unless_urgent(hour).await, WriteUrgency::Urgent);
        for note in taken {
            if let RecordQueueItem::Flush(whoever) = note {
                let _ = whoever.send(());
            }
        }
    };
    let both = async { tokio::join!(queue.flush(), writer) };
    timeout(Duration::from_secs(10), both).await.expect("at once");
}
