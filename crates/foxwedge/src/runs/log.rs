//! The log of a run, told to the machine once more.

use foxwedge_run::{Effect, Input, Session, Settings};
use foxwedge_store::Store;

use super::{Clock, Kept};

/// Events that are read at once.
pub(crate) const PAGE: usize = 1_000;

/// Reads a run's log from its beginning, and hands out everything that the machine makes of it.
pub(crate) async fn replay(
    kept: &Kept,
    run: &str,
    mut each: impl FnMut(&Effect),
) -> anyhow::Result<Session> {
    let mut session = Session::new(Settings::default());
    let now = Clock::new().now();
    let mut after = 0;
    loop {
        let page = kept.or_tell(kept.store.events(run, after, PAGE).await)?;
        let Some(last) = page.last() else { return Ok(session) };
        after = last.seq;
        let mut effects = Vec::new();
        for stored in page {
            session.apply(now, Input::Event(stored.event), &mut effects);
        }
        effects.iter().for_each(&mut each);
    }
}
