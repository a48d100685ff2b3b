//! A store with something in it, without anybody who breaks it.

use foxwedge_run::EventPayload;
use foxwedge_store::{ArchiveStore, CloseAuthority, StartResult, close_run};

use crate::story::{End, Story};

/// Writes runs of a story, one after the other. The last one is left open, whatever the story says.
pub(crate) async fn fill(store: &impl ArchiveStore, story: &Story, runs: usize) {
    for number in 1..=runs {
        let tale = story.tale(&format!("run-{number}"));
        let (run, session) = (&*tale.run, &*tale.session);
        store.create_session(Story::session(session)).await.expect("a session");
        let mut start = tale.start("sample", 0);
        start.at = start.at.map(|at| at + number as u64);
        let StartResult::New { lease, .. } = store.start_run(start).await.expect("a run") else {
            panic!("run `{run}` was there");
        };
        let events: Vec<_> = (2..).map_while(|seq| tale.event(seq)).collect();
        store.append(run, &lease, events).await.expect("events");
        for number in 0..tale.notes {
            store.append_records(session, vec![story.note(run, number)]).await.expect("a note");
        }
        let authority = CloseAuthority::Holder(lease);
        match tale.end {
            End::Left => {}
            End::Replayed | End::ByHand if number == runs => {}
            End::Replayed => {
                let end = EventPayload::Ended(tale.ended());
                close_run(store, run, end, authority).await.expect("an end");
            }
            End::ByHand => {
                store.finalize(run, authority, tale.closing(story)).await.expect("an end");
            }
        }
    }
}
