//! What several messages cost together.

use serde_json::{Map, Value, json};

/// A sum over messages.
#[derive(Debug, Default)]
pub(super) struct UsageSum {
    /// Messages that are over.
    finished: Map<String, Value>,
    /// The one that is not. Later figures of a message stand for earlier ones.
    current: Map<String, Value>,
}

impl UsageSum {
    /// A message tells figures of itself.
    pub(super) fn update(&mut self, usage: &Value) {
        let Some(usage) = usage.as_object() else { return };
        let figures = usage.iter().filter(|(_, value)| value.is_u64() || value.is_object());
        self.current.extend(figures.map(|(key, value)| (key.clone(), value.clone())));
    }

    /// The message is over.
    pub(super) fn finish_message(&mut self) {
        let now = std::mem::take(&mut self.current);
        add(&mut self.finished, now);
    }

    /// All figures.
    pub(super) fn into_total(mut self) -> Value {
        self.finish_message();
        self.finished.entry("output_tokens").or_insert(json!(0));
        Value::Object(self.finished)
    }
}

/// Adds figures, and figures inside of others.
fn add(to: &mut Map<String, Value>, more: Map<String, Value>) {
    for (key, value) in more {
        match (to.get_mut(&key), value) {
            (Some(Value::Object(old)), Value::Object(new)) => add(old, new),
            (Some(old), new) => {
                if let (Some(a), Some(b)) = (old.as_u64(), new.as_u64()) {
                    *old = json!(a.saturating_add(b));
                }
            }
            (None, new) => {
                to.insert(key, new);
            }
        }
    }
}
