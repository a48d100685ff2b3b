//! Writes files without data loss: backups, locks, and atomic replacement.

mod ops;
mod identity;
mod state_folder;
mod process;
mod fingerprint;
mod snapshot;
mod file_lock;
mod writers;
mod idle_check;
mod backup;
mod prune;
mod temporary_file;
mod displaced_file;
mod attributes;
mod replace_outcome;
mod replace;
mod create;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod model;

pub(crate) use backup::{Backup, BackupFolder, BackupStanding};
pub(crate) use create::{create_private, write_private};
pub(crate) use file_lock::FileLock;
pub(crate) use fingerprint::ContentFingerprint;
pub(crate) use identity::FileIdentity;
pub(crate) use idle_check::check_idle;
pub(crate) use prune::PruneRule;
pub(crate) use replace::{replace, write_whole};
pub(crate) use snapshot::FileSnapshot;
pub(crate) use temporary_file::sweep_folder;
