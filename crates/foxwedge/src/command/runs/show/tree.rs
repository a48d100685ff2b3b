//! The calls of a run, those of sub-agents below the call they work for.

use std::{
    collections::{HashMap, HashSet},
    io::{self, Write},
};

use foxwedge_run::{Run, SharedId, ToolCallState};

use crate::runs::{
    RunTimes,
    draw::{CallLine, SignSet, call_subject},
};

/// Draws every call once.
pub(super) fn write(
    out: &mut dyn Write,
    run: &Run,
    times: &RunTimes,
    signs: SignSet,
    columns: Option<usize>,
) -> io::Result<()> {
    for (tool, depth) in order(run) {
        let about = call_subject(tool.title.as_deref(), tool.input.as_ref());
        let reference = tool.reference();
        let card = CallLine {
            name: tool.name.as_deref().unwrap_or("unknown"),
            subject: &about,
            status: tool.status(),
            reason: tool.reason,
            duration: times.of_call(run.id(), &reference, times.last()),
            content: tool.content.as_ref(),
            depth,
        };
        out.write_all(card.line(signs, columns).draw(columns).as_bytes())?;
    }
    Ok(())
}

/// Calls in the order in which they are drawn, with their depths. One whose parent is not there,
/// or which is its own ancestor, stands at the edge.
fn order(run: &Run) -> Vec<(&ToolCallState, usize)> {
    let tools = run.tools();
    let known: HashSet<&SharedId> = tools.iter().map(|tool| &tool.call).collect();
    let mut children: HashMap<&SharedId, Vec<usize>> = HashMap::new();
    let mut roots = Vec::new();
    for (place, tool) in tools.iter().enumerate() {
        match &tool.parent {
            Some(parent) if known.contains(parent) => {
                children.entry(parent).or_default().push(place)
            }
            Some(_) | None => roots.push(place),
        }
    }
    let mut drawn = vec![false; tools.len()];
    let mut order = Vec::with_capacity(tools.len());
    // What is left behind the roots are rings.
    for root in roots.into_iter().chain(0..tools.len()) {
        let mut stack = vec![(root, 0)];
        while let Some((place, depth)) = stack.pop() {
            let (Some(tool), Some(done)) = (tools.get(place), drawn.get_mut(place)) else {
                continue;
            };
            if std::mem::replace(done, true) {
                continue;
            }
            order.push((tool, depth));
            // An id that was used again has the children below its first call.
            for child in children.remove(&tool.call).unwrap_or_default().into_iter().rev() {
                stack.push((child, depth + 1));
            }
        }
    }
    order
}
