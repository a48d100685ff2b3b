//! Writing without losing anything: backups, and files replaced as a whole or not at all.

mod identity;
mod fingerprint;
mod backup;
mod fresh;
mod replace;

pub(crate) use backup::{Backup, Backups};
pub(crate) use fingerprint::Fingerprint;
pub(crate) use identity::Identity;
pub(crate) use replace::{Snapshot, replace, write_whole};
