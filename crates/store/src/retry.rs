//! Retries store operations while the store is unavailable.

use std::time::Duration;

use crate::{Result, StoreError};

/// The pauses before a failed store operation is retried, in milliseconds.
pub const RETRY_PAUSES_MILLIS: [u64; 4] = [50, 200, 1_000, 2_000];

/// Retries an operation while the store is unavailable. Store operations are idempotent.
///
/// # Errors
/// Of the last attempt.
pub async fn retry_unavailable<T, F: Future<Output = Result<T>>>(
    mut work: impl FnMut() -> F,
) -> Result<T> {
    for pause in RETRY_PAUSES_MILLIS {
        match work().await {
            Err(StoreError::Unavailable(_)) => {
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
            result => return result,
        }
    }
    work().await
}
