//! The tool calls of a run that is rendered as text: names, subjects and parents.

use std::collections::{BTreeMap, HashMap};

use anstyle::Style;
use foxwedge_run::{RawJson, SharedId, ToolRef, ToolStatus, ToolStatusReason};

use foxwedge_local::{
    output::{BOLD, DIM, clean},
    runs::{
        RunTimes,
        draw::{self, CallLine, SignSet, call_subject},
    },
    screen::{StyledLine, fit_columns},
};

/// Maximum number of tool calls in the status line.
const MAX_NAMED_CALLS: usize = 2;

/// All tool calls of the open runs.
#[derive(Default)]
pub(super) struct FollowCallTable {
    all: HashMap<(SharedId, ToolRef), FollowCallEntry>,
    /// The newest tool call of an id. Sub-agents refer to their parent by id.
    by_id: HashMap<(SharedId, SharedId), ToolRef>,
    /// Tool calls that are not settled, in the order in which they were opened.
    open: BTreeMap<u64, (SharedId, ToolRef)>,
    number: u64,
}

struct FollowCallEntry {
    number: u64,
    name: SharedId,
    title: Option<String>,
    subject: String,
    parent: Option<SharedId>,
    status: ToolStatus,
}

/// The header above the lines of a sub-agent.
pub(super) struct SubAgentHeader {
    name: SharedId,
    subject: String,
    depth: usize,
}

impl SubAgentHeader {
    pub(super) fn line(&self, signs: SignSet) -> StyledLine {
        let indent = "  ".repeat(self.depth.min(8));
        StyledLine::new()
            .with(DIM, format!("{indent}{} ", signs.below()))
            .with(BOLD, clean(&self.name))
            .with(Style::new(), format!("  {}", fit_columns(&self.subject, 72)))
    }
}

impl FollowCallTable {
    pub(super) fn open(
        &mut self,
        run: &SharedId,
        tool: &ToolRef,
        name: &SharedId,
        parent: Option<&SharedId>,
        title: Option<&str>,
    ) {
        self.number += 1;
        let entry = FollowCallEntry {
            number: self.number,
            name: name.clone(),
            title: title.map(str::to_owned),
            subject: call_subject(title, None),
            parent: parent.cloned(),
            status: ToolStatus::Pending,
        };
        let key = (run.clone(), tool.clone());
        self.by_id.insert((run.clone(), tool.call.clone()), tool.clone());
        self.open.insert(self.number, key.clone());
        self.all.insert(key, entry);
    }

    pub(super) fn set_input(&mut self, run: &SharedId, tool: &ToolRef, input: &RawJson) {
        if let Some(entry) = self.find_mut(run, tool) {
            entry.subject = call_subject(entry.title.as_deref(), Some(input));
        }
    }

    pub(super) fn set_status(&mut self, run: &SharedId, tool: &ToolRef, status: ToolStatus) {
        if let Some(entry) = self.find_mut(run, tool) {
            entry.status = status;
        }
    }

    /// Uses the approval prompt as subject, if there is no other.
    pub(super) fn set_question(&mut self, run: &SharedId, tool: &ToolRef, prompt: Option<&str>) {
        if let (Some(entry), Some(prompt)) = (self.find_mut(run, tool), prompt)
            && entry.subject.is_empty()
        {
            entry.subject = call_subject(Some(prompt), None);
        }
    }

    pub(super) fn settle(&mut self, run: &SharedId, tool: &ToolRef) {
        if let Some(number) = self.find_mut(run, tool).map(|entry| entry.number) {
            self.open.remove(&number);
        }
    }

    /// The parent of a tool call.
    pub(super) fn parent(&self, run: &SharedId, tool: &ToolRef) -> Option<SharedId> {
        self.all.get(&(run.clone(), tool.clone()))?.parent.clone()
    }

    /// The header above the lines of a sub-agent.
    pub(super) fn header(&self, run: &SharedId, call: &SharedId) -> Option<SubAgentHeader> {
        let tool = self.by_id.get(&(run.clone(), call.clone()))?;
        let entry = self.all.get(&(run.clone(), tool.clone()))?;
        let depth = self.parents(run, tool).len();
        Some(SubAgentHeader { name: entry.name.clone(), subject: entry.subject.clone(), depth })
    }

    pub(super) fn card<'a>(
        &'a self,
        run: &SharedId,
        tool: &ToolRef,
        (status, reason): (ToolStatus, Option<ToolStatusReason>),
        duration: Option<u64>,
        content: Option<&'a RawJson>,
    ) -> Option<CallLine<'a>> {
        let entry = self.all.get(&(run.clone(), tool.clone()))?;
        let depth = self.parents(run, tool).len();
        let (name, subject) = (&*entry.name, entry.subject.as_str());
        Some(CallLine { name, subject, status, reason, duration, content, depth })
    }

    /// Removes the tool calls of a run that ended.
    pub(super) fn forget_run(&mut self, run: &SharedId) {
        self.all.retain(|(owner, _), _| owner != run);
        self.by_id.retain(|(owner, _), _| owner != run);
        self.open.retain(|_, (owner, _)| owner != run);
    }

    /// The number of parents above a tool call.
    pub(super) fn depth(&self, run: &SharedId, call: &SharedId) -> usize {
        let tool = self.by_id.get(&(run.clone(), call.clone()));
        tool.map_or(0, |tool| self.parents(run, tool).len())
    }

    /// Describes the running tool calls for the status line.
    pub(super) fn describe_running(
        &self,
        run: &SharedId,
        times: &RunTimes,
        now: u64,
    ) -> Option<String> {
        let running = self.open.values().filter(|(owner, _)| owner == run);
        let described = running.take(MAX_NAMED_CALLS).filter_map(|key| {
            let entry = self.all.get(key)?;
            let time = times.of_call(run, &key.1, Some(now));
            let status = draw::status_text(entry.status, None, time);
            Some(format!("{} {} {status}", clean(&entry.name), fit_columns(&entry.subject, 40)))
        });
        let mut parts: Vec<String> = described.collect();
        if self.open.len() > MAX_NAMED_CALLS {
            parts.push(format!("{} more", self.open.len() - MAX_NAMED_CALLS));
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// The parents of a tool call, nearest first.
    fn parents(&self, run: &SharedId, tool: &ToolRef) -> Vec<ToolRef> {
        let mut parents = Vec::new();
        let mut current = tool.clone();
        // Stops at a cycle of parents.
        while parents.len() < 8
            && let Some(entry) = self.all.get(&(run.clone(), current.clone()))
            && let Some(parent) = &entry.parent
            && let Some(parent_ref) = self.by_id.get(&(run.clone(), parent.clone()))
            && !parents.contains(parent_ref)
        {
            parents.push(parent_ref.clone());
            current = parent_ref.clone();
        }
        parents
    }

    fn find_mut(&mut self, run: &SharedId, tool: &ToolRef) -> Option<&mut FollowCallEntry> {
        self.all.get_mut(&(run.clone(), tool.clone()))
    }
}
