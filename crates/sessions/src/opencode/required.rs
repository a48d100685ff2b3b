//! The fields that opencode requires in its rows, and what a repair writes where one is missing.
//! Older versions wrote rows without some of them.

use foxwedge_core::Role;
use foxwedge_json::{FieldChange, FieldChanges, quote};

use super::RowFields;

/// A field that a row must have, and the value that it gets.
pub(super) struct RequiredField {
    path: &'static [&'static str],
    value: FieldValue,
    /// Whether the object that it belongs to may be missing. Then it is required only inside one.
    is_parent_optional: bool,
}

/// Where the value of a missing field comes from.
#[derive(Clone, Copy)]
enum FieldValue {
    /// The value that the agent writes if there is nothing to tell.
    Json(&'static str),
    /// The role of the message.
    Role,
    /// When the row was created.
    Created,
    /// The message that a reply answers.
    Parent,
    /// The provider and the model of a message nearby.
    Provider,
    Model,
    /// The folder of the session.
    Folder,
    /// The name of the tool.
    Tool,
}

/// What is known around a row that lacks fields. All values are JSON.
pub(super) struct RowContext {
    pub(super) role: Role,
    pub(super) created: String,
    pub(super) parent: String,
    pub(super) provider: String,
    pub(super) model: String,
    pub(super) folder: String,
}

use FieldValue::{Created, Folder, Json, Model, Parent, Provider, Tool};

const fn field(path: &'static [&'static str], value: FieldValue) -> RequiredField {
    RequiredField { path, value, is_parent_optional: false }
}

const fn inner_field(path: &'static [&'static str], value: FieldValue) -> RequiredField {
    RequiredField { path, value, is_parent_optional: true }
}

const USER: &[RequiredField] = &[
    field(&["role"], FieldValue::Role),
    field(&["time", "created"], Created),
    field(&["agent"], Json("\"build\"")),
    field(&["model", "providerID"], Provider),
    field(&["model", "modelID"], Model),
];

const ASSISTANT: &[RequiredField] = &[
    field(&["role"], FieldValue::Role),
    field(&["time", "created"], Created),
    field(&["parentID"], Parent),
    field(&["modelID"], Model),
    field(&["providerID"], Provider),
    field(&["mode"], Json("\"build\"")),
    field(&["agent"], Json("\"build\"")),
    field(&["path", "cwd"], Folder),
    field(&["path", "root"], Folder),
    field(&["cost"], Json("0")),
    field(&["tokens", "input"], Json("0")),
    field(&["tokens", "output"], Json("0")),
    field(&["tokens", "reasoning"], Json("0")),
    field(&["tokens", "cache", "read"], Json("0")),
    field(&["tokens", "cache", "write"], Json("0")),
];

const STEP_FINISH: &[RequiredField] = &[
    field(&["reason"], Json("\"stop\"")),
    field(&["cost"], Json("0")),
    field(&["tokens", "input"], Json("0")),
    field(&["tokens", "output"], Json("0")),
    field(&["tokens", "reasoning"], Json("0")),
    field(&["tokens", "cache", "read"], Json("0")),
    field(&["tokens", "cache", "write"], Json("0")),
];

const TEXT: &[RequiredField] =
    &[field(&["text"], Json("\"\"")), inner_field(&["time", "start"], Created)];
const REASONING: &[RequiredField] =
    &[field(&["text"], Json("\"\"")), field(&["time", "start"], Created)];
const COMPACTION: &[RequiredField] = &[field(&["auto"], Json("false"))];
const PENDING: &[RequiredField] = &[field(&["state", "raw"], Json("\"\""))];
const RUNNING: &[RequiredField] = &[field(&["state", "time", "start"], Created)];
const COMPLETED: &[RequiredField] = &[
    field(&["state", "output"], Json("\"\"")),
    field(&["state", "title"], Tool),
    field(&["state", "metadata"], Json("{}")),
    field(&["state", "time", "start"], Created),
    field(&["state", "time", "end"], Created),
];
const FAILED: &[RequiredField] = &[
    field(&["state", "error"], Json("\"\"")),
    field(&["state", "time", "start"], Created),
    field(&["state", "time", "end"], Created),
];

