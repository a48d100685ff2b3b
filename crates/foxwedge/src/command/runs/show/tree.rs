//! The tool calls of a run as a tree. Calls of sub-agents are below the call that started them.

use std::{
    collections::{HashMap, HashSet},
    io::{self, Write},
};

use foxwedge_run::{Run, SharedId, ToolCallState};

use foxwedge_local::runs::{
    RunTimes,
    draw::{CallLine, SignSet, call_subject},
};

/// Writes every tool call once.
pub(super) fn write(
    out: &mut dyn Write,
    run: &Run,
    times: &RunTimes,
    signs: SignSet,
    columns: Option<usize>,
) -> io::Result<()> {
    for (tool, depth) in order(run) {
        let subject = call_subject(tool.title.as_deref(), tool.input.as_ref());
        let reference = tool.reference();
        let call_line = CallLine {
            name: tool.name.as_deref().unwrap_or("unknown"),
            subject: &subject,
            status: tool.status(),
            reason: tool.reason,
            duration: times.of_call(run.id(), &reference, times.last()),
            content: tool.content.as_ref(),
            depth,
        };
        out.write_all(call_line.line(signs, columns).draw(columns).as_bytes())?;
    }
    Ok(())
}

/// Tool calls in output order, with their depths. A call whose parent is missing, or which is its
/// own ancestor, is a root.
fn order(run: &Run) -> Vec<(&ToolCallState, usize)> {
    let tools = run.tools();
    let known: HashSet<&SharedId> = tools.iter().map(|tool| &tool.call).collect();
    let mut children: HashMap<&SharedId, Vec<usize>> = HashMap::new();
    let mut roots = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        match &tool.parent {
            Some(parent) if known.contains(parent) => {
                children.entry(parent).or_default().push(index)
            }
            Some(_) | None => roots.push(index),
        }
    }
    let mut drawn = vec![false; tools.len()];
    let mut order = Vec::with_capacity(tools.len());
    // Calls that no root reaches form cycles.
    for root in roots.into_iter().chain(0..tools.len()) {
        let mut stack = vec![(root, 0)];
        while let Some((index, depth)) = stack.pop() {
            let (Some(tool), Some(done)) = (tools.get(index), drawn.get_mut(index)) else {
                continue;
            };
            if std::mem::replace(done, true) {
                continue;
            }
            order.push((tool, depth));
            // If an id occurs twice, the children are below its first call.
            for child in children.remove(&tool.call).unwrap_or_default().into_iter().rev() {
                stack.push((child, depth + 1));
            }
        }
    }
    order
}
