//! Removes expired state.

use std::{sync::Weak, time::Duration};

use super::EngineShared;

/// How often expired state is removed: the shortest and the longest interval.
const INTERVAL_RANGE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// Removes expired state, for as long as the engine exists.
pub(super) async fn remove_expired(inner: Weak<EngineShared>) {
    let Some(config) = inner.upgrade().map(|inner| inner.config().sessions) else { return };
    let interval =
        (config.session_ttl.min(config.reply_ttl) / 4).clamp(INTERVAL_RANGE.0, INTERVAL_RANGE.1);
    loop {
        tokio::time::sleep(interval).await;
        let Some(inner) = inner.upgrade() else { return };
        inner.sessions.sweep();
        inner.recorder.sweep();
        inner.config.get().client.close_expired_connections();
    }
}
