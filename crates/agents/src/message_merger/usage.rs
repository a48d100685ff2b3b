//! Sums the usage of several messages.

use serde_json::{Map, Value, json};

/// The usage of several messages.
#[derive(Debug, Default)]
pub(super) struct UsageSum {
    /// Usage of finished messages.
    finished: Map<String, Value>,
    /// Usage of the current message. Later figures replace earlier ones.
    current: Map<String, Value>,
}

impl UsageSum {
    /// Updates the figures of the current message.
    pub(super) fn update(&mut self, usage: &Value) {
        let Some(usage) = usage.as_object() else { return };
        let figures = usage.iter().filter(|(_, value)| value.is_u64() || value.is_object());
        self.current.extend(figures.map(|(key, value)| (key.clone(), value.clone())));
    }

    /// Ends the current message.
    pub(super) fn finish_message(&mut self) {
        let now = std::mem::take(&mut self.current);
        add(&mut self.finished, now);
    }

    /// The total.
    pub(super) fn into_total(mut self) -> Value {
        self.finish_message();
        self.finished.entry("output_tokens").or_insert(json!(0));
        Value::Object(self.finished)
    }
}

/// Adds figures, including nested ones.
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
