//! Runs that another process ends while a request of theirs is in progress.

use foxwedge_run::{EventPayload, Outcome, RunEnd, StopRequest};
use foxwedge_store::{CloseAuthority, close_run};
use tokio::sync::mpsc;

use super::*;

/// Longer than any correct wait.
const TIMEOUT: Duration = Duration::from_secs(60);

async fn end(bench: &Bench, recording: &RequestRecording, end: EventPayload) {
    bench.flush().await;
    let run = recording.run();
    close_run(&*bench.store, run, end, CloseAuthority::Operator).await.expect("ended");
}

#[tokio::test]
async fn the_request_of_a_run_that_was_stopped_is_stopped() {
    let bench = Bench::new(ContentRecording::Stored).await;
    let (sender, mut stopped) = mpsc::unbounded_channel();
    bench.recorder.on_stopped_run(move |run| {
        let _ = sender.send(run.to_owned());
    });
    let stop = || EventPayload::Stop(StopRequest { grace: 0 });
    // One that writes nothing.
    let quiet = bench.begin("quiet", &[], "");
    end(&bench, &quiet, stop()).await;
    let run = timeout(TIMEOUT, stopped.recv()).await.expect("a quiet run is checked");
    assert_eq!(run.as_deref(), Some(&**quiet.run()));
    // One whose request continues after its run was stopped.
    let first = bench.begin("next", &[], "");
    let run = first.run().clone();
    whole(first, "", &[("a", "{}")], 1);
    bench.flush().await;
    close_run(&*bench.store, &run, stop(), CloseAuthority::Operator).await.expect("ended");
    let next = bench.begin("next", &["a"], "");
    assert_eq!(*next.run(), run);
    let found = timeout(TIMEOUT, stopped.recv()).await.expect("a write finds it");
    assert_eq!(found.as_deref(), Some(&*run));
    // One that is closed for another reason, such as a lease that expired, keeps its request.
    let other = bench.begin("other", &[], "");
    let interrupted = RunEnd { outcome: Some(Outcome::Interrupted), ..RunEnd::default() };
    end(&bench, &other, EventPayload::Ended(interrupted)).await;
    let last = bench.begin("last", &[], "");
    end(&bench, &last, stop()).await;
    let run = timeout(TIMEOUT, stopped.recv()).await.expect("a quiet run is checked");
    assert_eq!(run.as_deref(), Some(&**last.run()));
}
