//! What a request of the Responses API refers to by id.

use std::{borrow::Cow, sync::Arc};

use foxwedge_formats::OutlinedDocument;

use super::{
    EngineShared,
    response_items::{is_reference, item_not_found, previous_response_not_found},
};
use crate::ApiError;

/// The ids of the response that a request continues and of the items it refers to.
pub(super) fn reference_ids(reading: &OutlinedDocument<'_>) -> Vec<Arc<str>> {
    let previous = reading.envelope.previous_response.as_deref().map(Arc::from);
    previous.into_iter().chain(item_references(reading)).collect()
}

/// The ids of the items that a request refers to.
fn item_references(reading: &OutlinedDocument<'_>) -> impl Iterator<Item = Arc<str>> {
    #[derive(serde::Deserialize)]
    struct ItemReference<'a> {
        #[serde(borrow)]
        id: Cow<'a, str>,
    }
    let draft = &reading.draft;
    draft.messages.iter().filter(|message| is_reference(message)).filter_map(move |item| {
        let reference: ItemReference<'_> = serde_json::from_str(item.span.of(draft.source)).ok()?;
        Some(Arc::from(reference.id))
    })
}

/// Refuses references to responses and items of other owners, as if they did not exist: the upstream
/// knows only the key that the owners share.
pub(super) fn refuse_other_owners(
    engine: &EngineShared,
    owner: &str,
    reading: &OutlinedDocument<'_>,
) -> Result<(), ApiError> {
    let is_foreign = |id: &str| engine.response_items.is_foreign(owner, id);
    let previous = reading.envelope.previous_response.as_deref();
    if let Some(id) = previous.filter(|id| is_foreign(id)) {
        return Err(previous_response_not_found(id));
    }
    match item_references(reading).find(|id| is_foreign(id)) {
        Some(id) => Err(item_not_found(&id)),
        None => Ok(()),
    }
}
