//! The calls of a run that is being drawn: their names, what they work on, and who works for whom.

use std::collections::{BTreeMap, HashMap};

use anstyle::Style;
use foxwedge_run::{RawJson, SharedId, ToolRef, ToolStatus, ToolStatusReason};

use crate::{
    cli_output::{BOLD, DIM, clean},
    runs::{
        RunTimes,
        draw::{self, CallLine, SignSet, call_subject},
    },
    screen::{StyledLine, fit_columns},
};

/// Calls that are named below the lines.
const MAX_NAMED_CALLS: usize = 2;

/// Every call that is not settled, and the names of those that were.
#[derive(Default)]
pub(super) struct FollowCallTable {
    all: HashMap<(SharedId, ToolRef), FollowCallEntry>,
    /// The newest call of an id, which is how sub-agents name theirs.
    by_id: HashMap<(SharedId, SharedId), ToolRef>,
    /// Those that are not settled, in the order in which they were opened.
    open: BTreeMap<u64, (SharedId, ToolRef)>,
    number: u64,
}

struct FollowCallEntry {
    number: u64,
    name: SharedId,
    title: Option<String>,
    about: String,
    parent: Option<SharedId>,
    status: ToolStatus,
}

/// A call whose sub-agent is at work.
pub(super) struct SubAgentHeader {
    name: SharedId,
    about: String,
    depth: usize,
}

impl SubAgentHeader {
    pub(super) fn line(&self, signs: SignSet) -> StyledLine {
        let indent = "  ".repeat(self.depth.min(8));
        StyledLine::new()
            .with(DIM, format!("{indent}{} ", signs.below()))
            .with(BOLD, clean(&self.name))
            .with(Style::new(), format!("  {}", fit_columns(&self.about, 72)))
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
        let seen = FollowCallEntry {
            number: self.number,
            name: name.clone(),
            title: title.map(str::to_owned),
            about: call_subject(title, None),
            parent: parent.cloned(),
            status: ToolStatus::Pending,
        };
        let key = (run.clone(), tool.clone());
        self.by_id.insert((run.clone(), tool.call.clone()), tool.clone());
        self.open.insert(self.number, key.clone());
        self.all.insert(key, seen);
    }

    pub(super) fn set_input(&mut self, run: &SharedId, tool: &ToolRef, input: &RawJson) {
        if let Some(seen) = self.find_mut(run, tool) {
            seen.about = call_subject(seen.title.as_deref(), Some(input));
        }
    }

    pub(super) fn set_status(&mut self, run: &SharedId, tool: &ToolRef, status: ToolStatus) {
        if let Some(seen) = self.find_mut(run, tool) {
            seen.status = status;
        }
    }

    /// What is asked says more than the arguments.
    pub(super) fn set_question(&mut self, run: &SharedId, tool: &ToolRef, prompt: Option<&str>) {
        if let (Some(seen), Some(prompt)) = (self.find_mut(run, tool), prompt)
            && seen.about.is_empty()
        {
            seen.about = call_subject(Some(prompt), None);
        }
    }

    pub(super) fn settle(&mut self, run: &SharedId, tool: &ToolRef) {
        if let Some(number) = self.find_mut(run, tool).map(|seen| seen.number) {
            self.open.remove(&number);
        }
    }

    /// The call that a call works for.
    pub(super) fn parent(&self, run: &SharedId, tool: &ToolRef) -> Option<SharedId> {
        self.all.get(&(run.clone(), tool.clone()))?.parent.clone()
    }

    /// What stands above the work of a sub-agent.
    pub(super) fn header(&self, run: &SharedId, call: &SharedId) -> Option<SubAgentHeader> {
        let tool = self.by_id.get(&(run.clone(), call.clone()))?;
        let seen = self.all.get(&(run.clone(), tool.clone()))?;
        let depth = self.parents(run, tool).len();
        Some(SubAgentHeader { name: seen.name.clone(), about: seen.about.clone(), depth })
    }

    pub(super) fn card<'a>(
        &'a self,
        run: &SharedId,
        tool: &ToolRef,
        (status, reason): (ToolStatus, Option<ToolStatusReason>),
        span: Option<u64>,
        content: Option<&'a RawJson>,
    ) -> Option<CallLine<'a>> {
        let seen = self.all.get(&(run.clone(), tool.clone()))?;
        let depth = self.parents(run, tool).len();
        let (name, about) = (&*seen.name, seen.about.as_str());
        Some(CallLine { name, subject: about, status, reason, duration: span, content, depth })
    }

    /// The run is over.
    pub(super) fn forget_run(&mut self, run: &SharedId) {
        self.all.retain(|(of, _), _| of != run);
        self.by_id.retain(|(of, _), _| of != run);
        self.open.retain(|_, (of, _)| of != run);
    }

    /// How deep a call lies.
    pub(super) fn depth(&self, run: &SharedId, call: &SharedId) -> usize {
        let tool = self.by_id.get(&(run.clone(), call.clone()));
        tool.map_or(0, |tool| self.parents(run, tool).len())
    }

    /// Calls at work, in a few words.
    pub(super) fn describe_running(
        &self,
        run: &SharedId,
        times: &RunTimes,
        now: u64,
    ) -> Option<String> {
        let at_work = self.open.values().filter(|(of, _)| of == run);
        let named = at_work.take(MAX_NAMED_CALLS).filter_map(|key| {
            let seen = self.all.get(key)?;
            let time = times.of_call(run, &key.1, Some(now));
            let verdict = draw::status_text(seen.status, None, time);
            Some(format!("{} {} {verdict}", clean(&seen.name), fit_columns(&seen.about, 40)))
        });
        let mut words: Vec<String> = named.collect();
        if self.open.len() > MAX_NAMED_CALLS {
            words.push(format!("{} more", self.open.len() - MAX_NAMED_CALLS));
        }
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// The calls that a call works for, the nearest first.
    fn parents(&self, run: &SharedId, tool: &ToolRef) -> Vec<ToolRef> {
        let mut parents = Vec::new();
        let mut here = tool.clone();
        // A ring of parents is no tree; it is drawn as far as it goes.
        while parents.len() < 8
            && let Some(seen) = self.all.get(&(run.clone(), here.clone()))
            && let Some(parent) = &seen.parent
            && let Some(above) = self.by_id.get(&(run.clone(), parent.clone()))
            && !parents.contains(above)
        {
            parents.push(above.clone());
            here = above.clone();
        }
        parents
    }

    fn find_mut(&mut self, run: &SharedId, tool: &ToolRef) -> Option<&mut FollowCallEntry> {
        self.all.get_mut(&(run.clone(), tool.clone()))
    }
}
