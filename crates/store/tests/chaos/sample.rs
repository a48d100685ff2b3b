//! A store with content, without faults.

use foxwedge_run::EventPayload;
use foxwedge_store::{ArchiveStore, CloseAuthority, StartResult, close_run};

use crate::story::{End, Workload};

/// Writes runs of a workload, one after the other. The last one always stays open.
pub(crate) async fn fill(store: &impl ArchiveStore, workload: &Workload, runs: usize) {
    for number in 1..=runs {
        let plan = workload.plan(&format!("run-{number}"));
        let (run, session) = (&*plan.run, &*plan.session);
        store.create_session(Workload::session(session)).await.expect("a session");
        let mut start = plan.start("sample", 0);
        start.at = start.at.map(|at| at + number as u64);
        let StartResult::New { lease, .. } = store.start_run(start).await.expect("a run") else {
            panic!("run `{run}` was there");
        };
        let events: Vec<_> = (2..).map_while(|seq| plan.event(seq)).collect();
        store.append(run, &lease, events).await.expect("events");
        for number in 0..plan.notes {
            store.append_records(session, vec![workload.note(run, number)]).await.expect("a note");
        }
        let authority = CloseAuthority::Holder(lease);
        match plan.end {
            End::Left => {}
            End::Replayed | End::ByHand if number == runs => {}
            End::Replayed => {
                let end = EventPayload::Ended(plan.ended());
                close_run(store, run, end, authority).await.expect("an end");
            }
            End::ByHand => {
                store.finalize(run, authority, plan.closing(workload)).await.expect("an end");
            }
        }
    }
}
