//! Finds the agent of this workspace. It belongs to another package, so cargo does not build it
//! together with these tests.

use std::{env, fs, path::Path, process::Command, sync::LazyLock};

const GATEWAY: &str = env!("CARGO_BIN_EXE_foxwedge");
/// The package of the agent, and its program.
const AGENT: &str = "foxwedge-scripted-agent";

/// The path of the agent, which lies beside the gateway. It is never older than its sources: cargo
/// looks at them once in every run of tests.
pub(crate) fn agent_binary() -> &'static str {
    static PATH: LazyLock<String> = LazyLock::new(|| {
        // `cargo nextest` starts a process for every test, and tells them all the same id.
        let run = env::var("NEXTEST_RUN_ID").ok();
        let mark = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scripted-agent-built-for");
        if run.is_none() || run != fs::read_to_string(&mark).ok() {
            build();
            fs::write(mark, run.unwrap_or_default()).expect("a file");
        }
        let name = format!("{AGENT}{}", env::consts::EXE_SUFFIX);
        Path::new(GATEWAY).with_file_name(name).display().to_string()
    });
    &PATH
}

/// Builds the agent with the profile, and into the folder, of the gateway.
fn build() {
    let folder = Path::new(GATEWAY).parent().expect("the folder of a profile");
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // As a part of the workspace it gets the same features of its libraries, which are there already.
    cargo.args(["build", "--quiet", "--workspace", "--bin", AGENT]);
    cargo.args(["--profile", profile, "--target-dir"]).args(folder.parent());
    cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
    // Build scripts look at what the cargo that runs us says about our own package: they would run
    // again, and half of the workspace with them.
    let ours = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_", "CARGO_BIN_", "CARGO_PRIMARY_"];
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in names.filter(|name| ours.iter().any(|ours| name.starts_with(ours))) {
        cargo.env_remove(name);
    }
    let status = cargo.status().expect("cargo can be started");
    assert!(status.success(), "the agent cannot be built: {status}");
}
