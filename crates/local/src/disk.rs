//! Writes files without data loss: backups, locks, and atomic replacement.

mod ops;
mod identity;
mod private_files;
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

pub use backup::{Backup, BackupFolder, BackupStanding};
pub use create::{create_private, write_private};
pub use file_lock::FileLock;
pub use fingerprint::ContentFingerprint;
pub use identity::FileIdentity;
pub use idle_check::check_idle;
pub use private_files::create_private_folder;
pub use prune::PruneRule;
pub use replace::{replace, write_whole};
pub use snapshot::FileSnapshot;
pub use temporary_file::sweep_folder;
