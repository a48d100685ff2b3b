//! The configuration file changes while the process serves.

use std::fs;

use crate::{
    gateway::{Gateway, config},
    provider::Provider,
    temporary::Temporary,
};

#[test]
fn a_changed_file_or_a_signal_reloads_and_a_wrong_file_changes_nothing() {
    let (folder, provider) = (Temporary::folder(), Provider::scripted());
    let text = config(&folder, provider.address, "");
    let gateway = Gateway::start(&folder, &text);
    let file = folder.path("gateway.toml");
    let status = |model: &str| {
        let body =
            format!(r#"{{"model":"{model}","messages":[{{"role":"user","content":"hi"}}]}}"#);
        gateway.post("/v1/chat/completions", "", &body).status
    };
    assert_eq!(status("new"), 404);

    fs::write(&file, "[[route]]\nmodel = \"new\"\nupstream = \"nobody\"\n").expect("a file");
    gateway.signal("-HUP");
    gateway.says("configuration not reloaded");
    gateway.says("there is no upstream");
    assert_eq!(status("new"), 404);
    gateway.serves();

    let new = format!(
        "listen = \"127.0.0.1:9\"\n{text}[[route]]\nmodel = \"new\"\nupstream = \"scripted\"\n"
    );
    fs::write(&file, new.replace("runs.db", "other.db")).expect("a file");
    gateway.says("configuration reloaded");
    gateway.says(r#""after_restart":["store"]"#);
    assert_eq!(status("new"), 200);
    gateway.serves();
}
