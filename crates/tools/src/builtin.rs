//! The built-in tools. The file tools share how they start and end; the work of each is in its own
//! file.

mod list;
mod read;
mod search;
mod write;
mod edit;
mod run;

pub(crate) use edit::preview_edit;
pub(crate) use write::preview_write;

use std::{borrow::Cow, sync::Arc, time::Duration};

use serde_json::{Value, json};

use crate::{
    CommandSettings, Tool, ToolCallResult, ToolEffect, ToolFuture, ToolInvocation, ToolLimits,
    ToolSpec, ToolWorkspace,
    cancel::{CancelToken, run_blocking},
    refusal::ToolRefusal,
};

/// Names of the built-in tools.
pub const NAMES: [&str; 6] = ["list", "read", "search", "write", "edit", "run"];

/// A name that is not that of a built-in tool.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no built-in tool `{0}`; there are {names}", names = NAMES.join(", "))]
pub struct UnknownTool(pub String);

pub(crate) fn all(
    workspace: &ToolWorkspace,
    limits: ToolLimits,
    commands: &CommandSettings,
) -> Vec<Arc<dyn Tool>> {
    let tool = |name: &&str| by_name(workspace, name, limits.clone(), commands).ok();
    NAMES.iter().filter_map(tool).collect()
}

pub(crate) fn by_name(
    workspace: &ToolWorkspace,
    name: &str,
    limits: ToolLimits,
    commands: &CommandSettings,
) -> Result<Arc<dyn Tool>, UnknownTool> {
    let limits = limits.clamp_to_useful();
    let (spec, action): (ToolSpec, FileToolAction) = match name {
        "list" => (list::list_spec(&limits), list::list_folder),
        "read" => (read::read_spec(&limits), read::read_file),
        "search" => (search::search_spec(&limits), search::search_files),
        "write" => (write::write_spec(&limits), write::write_file),
        "edit" => (edit::edit_spec(&limits), edit::edit_file),
        "run" => {
            return Ok(Arc::new(run::RunTool::new(workspace.clone(), limits, commands.clone())));
        }
        _ => return Err(UnknownTool(name.to_owned())),
    };
    Ok(Arc::new(FileTool { spec, action, workspace: workspace.clone(), limits }))
}

/// The work of a file tool. It may block.
type FileToolAction = fn(&Value, &FileToolContext<'_>) -> Result<ToolCallResult, ToolRefusal>;

/// Workspace, limits and cancel token of a file tool call.
pub(crate) struct FileToolContext<'a> {
    pub(crate) workspace: &'a ToolWorkspace,
    pub(crate) limits: &'a ToolLimits,
    pub(crate) cancel: &'a CancelToken,
    pub(crate) call_id: &'a str,
}

/// A file tool.
struct FileTool {
    spec: ToolSpec,
    action: FileToolAction,
    workspace: ToolWorkspace,
    limits: ToolLimits,
}

impl Tool for FileTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, invocation: ToolInvocation<'a>) -> ToolFuture<'a, ToolCallResult> {
        let (action, workspace, limits) =
            (self.action, self.workspace.clone(), self.limits.clone());
        let (input, call_id) = (invocation.input.clone(), invocation.call_id.to_owned());
        let cancel = CancelToken::new(invocation.stop, self.spec.limit);
        Box::pin(run_blocking(cancel, move |cancel| {
            let context = FileToolContext {
                workspace: &workspace,
                limits: &limits,
                cancel,
                call_id: &call_id,
            };
            action(&input, &context).unwrap_or_else(ToolCallResult::from)
        }))
    }
}

/// Builds the description of a tool. Each property is a name, a type and a description.
fn build_spec(
    name: &'static str,
    description: impl Into<Cow<'static, str>>,
    required: &[&str],
    properties: &[(&str, &str, String)],
    effect: ToolEffect,
    limit: Duration,
) -> ToolSpec {
    let property = |(name, kind, description): &(&str, &str, String)| {
        let value = match *kind {
            "integer" => json!({ "type": kind, "minimum": 0, "description": description }),
            _ => json!({ "type": kind, "description": description }),
        };
        ((*name).to_owned(), value)
    };
    let properties: serde_json::Map<String, Value> = properties.iter().map(property).collect();
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    ToolSpec { name: name.into(), description: description.into(), schema, effect, limit }
}

/// Whether `.gitignore` files count: an argument of several tools.
const IGNORED_DESCRIPTION: &str = "Also what .gitignore files name. Default: false.";
