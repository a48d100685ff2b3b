//! Records `tracing` events as text.

use std::{
    fmt::{Debug, Write as _},
    sync::{Arc, Mutex, PoisonError},
};

use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span,
    subscriber::{DefaultGuard, set_default},
};

/// Records the events of targets below `foxwedge::`. Clones share the record.
#[derive(Clone, Default)]
pub struct EventRecorder(Arc<Mutex<Vec<String>>>);

impl EventRecorder {
    /// Records what this thread emits, until the guard is dropped.
    pub fn listen(&self) -> DefaultGuard {
        set_default(self.clone())
    }

    /// The events so far: level, target, and fields in the order of their declaration.
    pub fn events(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Subscriber for EventRecorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("foxwedge::")
    }

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let mut text = EventText(format!("{} {}", metadata.level(), metadata.target()));
        event.record(&mut text);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text.0);
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// The text of an event.
struct EventText(String);

impl Visit for EventText {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing into a `String` cannot fail.
        let _ = write!(self.0, " {field}={value:?}");
    }
}
