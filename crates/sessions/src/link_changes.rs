//! The changes that a repair makes to the links of a file.

use std::collections::{HashMap, HashSet};

use foxwedge_core::Role;
use foxwedge_json::{FieldChange, quote};

use super::{SessionAgent, linked_file::LinkedFileRewriter};

/// One record on the path of the repaired file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PathItem {
    /// An existing record.
    Old(u32),
    /// The new record at this index of the plan.
    New(usize),
}

/// The changes to the links of a file.
#[derive(Debug, Default)]
pub(super) struct LinkChanges {
    /// New parents of existing records, as JSON.
    pub(super) parents: HashMap<u32, String>,
    /// New ids of existing records.
    pub(super) ids: HashMap<u32, String>,
    /// New records, by their index in the plan.
    pub(super) new: HashMap<usize, NewRecordLink>,
    /// Records that are removed.
    pub(super) gone: HashSet<u32>,
}

/// The link fields of a new record.
#[derive(Debug)]
pub(super) struct NewRecordLink {
    pub(super) id: String,
    /// Its parent, as JSON.
    pub(super) parent: String,
    /// A moment after the record before it, since some agent versions look for the latest record.
    pub(super) time: Option<String>,
}

impl LinkChanges {
    /// The id of a record after the repair.
    pub(super) fn id<'w>(
        &'w self,
        rewriter: &LinkedFileRewriter<'_, 'w>,
        item: PathItem,
    ) -> &'w str {
        match item {
            PathItem::Old(record) => {
                self.ids.get(&record).map_or_else(|| rewriter.id(record), String::as_str)
            }
            PathItem::New(place) => self.new.get(&place).map_or("", |new| new.id.as_str()),
        }
    }
}

/// A record to be created.
pub(super) struct NewLinkedRecord<'n> {
    /// The record whose fields it copies.
    pub(super) template: u32,
    pub(super) link: &'n NewRecordLink,
    pub(super) role: Role,
    /// Whether it belongs to the same message as the template.
    pub(super) joins: bool,
}

/// The fields with the id and the parent of a record.
pub(super) fn link_fields(agent: SessionAgent) -> (&'static str, &'static str) {
    match agent {
        SessionAgent::Pi => ("id", "parentId"),
        _ => ("uuid", "parentUuid"),
    }
}

/// The changed link fields of a record.
pub(super) fn link_changes(
    agent: SessionAgent,
    record: u32,
    links: &LinkChanges,
) -> impl Iterator<Item = (&'static str, FieldChange<'static>)> {
    let (id_field, parent_field) = link_fields(agent);
    let parent = links.parents.get(&record).map(|parent| (parent_field, parent.clone()));
    let id = links.ids.get(&record).map(|id| (id_field, quote(id)));
    parent.into_iter().chain(id).map(|(key, value)| (key, FieldChange::Text(value)))
}
