//! Writing without losing anything: backups, and files replaced as a whole or not at all.

mod fingerprint;
mod backup;
mod replace;

pub(crate) use backup::{Backup, Backups};
pub(crate) use fingerprint::Fingerprint;
pub(crate) use replace::{Snapshot, replace};
