//! Which tools may run without asking, and what happens where nobody can be asked.

use std::{collections::BTreeSet, sync::Arc};

use foxwedge_agent_loop::tool_loop::{ToolApprovalRequest, ToolApprover, ToolDecision};
use foxwedge_tools::{ToolEffect, ToolFuture, Toolbox};

use crate::{
    cli_output::{CliError, clean, cut},
    nearest::nearest,
};

/// The word for every tool.
pub(crate) const ALL_TOOLS: &str = "all";

/// Tools that may run without asking, as they were named beforehand.
#[derive(Clone, Debug, Default)]
pub(crate) struct AllowedTools(Arc<BTreeSet<String>>);

impl AllowedTools {
    /// Those that are named: a name, a beginning with `*`, or `all`.
    pub(crate) fn new(names: impl IntoIterator<Item = String>) -> AllowedTools {
        AllowedTools(Arc::new(names.into_iter().collect()))
    }

    /// Whether it may run without asking.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|allowed| matches_name(allowed, name))
    }

    /// Whether a call has to wait for somebody: it may change something, and nobody allowed it.
    pub(crate) fn needs_approval(&self, asking: &ToolApprovalRequest<'_>) -> bool {
        match asking.tool.effect {
            ToolEffect::Reads => false,
            ToolEffect::Writes => !self.has(&asking.tool.name),
        }
    }

    /// Refuses names that no tool has: a misspelt one would be allowed for nothing.
    pub(crate) fn check(&self, tools: &Toolbox) -> Result<(), CliError> {
        for allowed in self.0.iter() {
            if allowed == ALL_TOOLS
                || tools.iter().any(|tool| matches_name(allowed, &tool.spec().name))
            {
                continue;
            }
            return Err(no_tool_error(allowed, tools));
        }
        Ok(())
    }
}

/// A tool that is not there, and which one may be meant.
pub(crate) fn no_tool_error(typed: &str, tools: &Toolbox) -> CliError {
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.spec().name).collect();
    let shown = cut(&clean(typed), 60);
    let help = match (nearest(typed, names.iter().copied()), names.is_empty()) {
        (Some(name), _) => format!("did you mean `{name}`?"),
        (None, true) => "there are no tools".to_owned(),
        (None, false) => format!("the tools are {}", names.join(", ")),
    };
    CliError::new(format!("there is no tool `{shown}`")).help(help)
}

fn matches_name(allowed: &str, name: &str) -> bool {
    match allowed.strip_suffix('*') {
        _ if allowed == ALL_TOOLS => true,
        Some(beginning) => name.starts_with(beginning),
        None => allowed == name,
    }
}

/// Nobody is there: what is not allowed beforehand is denied, with words that tell the model why.
#[derive(Clone, Debug)]
pub(crate) struct UnattendedApprover(pub(crate) AllowedTools);

impl ToolApprover for UnattendedApprover {
    fn needs_approval(&self, asking: &ToolApprovalRequest<'_>) -> bool {
        self.0.needs_approval(asking)
    }

    fn decide<'a>(&'a self, asking: ToolApprovalRequest<'a>) -> ToolFuture<'a, ToolDecision> {
        let decision = match self.0.has(&asking.tool.name) {
            true => ToolDecision::Allow,
            false => ToolDecision::Deny(Some(denial_message(&asking.tool.name))),
        };
        Box::pin(async { decision })
    }
}

/// What the model is told.
fn denial_message(name: &str) -> String {
    format!(
        "`{name}` may change something, nobody is there to be asked, and it was not allowed \
         beforehand. Do not try it again; say what you would have done with it. The user can allow \
         it with `--allow {name}`."
    )
}

/// What the user is told.
pub(crate) fn allow_hint(name: &str) -> String {
    let name = clean(&cut(name, 80));
    format!("`--allow {name}` lets it run, `--yes` lets every tool run")
}

#[cfg(test)]
mod tests {
    use foxwedge_tools::ToolSpec;
    use serde_json::json;

    use super::*;

    fn about(name: &'static str, effect: ToolEffect) -> ToolSpec {
        ToolSpec {
            name: name.into(),
            description: "".into(),
            schema: json!({}),
            effect,
            limit: std::time::Duration::from_secs(1),
        }
    }

    #[tokio::test]
    async fn what_writes_runs_only_if_somebody_allowed_it() {
        let table = [
            (&[][..], "read", ToolEffect::Reads, true),
            (&[], "run", ToolEffect::Writes, false),
            (&["run"], "run", ToolEffect::Writes, true),
            (&["run"], "write", ToolEffect::Writes, false),
            (&["all"], "write", ToolEffect::Writes, true),
            (&["mcp__git__*"], "mcp__git__push", ToolEffect::Writes, true),
            (&["mcp__git__*"], "mcp__mail__send", ToolEffect::Writes, false),
            (&["ru"], "run", ToolEffect::Writes, false),
        ];
        for (names, tool, effect, expected) in table {
            let allowed = AllowedTools::new(names.iter().map(|name| (*name).to_owned()));
            let (about, input) = (about(tool, effect), json!({}));
            let asking = ToolApprovalRequest { call: "c", tool: &about, input: &input };
            let approver = UnattendedApprover(allowed);
            let runs = !approver.needs_approval(&asking)
                || approver.decide(asking).await == ToolDecision::Allow;
            assert_eq!(runs, expected, "{names:?} {tool}");
        }
    }

    #[tokio::test]
    async fn the_model_is_told_why_and_the_user_how_to_allow_it() {
        let (about, input) = (about("run", ToolEffect::Writes), json!({}));
        let asking = ToolApprovalRequest { call: "c", tool: &about, input: &input };
        let decision = UnattendedApprover(AllowedTools::default()).decide(asking).await;
        let ToolDecision::Deny(Some(words)) = decision else { panic!("{decision:?}") };
        assert!(words.contains("--allow run"), "{words}");
        assert!(allow_hint("run\u{1b}[2J").contains("--allow run\u{fffd}[2J"));
    }
}
