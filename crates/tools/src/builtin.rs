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
    About, Answer, CommandSettings, Effect, Future, Limits, Tool, Work, Workspace,
    leash::{Leash, blocking},
    refusal::Refusal,
};

/// The names of the built-in tools.
pub const NAMES: [&str; 6] = ["list", "read", "search", "write", "edit", "run"];

/// A name that no built-in tool has.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no built-in tool `{0}`; there are {names}", names = NAMES.join(", "))]
pub struct UnknownTool(pub String);

pub(crate) fn all(
    workspace: &Workspace,
    limits: Limits,
    commands: &CommandSettings,
) -> Vec<Arc<dyn Tool>> {
    let tool = |name: &&str| by_name(workspace, name, limits.clone(), commands).ok();
    NAMES.iter().filter_map(tool).collect()
}

pub(crate) fn by_name(
    workspace: &Workspace,
    name: &str,
    limits: Limits,
    commands: &CommandSettings,
) -> Result<Arc<dyn Tool>, UnknownTool> {
    let limits = limits.useful();
    let (about, act): (About, Act) = match name {
        "list" => (list::about(&limits), list::act),
        "read" => (read::about(&limits), read::act),
        "search" => (search::about(&limits), search::act),
        "write" => (write::about(&limits), write::act),
        "edit" => (edit::about(&limits), edit::act),
        "run" => return Ok(Arc::new(run::Run::new(workspace.clone(), limits, commands.clone()))),
        _ => return Err(UnknownTool(name.to_owned())),
    };
    Ok(Arc::new(FileTool { about, act, workspace: workspace.clone(), limits }))
}

/// What a tool for files does; it may block.
type Act = fn(&Value, &Site<'_>) -> Result<Answer, Refusal>;

/// Where a tool for files works, and how far it may go.
struct Site<'a> {
    workspace: &'a Workspace,
    limits: &'a Limits,
    leash: &'a Leash,
}

/// A tool for files.
struct FileTool {
    about: About,
    act: Act,
    workspace: Workspace,
    limits: Limits,
}

impl Tool for FileTool {
    fn about(&self) -> &About {
        &self.about
    }

    fn run<'a>(&'a self, work: Work<'a>) -> Future<'a, Answer> {
        let (act, workspace, limits) = (self.act, self.workspace.clone(), self.limits.clone());
        let input = work.input.clone();
        let leash = Leash::new(work.stop, self.about.limit);
        Box::pin(blocking(leash, move |leash| {
            let site = Site { workspace: &workspace, limits: &limits, leash };
            act(&input, &site).unwrap_or_else(Answer::from)
        }))
    }
}

/// What has to be known about a tool. Each property is a name, a type and a description.
fn about(
    name: &'static str,
    description: impl Into<Cow<'static, str>>,
    required: &[&str],
    properties: &[(&str, &str, String)],
    effect: Effect,
    limit: Duration,
) -> About {
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
    About { name: name.into(), description: description.into(), schema, effect, limit }
}

/// Whether `.gitignore` files count: an argument of more than one tool.
const IGNORED: &str = "Also what .gitignore files name. Default: false.";
