//! Which tools may run without asking, and what happens where nobody can be asked.

use std::{collections::BTreeSet, sync::Arc};

use foxwedge_engine::tool_loop::{Approver, Asking, Decision};
use foxwedge_tools::{Effect, Future, Toolbox};

use crate::{
    nearest::nearest,
    say::{Trouble, clean, cut},
};

/// The word for every tool.
pub(crate) const ALL: &str = "all";

/// Tools that may run without asking, as they were named beforehand.
#[derive(Clone, Debug, Default)]
pub(crate) struct Allowed(Arc<BTreeSet<String>>);

impl Allowed {
    /// Those that are named: a name, a beginning with `*`, or `all`.
    pub(crate) fn new(names: impl IntoIterator<Item = String>) -> Allowed {
        Allowed(Arc::new(names.into_iter().collect()))
    }

    /// Whether it may run without asking.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|allowed| fits(allowed, name))
    }

    /// Whether a call has to wait for somebody: it may change something, and nobody allowed it.
    pub(crate) fn asks(&self, asking: &Asking<'_>) -> bool {
        match asking.tool.effect {
            Effect::Reads => false,
            Effect::Writes => !self.has(&asking.tool.name),
        }
    }

    /// Refuses names that no tool has: a misspelt one would be allowed for nothing.
    pub(crate) fn check(&self, tools: &Toolbox) -> Result<(), Trouble> {
        for allowed in self.0.iter() {
            if allowed == ALL || tools.iter().any(|tool| fits(allowed, &tool.about().name)) {
                continue;
            }
            return Err(no_tool(allowed, tools));
        }
        Ok(())
    }
}

/// A tool that is not there, and which one may be meant.
pub(crate) fn no_tool(typed: &str, tools: &Toolbox) -> Trouble {
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.about().name).collect();
    let shown = cut(&clean(typed), 60);
    let help = match (nearest(typed, names.iter().copied()), names.is_empty()) {
        (Some(name), _) => format!("did you mean `{name}`?"),
        (None, true) => "there are no tools".to_owned(),
        (None, false) => format!("the tools are {}", names.join(", ")),
    };
    Trouble::new(format!("there is no tool `{shown}`")).help(help)
}

fn fits(allowed: &str, name: &str) -> bool {
    match allowed.strip_suffix('*') {
        _ if allowed == ALL => true,
        Some(beginning) => name.starts_with(beginning),
        None => allowed == name,
    }
}

/// Nobody is there: what is not allowed beforehand is denied, with words that tell the model why.
#[derive(Clone, Debug)]
pub(crate) struct Unattended(pub(crate) Allowed);

impl Approver for Unattended {
    fn asks(&self, asking: &Asking<'_>) -> bool {
        self.0.asks(asking)
    }

    fn decide<'a>(&'a self, asking: Asking<'a>) -> Future<'a, Decision> {
        let decision = match self.0.has(&asking.tool.name) {
            true => Decision::Allow,
            false => Decision::Deny(Some(words(&asking.tool.name))),
        };
        Box::pin(async { decision })
    }
}

/// What the model is told.
fn words(name: &str) -> String {
    format!(
        "`{name}` may change something, nobody is there to be asked, and it was not allowed \
         beforehand. Do not try it again; say what you would have done with it. The user can allow \
         it with `--allow {name}`."
    )
}

/// What the user is told.
pub(crate) fn advice(name: &str) -> String {
    let name = clean(&cut(name, 80));
    format!("`--allow {name}` lets it run, `--yes` lets every tool run")
}

#[cfg(test)]
mod tests {
    use foxwedge_tools::About;
    use serde_json::json;

    use super::*;

    fn about(name: &'static str, effect: Effect) -> About {
        About {
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
            (&[][..], "read", Effect::Reads, true),
            (&[], "run", Effect::Writes, false),
            (&["run"], "run", Effect::Writes, true),
            (&["run"], "write", Effect::Writes, false),
            (&["all"], "write", Effect::Writes, true),
            (&["mcp__git__*"], "mcp__git__push", Effect::Writes, true),
            (&["mcp__git__*"], "mcp__mail__send", Effect::Writes, false),
            (&["ru"], "run", Effect::Writes, false),
        ];
        for (names, tool, effect, expected) in table {
            let allowed = Allowed::new(names.iter().map(|name| (*name).to_owned()));
            let (about, input) = (about(tool, effect), json!({}));
            let asking = Asking { call: "c", tool: &about, input: &input };
            let approver = Unattended(allowed);
            let runs = !approver.asks(&asking) || approver.decide(asking).await == Decision::Allow;
            assert_eq!(runs, expected, "{names:?} {tool}");
        }
    }

    #[tokio::test]
    async fn the_model_is_told_why_and_the_user_how_to_allow_it() {
        let (about, input) = (about("run", Effect::Writes), json!({}));
        let asking = Asking { call: "c", tool: &about, input: &input };
        let decision = Unattended(Allowed::default()).decide(asking).await;
        let Decision::Deny(Some(words)) = decision else { panic!("{decision:?}") };
        assert!(words.contains("--allow run"), "{words}");
        assert!(advice("run\u{1b}[2J").contains("--allow run\u{fffd}[2J"));
    }
}
