//! What several messages cost together.

use serde_json::{Map, Value, json};

/// A sum over messages.
#[derive(Debug, Default)]
pub(super) struct Total {
    /// Messages that are over.
    before: Map<String, Value>,
    /// The one that is not. Later figures of a message stand for earlier ones.
    now: Map<String, Value>,
}

impl Total {
    /// A message tells figures of itself.
    pub(super) fn tell(&mut self, usage: &Value) {
        let Some(usage) = usage.as_object() else { return };
        let figures = usage.iter().filter(|(_, value)| value.is_u64() || value.is_object());
        self.now.extend(figures.map(|(key, value)| (key.clone(), value.clone())));
    }

    /// The message is over.
    pub(super) fn settle(&mut self) {
        let now = std::mem::take(&mut self.now);
        add(&mut self.before, now);
    }

    /// All figures.
    pub(super) fn told(mut self) -> Value {
        self.settle();
        self.before.entry("output_tokens").or_insert(json!(0));
        Value::Object(self.before)
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
