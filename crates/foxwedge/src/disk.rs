//! Writing without losing anything: backups, and files replaced as a whole or not at all.

mod ops;
mod identity;
mod state;
mod process;
mod fingerprint;
mod snapshot;
mod claim;
mod writers;
mod live;
mod backup;
mod prune;
mod fresh;
mod aside;
mod attributes;
mod settle;
mod replace;
mod create;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod model;

pub(crate) use backup::{Backup, Backups, Standing};
pub(crate) use claim::Claim;
pub(crate) use create::{create_private, write_private};
pub(crate) use fingerprint::Fingerprint;
pub(crate) use fresh::sweep_folder;
pub(crate) use identity::Identity;
pub(crate) use live::check_idle;
pub(crate) use prune::PruneRule;
pub(crate) use replace::{replace, write_whole};
pub(crate) use snapshot::Snapshot;
