//! Lists the agent sessions of this machine that need a repair.
//!
//! ```sh
//! cargo run -p foxwedge-local --example list_sessions
//! ```

use std::env;

use foxwedge_local::{
    agents, session_health::SessionHealth, session_overview::read_overview,
    user_folders::UserFolders,
};

fn main() {
    // A home folder other than one's own may be named.
    let folders = match env::args().nth(1) {
        Some(home) => UserFolders::Below(home.into()),
        None => UserFolders::Environment,
    };
    // No agent is named: all of them are searched.
    let listing = agents::find_in(&folders, &[]);
    println!("{} sessions", listing.entries.len());
    for entry in &listing.entries {
        let overview = read_overview(entry);
        if overview.health != SessionHealth::Ok {
            let rules: Vec<&str> = overview.findings.keys().map(String::as_str).collect();
            println!("{} {}: {} {rules:?}", entry.product, entry.id, overview.health.label());
        }
    }
}
