//! Google's Gemini CLI through the gateway: two tools in one reply, with upstreams of every format,
//! and a request that lost a result on its way.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::acceptance::{
    gateway_process::{GatewayProcess, TOKEN, isolate, start_model},
    install::{Language, MissingSoftware, PackageFolder},
    process::{OwnedProcess, TemporaryFolder},
};

use super::job::TestUpstream;

/// Installs it.
pub(super) fn install() -> Result<PackageFolder, MissingSoftware> {
    PackageFolder::install(Language::TypeScript, "acceptance/gateway/gemini-cli", "gemini-cli")
}

/// Has every conversation.
pub(super) fn run(
    binary: &Path,
    cli: &PackageFolder,
    python: &PackageFolder,
) -> Result<(), String> {
    let folder = TemporaryFolder::new("gemini-cli", &["work", "home/.gemini"])?;
    let write = |name: &str, text: &str| {
        let path = folder.path.join(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    let settings = r#"{"security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": false}, "general": {"enableAutoUpdate": false}}"#;
    write("home/.gemini/settings.json", settings)?;
    write("foxwedge.toml", &super::configuration())?;
    write("work/a.txt", "a word from the fox")?;
    let mut gateway = GatewayProcess::start(binary, &folder.path)?;
    let gateway_url = format!("http://{}", gateway.address);
    let talk = |url: &str, model: &str| talk(cli, &folder.path, url, model);
    for format in TestUpstream::FORMATS {
        let model = format!("only-{format}");
        let text = talk(&gateway_url, &model)?;
        if !text.contains("The tools said:") || !text.contains("a word from the fox") {
            return Err(format!("{model}: no two results in\n{text}"));
        }
    }
    let lossy = |url: &str| OwnedProcess::start_listening(python.script("lossy").arg(url));
    let (_lossy, url) = lossy(&gateway_url)?;
    let text = talk(&url, "only-gemini")?;
    if !text.contains("Interrupted") || !text.contains("a word from the fox") {
        return Err(format!("the request was not repaired:\n{text}"));
    }
    // Without the gateway the provider refuses it, or this would prove nothing.
    let (_model, model_url) = start_model(binary)?;
    let (_lossy, url) = lossy(&model_url)?;
    let text = talk(&url, "gemini-2.5-pro")?;
    if !text.contains("400") {
        return Err(format!("the provider accepted what the gateway repairs:\n{text}"));
    }
    gateway.process.stop("the gateway")
}

/// What it prints for a prompt that makes the model call two tools.
fn talk(cli: &PackageFolder, folder: &Path, url: &str, model: &str) -> Result<String, String> {
    let work = folder.join("work");
    let path = work.join("a.txt");
    let prompt = format!(
        "call list_directory with {{\"dir_path\":\"{}\"}} and call read_file with \
         {{\"file_path\":\"{}\"}}",
        work.display(),
        path.display()
    );
    let mut command = Command::new("node");
    command.arg(cli.path.join("node_modules/@google/gemini-cli/bundle/gemini.js"));
    command.args(["--yolo", "--model", model, "--prompt", &prompt]).current_dir(&work);
    isolate(&mut command, folder).map_err(|error| error.to_string())?;
    command.env("GEMINI_API_KEY", TOKEN).env("GOOGLE_GEMINI_BASE_URL", url);
    command.env("GEMINI_CLI_TRUST_WORKSPACE", "true").stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("node: {error}"))?;
    Ok([output.stdout, output.stderr]
        .map(|text| String::from_utf8_lossy(&text).into_owned())
        .join("\n"))
}