impl RequiredField {
    /// Its path as text: `state.time.start`.
    pub(super) fn name(&self) -> String {
        self.path.join(".")
    }

    /// Whether it can be added: it is missing, and so is everything that would be in its place.
    fn is_missing(&self, fields: &RowFields<'_>) -> bool {
        let Some((last, parents)) = self.path.split_last() else { return false };
        let is_null = |fields: &RowFields<'_>, key: &str| {
            fields.get(key).is_none_or(|value| value.of(fields.source) == "null")
        };
        let mut inside = None;
        for key in parents {
            let fields = inside.as_ref().unwrap_or(fields);
            if is_null(fields, key) {
                return !self.is_parent_optional;
            }
            if !fields.get(key).is_some_and(|value| value.of(fields.source).starts_with('{')) {
                return false;
            }
            inside = Some(fields.inner(key));
        }
        is_null(inside.as_ref().unwrap_or(fields), last)
    }
}

/// The required fields that a message row lacks.
pub(super) fn missing_in_message(
    fields: &RowFields<'_>,
    role: Role,
) -> Vec<&'static RequiredField> {
    let required = if role == Role::User { USER } else { ASSISTANT };
    required.iter().filter(|field| field.is_missing(fields)).collect()
}

/// The required fields that a part row lacks. Kinds that are not known require nothing.
pub(super) fn missing_in_part(fields: &RowFields<'_>) -> Vec<&'static RequiredField> {
    let required = match fields.text("type").as_deref() {
        Some("text") => TEXT,
        Some("reasoning") => REASONING,
        Some("step-finish") => STEP_FINISH,
        Some("compaction") => COMPACTION,
        Some("tool") => match fields.inner("state").text("status").as_deref() {
            Some("pending") => PENDING,
            Some("running") => RUNNING,
            Some("completed") => COMPLETED,
            Some("error") => FAILED,
            _ => &[],
        },
        _ => &[],
    };
    required.iter().filter(|field| field.is_missing(fields)).collect()
}

/// The changes that add the missing fields.
pub(super) fn added_fields(
    fields: &RowFields<'_>,
    missing: &[&'static RequiredField],
    context: &RowContext,
) -> FieldChanges<'static> {
    let value = |field: &RequiredField| match field.value {
        Json(json) => json.to_owned(),
        FieldValue::Role if context.role == Role::User => quote("user"),
        FieldValue::Role => quote("assistant"),
        Created => context.created.clone(),
        Parent => context.parent.clone(),
        Provider => context.provider.clone(),
        Model => context.model.clone(),
        Folder => context.folder.clone(),
        Tool => quote(&fields.text("tool").unwrap_or_default()),
    };
    nest(&missing.iter().map(|field| (field.path, value(field))).collect::<Vec<_>>())
}

/// Values by their path, as changes of objects in objects.
fn nest(values: &[(&'static [&'static str], String)]) -> FieldChanges<'static> {
    let mut changes: FieldChanges<'static> = Vec::new();
    for group in values.chunk_by(|one, two| one.0.first() == two.0.first()) {
        let Some((key, rest)) = group.first().and_then(|(path, _)| path.split_first()) else {
            continue;
        };
        let change = match (rest.is_empty(), group) {
            (true, [(_, value), ..]) => FieldChange::Text(value.clone()),
            _ => {
                let inner = group
                    .iter()
                    .filter_map(|(path, value)| Some((path.split_first()?.1, value.clone())));
                FieldChange::Nested(nest(&inner.collect::<Vec<_>>()))
            }
        };
        changes.push((key, change));
    }
    changes
}
