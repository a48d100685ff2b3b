//! The browser that opens the page: Debian's Chromium, or the one that is named.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Names a browser.
pub(super) const VARIABLE: &str = "FOXWEDGE_CHROMIUM";

const PLACES: [&str; 3] =
    ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/// Finds one, or installs it; or says that there is none.
pub(super) fn find() -> Result<PathBuf, String> {
    if let Some(named) = env::var_os(VARIABLE) {
        return Ok(named.into());
    }
    let there = || PLACES.iter().map(PathBuf::from).find(|place| place.exists());
    there()
        .or_else(|| if installed() { there() } else { None })
        .ok_or_else(|| format!("no Chromium was found; {VARIABLE} can name one"))
}

/// Installs it where that takes nobody's permission: as root, on a system with Debian's packages.
fn installed() -> bool {
    if !Path::new("/usr/bin/apt-get").exists() {
        return false;
    }
    eprintln!("Chromium is not installed; trying `apt-get install chromium`");
    let mut install = Command::new("apt-get");
    install.args(["install", "--yes", "--quiet", "--no-install-recommends", "chromium"]);
    // Nobody is asked anything.
    install.env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
    let quiet = install.stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}
