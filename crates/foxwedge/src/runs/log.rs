//! The log of a run, told to the machine once more.

use foxwedge_run::{MachineInput, MachineSettings, RunEffect, SessionMachine};
use foxwedge_store::Store;

use super::{OpenStore, SteadyClock};

/// Events that are read at once.
pub(crate) const PAGE: usize = 1_000;

/// Reads a run's log from its beginning, and hands out everything that the machine makes of it.
pub(crate) async fn replay(
    kept: &OpenStore,
    run: &str,
    mut each: impl FnMut(&RunEffect),
) -> anyhow::Result<SessionMachine> {
    let mut session = SessionMachine::new(MachineSettings::default());
    let now = SteadyClock::new().now();
    let mut after = 0;
    loop {
        let page = kept.with_store_error(kept.store.events(run, after, PAGE).await)?;
        let Some(last) = page.last() else { return Ok(session) };
        after = last.seq;
        let mut effects = Vec::new();
        for stored in page {
            session.apply(now, MachineInput::Event(stored.event), &mut effects);
        }
        effects.iter().for_each(&mut each);
    }
}
