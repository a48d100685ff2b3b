//! What can be typed about repairs, wherever one may be made.

use clap::Args;
use foxwedge_core::{OrphanPolicy, PlaceholderLanguage, Policy, TailPolicy, UnansweredPolicy};

use super::values::{languages, orphans, policies, tails};

#[derive(Args, Clone, Debug)]
pub(crate) struct RepairArgs {
    /// What happens to calls that nobody answered
    #[arg(long, value_name = "POLICY", help_heading = "Repair", value_parser = policies())]
    pub(crate) policy: Option<UnansweredPolicy>,
    /// What happens to answers without a call
    #[arg(long, value_name = "WHAT", help_heading = "Repair", value_parser = orphans())]
    pub(crate) orphans: Option<OrphanPolicy>,
    /// Whether open calls at the end are dead or still running
    #[arg(long, value_name = "WHAT", help_heading = "Repair", value_parser = tails())]
    pub(crate) tail: Option<TailPolicy>,
    /// The language of placeholder answers and other words of ours
    #[arg(long, value_name = "LANGUAGE", env = "FOXWEDGE_LANG", help_heading = "Repair", value_parser = languages())]
    pub(crate) language: Option<PlaceholderLanguage>,
}

impl RepairArgs {
    /// Whether open calls at the end of a session are left to its agent: nobody said what is to
    /// become of them.
    pub(crate) fn spares_tail(&self) -> bool {
        self.policy.is_none() && self.tail.is_none()
    }

    /// What a repair may do; `bold` ones speak for the user.
    pub(crate) fn policy(&self, bold: bool) -> Policy {
        Policy {
            unanswered: self.policy.unwrap_or_default(),
            orphans: self.orphans.unwrap_or_default(),
            tail: self.tail.unwrap_or_default(),
            allow_unsafe: bold,
            language: self.language.unwrap_or_default(),
        }
    }
}
