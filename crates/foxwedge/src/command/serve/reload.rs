//! Reloads the configuration of the running gateway, on SIGHUP and when its file changes.

use std::{fs, path::Path, time::Duration, time::SystemTime};

use foxwedge_gateway::{
    ConfigReloader, ReloadOutcome,
    config::{self, ConfigFlags, GatewayLogFormat, LocalEnvironment},
};

use super::{startup_messages, token};

/// How often the file is looked at. A change counts once the file stays the same this long: an
/// editor may still be writing it.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Reloads for as long as the gateway serves.
pub(super) async fn watch(mut reloader: ConfigReloader, flags: ConfigFlags, log: GatewayLogFormat) {
    let file = reloader.running().file.clone();
    let mut watched = file.as_deref().map(WatchedFile::new);
    let mut hangup = HangupSignal::listen();
    loop {
        tokio::select! {
            () = hangup.next() => {}
            () = tokio::time::sleep(POLL_INTERVAL) => {
                if !watched.as_mut().is_some_and(WatchedFile::has_changed) {
                    continue;
                }
            }
        }
        reload(&mut reloader, &flags, log);
    }
}

fn reload(reloader: &mut ConfigReloader, flags: &ConfigFlags, log: GatewayLogFormat) {
    let read = config::read(flags, &LocalEnvironment);
    let read = match read {
        Ok(mut loaded) => match token::ensure_token(&mut loaded) {
            Ok(_) => Ok(loaded),
            Err(error) => return startup_messages::report_unreadable(log, &error),
        },
        Err(error) => Err(error),
    };
    match reloader.reload(read) {
        ReloadOutcome::Applied(changes) => {
            startup_messages::report_warnings(reloader.running());
            startup_messages::report_reloaded(log, &changes);
        }
        ReloadOutcome::Refused(error) => startup_messages::report_not_reloaded(log, &error),
    }
}

/// A file that may change.
struct WatchedFile<'p> {
    path: &'p Path,
    /// The state that was read.
    read: Option<FileStamp>,
    /// The state at the last look.
    seen: Option<FileStamp>,
}

/// What changes with a file: its time and its size.
type FileStamp = (SystemTime, u64);

impl WatchedFile<'_> {
    fn new(path: &Path) -> WatchedFile<'_> {
        let stamp = stamp(path);
        WatchedFile { path, read: stamp, seen: stamp }
    }

    /// Whether the file differs from what was read, and is complete. One that is missing is not: it
    /// may be about to be replaced.
    fn has_changed(&mut self) -> bool {
        let stamp = stamp(self.path);
        let is_stable = stamp.is_some() && stamp == self.seen;
        self.seen = stamp;
        let has_changed = is_stable && stamp != self.read;
        if has_changed {
            self.read = stamp;
        }
        has_changed
    }
}

fn stamp(path: &Path) -> Option<FileStamp> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// Receives SIGHUP, where there is one.
struct HangupSignal {
    #[cfg(unix)]
    signal: Option<tokio::signal::unix::Signal>,
}

impl HangupSignal {
    fn listen() -> HangupSignal {
        HangupSignal {
            #[cfg(unix)]
            signal: tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).ok(),
        }
    }

    async fn next(&mut self) {
        #[cfg(unix)]
        if let Some(signal) = &mut self.signal
            && signal.recv().await.is_some()
        {
            return;
        }
        std::future::pending().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_counts_once_and_only_when_the_file_is_complete() {
        let folder = std::env::temp_dir().join(format!("foxwedge-watch-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("foxwedge.toml");
        fs::write(&path, "one").expect("a file");
        let mut file = WatchedFile::new(&path);
        assert!(!file.has_changed());
        fs::write(&path, "two two").expect("a file");
        assert!(!file.has_changed(), "it may still be written");
        fs::write(&path, "three three three").expect("a file");
        assert!(!file.has_changed(), "it was");
        assert!(file.has_changed());
        assert!(!file.has_changed(), "it was read");
        fs::remove_file(&path).expect("a file");
        assert!(!file.has_changed() && !file.has_changed(), "it may be replaced");
        fs::remove_dir_all(&folder).expect("a folder");
    }
}
