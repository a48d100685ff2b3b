//! The calls of a run that is being drawn: their names, what they work on, and who works for whom.

use std::collections::{BTreeMap, HashMap};

use anstyle::Style;
use foxwedge_run::{Id, Json, Reason, Status, ToolRef};

use crate::{
    runs::{
        Times,
        draw::{self, Card, Signs, about},
    },
    say::{BOLD, DIM, clean},
    screen::{Line, fit},
};

/// Calls that are named below the lines.
const NAMED: usize = 2;

/// Every call that is not settled, and the names of those that were.
#[derive(Default)]
pub(super) struct Calls {
    all: HashMap<(Id, ToolRef), Seen>,
    /// The newest call of an id, which is how sub-agents name theirs.
    by_id: HashMap<(Id, Id), ToolRef>,
    /// Those that are not settled, in the order in which they were opened.
    open: BTreeMap<u64, (Id, ToolRef)>,
    number: u64,
}

struct Seen {
    number: u64,
    name: Id,
    title: Option<String>,
    about: String,
    parent: Option<Id>,
    status: Status,
}

/// A call whose sub-agent is at work.
pub(super) struct Header {
    name: Id,
    about: String,
    depth: usize,
}

impl Header {
    pub(super) fn line(&self, signs: Signs) -> Line {
        let indent = "  ".repeat(self.depth.min(8));
        Line::new()
            .with(DIM, format!("{indent}{} ", signs.below()))
            .with(BOLD, clean(&self.name))
            .with(Style::new(), format!("  {}", fit(&self.about, 72)))
    }
}

impl Calls {
    pub(super) fn open(
        &mut self,
        run: &Id,
        tool: &ToolRef,
        name: &Id,
        parent: Option<&Id>,
        title: Option<&str>,
    ) {
        self.number += 1;
        let seen = Seen {
            number: self.number,
            name: name.clone(),
            title: title.map(str::to_owned),
            about: about(title, None),
            parent: parent.cloned(),
            status: Status::Pending,
        };
        let key = (run.clone(), tool.clone());
        self.by_id.insert((run.clone(), tool.call.clone()), tool.clone());
        self.open.insert(self.number, key.clone());
        self.all.insert(key, seen);
    }

    pub(super) fn ready(&mut self, run: &Id, tool: &ToolRef, input: &Json) {
        if let Some(seen) = self.seen(run, tool) {
            seen.about = about(seen.title.as_deref(), Some(input));
        }
    }

    pub(super) fn status(&mut self, run: &Id, tool: &ToolRef, status: Status) {
        if let Some(seen) = self.seen(run, tool) {
            seen.status = status;
        }
    }

    /// What is asked says more than the arguments.
    pub(super) fn asked(&mut self, run: &Id, tool: &ToolRef, prompt: Option<&str>) {
        if let (Some(seen), Some(prompt)) = (self.seen(run, tool), prompt)
            && seen.about.is_empty()
        {
            seen.about = about(Some(prompt), None);
        }
    }

    pub(super) fn settle(&mut self, run: &Id, tool: &ToolRef) {
        if let Some(number) = self.seen(run, tool).map(|seen| seen.number) {
            self.open.remove(&number);
        }
    }

    /// The call that a call works for.
    pub(super) fn parent(&self, run: &Id, tool: &ToolRef) -> Option<Id> {
        self.all.get(&(run.clone(), tool.clone()))?.parent.clone()
    }

    /// What stands above the work of a sub-agent.
    pub(super) fn header(&self, run: &Id, call: &Id) -> Option<Header> {
        let tool = self.by_id.get(&(run.clone(), call.clone()))?;
        let seen = self.all.get(&(run.clone(), tool.clone()))?;
        let depth = self.parents(run, tool).len();
        Some(Header { name: seen.name.clone(), about: seen.about.clone(), depth })
    }

    pub(super) fn card<'a>(
        &'a self,
        run: &Id,
        tool: &ToolRef,
        (status, reason): (Status, Option<Reason>),
        span: Option<u64>,
        content: Option<&'a Json>,
    ) -> Option<Card<'a>> {
        let seen = self.all.get(&(run.clone(), tool.clone()))?;
        let depth = self.parents(run, tool).len();
        let (name, about) = (&*seen.name, seen.about.as_str());
        Some(Card { name, about, status, reason, span, content, depth })
    }

    /// The run is over.
    pub(super) fn forget(&mut self, run: &Id) {
        self.all.retain(|(of, _), _| of != run);
        self.by_id.retain(|(of, _), _| of != run);
        self.open.retain(|_, (of, _)| of != run);
    }

    /// How deep a call lies.
    pub(super) fn depth(&self, run: &Id, call: &Id) -> usize {
        let tool = self.by_id.get(&(run.clone(), call.clone()));
        tool.map_or(0, |tool| self.parents(run, tool).len())
    }

    /// Calls at work, in a few words.
    pub(super) fn under_way(&self, run: &Id, times: &Times, now: u64) -> Option<String> {
        let at_work = self.open.values().filter(|(of, _)| of == run);
        let named = at_work.take(NAMED).filter_map(|key| {
            let seen = self.all.get(key)?;
            let time = times.of_call(run, &key.1, Some(now));
            let verdict = draw::verdict(seen.status, None, time);
            Some(format!("{} {} {verdict}", clean(&seen.name), fit(&seen.about, 40)))
        });
        let mut words: Vec<String> = named.collect();
        if self.open.len() > NAMED {
            words.push(format!("{} more", self.open.len() - NAMED));
        }
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// The calls that a call works for, the nearest first.
    fn parents(&self, run: &Id, tool: &ToolRef) -> Vec<ToolRef> {
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

    fn seen(&mut self, run: &Id, tool: &ToolRef) -> Option<&mut Seen> {
        self.all.get_mut(&(run.clone(), tool.clone()))
    }
}
