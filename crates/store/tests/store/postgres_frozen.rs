//! A server that accepts everything and answers nothing.

use std::time::Duration;

use foxwedge_store::{Store, StoreError};
use tokio::time::timeout;

use crate::{
    postgres_fixture::{begin, fresh, open, text_event},
    relay::Relay,
};

/// Longer than any correct wait.
const TIMEOUT: Duration = Duration::from_secs(90);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn frozen_server_is_an_error_within_a_limited_time() {
    let Some(url) = fresh() else { return };
    let relay = Relay::start(&format!("{url}&statement_timeout=500")).await;
    let store = open(relay.url()).await;
    let lease = begin(&store, "session", "run", 60_000).await;
    relay.freeze();
    let appended = store.append("run", &lease, vec![text_event("run", 2, "x")]);
    let result = timeout(TIMEOUT, appended).await.expect("an append at a frozen server ends");
    assert!(matches!(result, Err(StoreError::Unavailable(_))), "{result:?}");
    relay.thaw();
    // The first append may have been executed by now: a repeated one is detected.
    let event = vec![text_event("run", 2, "x")];
    let result = timeout(TIMEOUT, store.append("run", &lease, event)).await.expect("an answer");
    assert_eq!(result.expect("stored"), 2);
}
