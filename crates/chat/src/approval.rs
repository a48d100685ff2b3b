//! Tools that may run without approval, and the approver for runs without a user.

use std::{collections::BTreeSet, sync::Arc};

use foxwedge_agent_loop::tool_loop::{ToolApprovalRequest, ToolApprover, ToolDecision};
use foxwedge_core::nearest_name;
use foxwedge_tools::{ToolEffect, ToolFuture, Toolbox};

use super::allow_rules::AllowRules;
use foxwedge_local::output::{HelpfulError, clean, cut};

/// The name that stands for every tool.
pub const ALL_TOOLS: &str = "all";

/// What may run without approval: tools from `--allow` and `--yes`, and rules of the user.
#[derive(Clone, Debug, Default)]
pub(crate) struct AllowedTools {
    names: Arc<BTreeSet<String>>,
    pub(crate) rules: AllowRules,
}

impl AllowedTools {
    /// Accepts tool names, prefixes that end in `*`, and `all`.
    pub(crate) fn new(names: impl IntoIterator<Item = String>) -> AllowedTools {
        let names = Arc::new(names.into_iter().collect());
        AllowedTools { names, rules: AllowRules::default() }
    }

    /// Also allows what these rules allow.
    pub(crate) fn with_rules(self, rules: AllowRules) -> AllowedTools {
        AllowedTools { rules, ..self }
    }

    /// Whether a tool may run without approval.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.iter().any(|allowed| matches_name(allowed, name))
    }

    /// Whether a call needs approval: its tool writes, and neither the tool nor the call is allowed.
    pub(crate) fn needs_approval(&self, request: &ToolApprovalRequest<'_>) -> bool {
        match request.tool.effect {
            ToolEffect::Reads => false,
            ToolEffect::Writes => {
                let name = &request.tool.name;
                !self.has(name) && !self.rules.allow(name, request.input)
            }
        }
    }

    /// Rejects names that no tool has, so that a typo does not go unnoticed.
    pub(crate) fn check(&self, tools: &Toolbox) -> Result<(), HelpfulError> {
        for allowed in self.names.iter() {
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

/// The error for an unknown tool, with the nearest name as help.
pub(crate) fn no_tool_error(typed: &str, tools: &Toolbox) -> HelpfulError {
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.spec().name).collect();
    let shown = cut(&clean(typed), 60);
    let help = match (nearest_name(typed, names.iter().copied()), names.is_empty()) {
        (Some(name), _) => format!("did you mean `{name}`?"),
        (None, true) => "there are no tools".to_owned(),
        (None, false) => format!("the tools are {}", names.join(", ")),
    };
    HelpfulError::new(format!("there is no tool `{shown}`")).help(help)
}

fn matches_name(allowed: &str, name: &str) -> bool {
    match allowed.strip_suffix('*') {
        _ if allowed == ALL_TOOLS => true,
        Some(prefix) => name.starts_with(prefix),
        None => allowed == name,
    }
}

/// An approver without a user: denies tools that are not allowed and gives the model the reason.
#[derive(Clone, Debug)]
pub(crate) struct UnattendedApprover(pub(crate) AllowedTools);

impl ToolApprover for UnattendedApprover {
    fn needs_approval(&self, request: &ToolApprovalRequest<'_>) -> bool {
        self.0.needs_approval(request)
    }

    fn decide<'a>(&'a self, request: ToolApprovalRequest<'a>) -> ToolFuture<'a, ToolDecision> {
        let decision = match self.0.needs_approval(&request) {
            false => ToolDecision::Allow,
            true => ToolDecision::Deny(Some(denial_message(&request.tool.name))),
        };
        Box::pin(async { decision })
    }
}

/// The reason that the model receives.
fn denial_message(name: &str) -> String {
    format!(
        "`{name}` may change something, no user is available to approve it, and it was not allowed \
         beforehand. Do not try it again; say what you would have done with it. The user can allow \
         it with `--allow {name}`."
    )
}

/// The hint for the user.
pub(crate) fn allow_hint(name: &str) -> String {
    let name = clean(&cut(name, 80));
    format!("`--allow {name}` lets it run, `--yes` lets every tool run")
}

#[cfg(test)]
mod tests {
    use foxwedge_tools::ToolSpec;
    use serde_json::json;

    use super::*;

    fn spec(name: &'static str, effect: ToolEffect) -> ToolSpec {
        ToolSpec {
            name: name.into(),
            description: "".into(),
            schema: json!({}),
            effect,
            limit: std::time::Duration::from_secs(1),
        }
    }

    #[tokio::test]
    async fn writing_tools_run_only_if_allowed() {
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
            let (spec, input) = (spec(tool, effect), json!({}));
            let request = ToolApprovalRequest { call: "c", tool: &spec, input: &input };
            let approver = UnattendedApprover(allowed);
            let runs = !approver.needs_approval(&request)
                || approver.decide(request).await == ToolDecision::Allow;
            assert_eq!(runs, expected, "{names:?} {tool}");
        }
    }

    #[tokio::test]
    async fn denial_gives_the_model_a_reason_and_the_user_a_flag() {
        let (spec, input) = (spec("run", ToolEffect::Writes), json!({}));
        let request = ToolApprovalRequest { call: "c", tool: &spec, input: &input };
        let decision = UnattendedApprover(AllowedTools::default()).decide(request).await;
        let ToolDecision::Deny(Some(reason)) = decision else { panic!("{decision:?}") };
        assert!(reason.contains("--allow run"), "{reason}");
        assert!(allow_hint("run\u{1b}[2J").contains("--allow run\u{fffd}[2J"));
    }
}
