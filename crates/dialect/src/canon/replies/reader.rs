//! What the readers of all formats share.

use foxwedge_core::Wire;

use crate::{
    canon::{Bit, Failure, Loss, Lost, Part, Spot, Stop, Trouble, Usage, decode, failures, usages},
    json::{Object, Shape, Value},
};

/// A body on its way out of a format.
#[derive(Default)]
pub(super) struct Reader {
    pub(super) losses: Vec<Loss>,
}

impl Reader {
    /// Notes that something has no place in an answer, once for each sentence.
    pub(super) fn lose(&mut self, what: Lost, note: impl Into<String>) {
        let loss = Loss { what, at: Spot::Reply, note: note.into() };
        if !self.losses.contains(&loss) {
            self.losses.push(loss);
        }
    }

    /// Notes a field if it says anything.
    pub(super) fn leave(&mut self, object: &Object<'_, '_>, key: &str, what: Lost) {
        if object.get(key).is_some_and(says) {
            self.lose(what, left_out(key));
        }
    }

    /// A field, if it has the type that it should have. Any other type is noted.
    pub(super) fn of_shape<'t, 'a>(
        &mut self,
        object: &Object<'t, 'a>,
        key: &str,
        shapes: &[Shape],
    ) -> Option<Value<'t, 'a>> {
        let value = object.get(key).filter(|value| !value.is_null())?;
        if !shapes.contains(&value.shape()) {
            self.lose(Lost::Unknown, format!("`{key}` is not what it should be and is left out"));
            return None;
        }
        Some(value)
    }

    /// What the answer cost.
    pub(super) fn usage(&mut self, wire: Wire, body: &Object<'_, '_>, key: &str) -> Usage {
        let figures = self.of_shape(body, key, &[Shape::Object]).and_then(Value::object);
        figures.map(|figures| usages::read(wire, &figures)).unwrap_or_default()
    }
}

/// What is said of a field that is not kept.
pub(super) fn left_out(key: &str) -> String {
    format!("`{key}` is left out")
}

/// Whether a value says anything.
pub(super) fn says(value: Value<'_, '_>) -> bool {
    !matches!(value.raw(), "null" | "[]" | "{}" | "\"\"")
}

/// The trouble that stands under `error`.
pub(super) fn failure<'a>(wire: Wire, body: &Object<'_, 'a>) -> Option<Failure<'a>> {
    let error = body.get("error")?;
    match error.object() {
        Some(error) => Some(failures::read(wire, &error)),
        None => {
            let message = decode::words(Some(error))?;
            Some(Failure { kind: Trouble::Server, message, code: None })
        }
    }
}

/// A stop of a format that has no word of its own for calls.
pub(super) fn with_calls<'a>(stop: Stop<'a>, parts: &[Part<'a>]) -> Stop<'a> {
    let calls = parts.iter().any(|part| matches!(part.bit(), Bit::Call(_)));
    if calls && stop == Stop::End { Stop::Calls } else { stop }
}

/// Seconds, spelled with or without a fraction.
pub(super) fn seconds(value: Option<Value<'_, '_>>) -> Option<u64> {
    value?.number()?.split('.').next()?.parse().ok()
}
