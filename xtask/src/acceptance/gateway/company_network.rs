//! An upstream in a company: behind a real forward proxy with a password, with a certificate of a
//! private authority, and asking its clients for one.

use std::{
    fs,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::acceptance::{
    gateway_process::{GatewayProcess, request},
    install::{MissingSoftware, PackageFolder},
    process::{OwnedProcess, TemporaryFolder, wait_for},
};

const PROXY: &str = "tinyproxy";
const BODY: &str = r#"{"model":"m","messages":[{"role":"user","content":"hello"}]}"#;

/// A gateway in that network: what it lacks, and what comes of a request.
const CASES: [(&str, &str); 5] = [
    ("nothing", "hello, gateway"),
    ("the proxy", "upstream_unreachable"),
    ("the password", "requires a user and a password"),
    ("the authority", "its certificate is from an authority that is not trusted"),
    ("the certificate", "upstream_unreachable"),
];

/// The proxy's program, if this machine has it.
pub(super) fn find_proxy() -> Result<PathBuf, MissingSoftware> {
    let missing = || MissingSoftware(format!("`{PROXY}` is not installed (Debian: `{PROXY}`)"));
    let folders = std::env::var_os("PATH").ok_or_else(missing)?;
    let mut found = std::env::split_paths(&folders).map(|folder| folder.join(PROXY));
    found.find(|path| path.is_file()).ok_or_else(missing)
}

/// Sends a request with every part of the configuration, and without each of them.
pub(super) fn run(binary: &Path, packages: &PackageFolder, proxy: &Path) -> Result<(), String> {
    let folder = TemporaryFolder::new("company-network", &[])?;
    let mut server = packages.script("secured");
    let (_provider, provider) = OwnedProcess::start_listening(server.arg(&folder.path))?;
    let (_proxy, port, log) = start_proxy(proxy, &folder.path, &provider)?;
    for (missing, expected) in CASES {
        let config = configuration(&folder.path, &provider, port, missing);
        let path = folder.path.join("foxwedge.toml");
        fs::write(&path, config).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut gateway = GatewayProcess::start(binary, &folder.path)?;
        let reply = request(&gateway.address, "POST /v1/chat/completions", BODY);
        let reply = reply.map_err(|error| format!("without {missing}: {error}"))?;
        gateway.process.stop("the gateway")?;
        if !reply.contains(expected) {
            return Err(format!("without {missing}: no `{expected}` in\n{reply}"));
        }
    }
    let log = fs::read_to_string(&log).unwrap_or_default();
    match log.contains(&format!("CONNECT {provider}")) {
        true => Ok(()),
        false => Err(format!("the proxy opened no tunnel to {provider}:\n{log}")),
    }
}

/// Starts the proxy at a free port: its process, its port and its log.
fn start_proxy(
    program: &Path,
    folder: &Path,
    provider: &str,
) -> Result<(OwnedProcess, u16, PathBuf), String> {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let port = free.map_err(|error| error.to_string())?.port();
    let (config, log) = (folder.join("proxy.conf"), folder.join("proxy.log"));
    let allowed = provider.rsplit(':').next().unwrap_or_default();
    let text = format!(
        "Port {port}\nListen 127.0.0.1\nTimeout 60\nMaxClients 10\nAllow 127.0.0.1\n\
         ConnectPort {allowed}\nBasicAuth fox secret\nLogLevel Connect\nLogFile \"{}\"\n",
        log.display()
    );
    fs::write(&config, text).map_err(|error| format!("{}: {error}", config.display()))?;
    let mut command = Command::new(program);
    command.arg("-d").arg("-c").arg(&config).stdout(Stdio::null()).stderr(Stdio::null());
    let mut process = OwnedProcess::start(&mut command)?;
    wait_for("the proxy listens", || {
        if let Some(status) = process.status()? {
            return Err(format!("{PROXY} ended at once: {status}"));
        }
        Ok(std::net::TcpStream::connect(("127.0.0.1", port)).ok())
    })?;
    Ok((process, port, log))
}

fn configuration(folder: &Path, provider: &str, port: u16, missing: &str) -> String {
    let with = |name: &str, text: String| if missing == name { String::new() } else { text };
    let file = |name: &str| folder.join(name).display().to_string();
    let user = with("the password", "fox:secret@".to_owned());
    let proxy = with("the proxy", format!("proxy = \"http://{user}127.0.0.1:{port}\"\n"));
    // A port where nothing listens is no other way to the upstream.
    let proxy =
        if proxy.is_empty() { "proxy = \"http://127.0.0.1:9\"\n".to_owned() } else { proxy };
    let authority = with("the authority", format!("ca_file = \"{}\"\n", file("ca.pem")));
    let identity = with(
        "the certificate",
        format!(
            "client_cert = \"{}\"\nclient_key = \"{}\"\n",
            file("client.pem"),
            file("client.key")
        ),
    );
    format!(
        "[network]\n{proxy}proxy_loopback = true\n{authority}\
         [[upstream]]\nname = \"company\"\nkind = \"openai-compatible\"\nkey = \"none\"\n\
         base_url = \"https://{provider}/v1\"\nattempts = 1\n{identity}"
    )
}
