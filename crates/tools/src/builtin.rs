//! The built-in tools. Those for files share how they are started and ended; what each does is in
//! its own file.

mod list;
mod read;
mod search;
mod write;
mod edit;
mod run;

use std::{borrow::Cow, sync::Arc, time::Duration};

use serde_json::{Value, json};

use crate::{
    CommandSettings, Tool, ToolCallResult, ToolEffect, ToolFuture, ToolInvocation, ToolLimits,
    ToolSpec, ToolWorkspace,
    cancel::{CancelToken, run_blocking},
    refusal::ToolRefusal,
};

/// The names of the built-in tools.
pub const NAMES: [&str; 6] = ["list", "read", "search", "write", "edit", "run"];

/// A name that no built-in tool has.
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
    let (about, act): (ToolSpec, FileToolAction) = match name {
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
    Ok(Arc::new(FileTool { spec: about, action: act, workspace: workspace.clone(), limits }))
}

/// What a tool for files does; it may block.
type FileToolAction = fn(&Value, &FileToolContext<'_>) -> Result<ToolCallResult, ToolRefusal>;

/// Where a tool for files works, and how far it may go.
struct FileToolContext<'a> {
    workspace: &'a ToolWorkspace,
    limits: &'a ToolLimits,
    cancel: &'a CancelToken,
}

/// A tool for files.
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

    fn run<'a>(&'a self, work: ToolInvocation<'a>) -> ToolFuture<'a, ToolCallResult> {
        let (act, workspace, limits) = (self.action, self.workspace.clone(), self.limits.clone());
        let input = work.input.clone();
        let leash = CancelToken::new(work.stop, self.spec.limit);
        Box::pin(run_blocking(leash, move |leash| {
            let site = FileToolContext { workspace: &workspace, limits: &limits, cancel: leash };
            act(&input, &site).unwrap_or_else(ToolCallResult::from)
        }))
    }
}

/// What has to be known about a tool. Each property is a name, a type and a description.
fn build_spec(
    name: &'static str,
    description: impl Into<Cow<'static, str>>,
    required: &[&str],
    properties: &[(&str, &str, String)],
    effect: ToolEffect,
    limit: Duration,
) -> ToolSpec {
    let property = |(name, kind, words): &(&str, &str, String)| {
        let value = match *kind {
            "integer" => json!({ "type": kind, "minimum": 0, "description": words }),
            _ => json!({ "type": kind, "description": words }),
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

/// Whether `.gitignore` files count: an argument of more than one tool.
const IGNORED_DESCRIPTION: &str = "Also what .gitignore files name. Default: false.";
