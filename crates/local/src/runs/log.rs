//! Replays the log of a run.

use foxwedge_run::{MachineInput, MachineSettings, RunEffect, SessionMachine};
use foxwedge_store::Store;

use super::{OpenStore, SteadyClock};

/// Events per read.
pub const PAGE: usize = 1_000;

/// Applies a run's log to a new machine from the start, and calls `each` with every effect.
pub async fn replay(
    store: &OpenStore,
    run: &str,
    mut each: impl FnMut(&RunEffect),
) -> anyhow::Result<SessionMachine> {
    let mut session = SessionMachine::new(MachineSettings::default());
    let now = SteadyClock::start().now();
    let mut after = 0;
    loop {
        let page = store.with_store_error(store.store.events(run, after, PAGE).await)?;
        let Some(last) = page.last() else { return Ok(session) };
        after = last.seq;
        let mut effects = Vec::new();
        for stored in page {
            session.apply(now, MachineInput::Event(stored.event), &mut effects);
        }
        effects.iter().for_each(&mut each);
    }
}
