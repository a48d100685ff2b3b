//! Writing without losing anything: backups, and files replaced as a whole or not at all.

mod identity;
mod state;
mod process;
mod fingerprint;
mod snapshot;
mod claim;
mod writers;
mod live;
mod backup;
mod fresh;
mod late;
mod replace;
mod create;

pub(crate) use backup::{Backup, Backups, Standing};
pub(crate) use claim::Claim;
pub(crate) use create::{create_private, write_private};
pub(crate) use fingerprint::Fingerprint;
pub(crate) use identity::Identity;
pub(crate) use live::check_idle;
pub(crate) use replace::{replace, write_whole};
pub(crate) use snapshot::Snapshot;
