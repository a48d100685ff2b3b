//! Repair arguments, shared by all commands that repair.

use std::path::PathBuf;

use clap::Args;
use foxwedge_core::{OrphanPolicy, PlaceholderLanguage, Policy, TailPolicy, UnansweredPolicy};

use super::{
    CheckArgs,
    values::{languages, orphans, policies, tails},
};

/// Arguments of `fix`: those of `check`, and the choice of every broken session.
#[derive(Args, Clone, Debug)]
pub(crate) struct FixArgs {
    #[command(flatten)]
    pub(crate) check: CheckArgs,
    /// Repair every session on this machine that needs it, after showing a plan
    #[arg(
        long,
        help_heading = "Sessions",
        conflicts_with_all = ["targets", "last", "all", "diff", "statistics", "show_files"]
    )]
    pub(crate) broken: bool,
    /// Do not ask before repairing
    // Only `--broken` asks, so it changes nothing where targets are named.
    #[arg(short, long, help_heading = "Sessions")]
    pub(crate) yes: bool,
    /// Write the repaired document to a file and leave the target as it is
    #[arg(
        short,
        long,
        value_name = "FILE",
        help_heading = "Output",
        conflicts_with_all = ["broken", "diff", "dry_run", "show_files"]
    )]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct RepairArgs {
    /// What to do with tool calls that have no result
    #[arg(long, value_name = "POLICY", help_heading = "Repair", value_parser = policies())]
    pub(crate) policy: Option<UnansweredPolicy>,
    /// What to do with tool results that have no call
    #[arg(long, value_name = "POLICY", help_heading = "Repair", value_parser = orphans())]
    pub(crate) orphans: Option<OrphanPolicy>,
    /// Whether open tool calls at the end are dead or still pending
    #[arg(long, value_name = "POLICY", help_heading = "Repair", value_parser = tails())]
    pub(crate) tail: Option<TailPolicy>,
    /// Language of placeholder results and other generated text
    #[arg(long, value_name = "LANGUAGE", env = "FOXWEDGE_LANG", help_heading = "Repair", value_parser = languages())]
    pub(crate) language: Option<PlaceholderLanguage>,
}

impl RepairArgs {
    /// Whether open calls at the end of a session are left to its agent, because no flag sets a
    /// policy for them.
    pub(crate) fn spares_tail(&self) -> bool {
        self.policy.is_none() && self.tail.is_none()
    }

    /// These flags, and the others where one of these is not given.
    pub(crate) fn or(&self, others: &RepairArgs) -> RepairArgs {
        RepairArgs {
            policy: self.policy.or(others.policy),
            orphans: self.orphans.or(others.orphans),
            tail: self.tail.or(others.tail),
            language: self.language.or(others.language),
        }
    }

    /// The repair policy of these flags.
    pub(crate) fn policy(&self, allow_unsafe: bool) -> Policy {
        Policy {
            unanswered: self.policy.unwrap_or_default(),
            orphans: self.orphans.unwrap_or_default(),
            tail: self.tail.unwrap_or_default(),
            allow_unsafe,
            language: self.language.unwrap_or_default(),
        }
    }
}
