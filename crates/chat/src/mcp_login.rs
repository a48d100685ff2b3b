//! Logins at MCP servers, from the command line and at the start of a chat.

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

use foxwedge_agent_loop::mcp::{self, LoginStore, LogoutOutcome, McpEnvironment, McpServer};
use foxwedge_gateway::config::{self, ConfigFlags, LocalEnvironment};
use foxwedge_local::{
    language::localize,
    output::{self, HelpfulError, clean},
    user_folders::UserFolders,
};
use foxwedge_upstream::SecretText;

use super::{setup, start};

/// The file that lists servers, unless another one is named.
const DEFAULT_SERVER_FILE: &str = ".mcp.json";

/// A server to log in at, or to log out from.
#[derive(Clone, Debug, Default)]
pub struct McpLoginOptions {
    /// A URL, or the name of a server in the file.
    pub server: String,
    /// The file that lists servers; `None` for `.mcp.json`.
    pub mcp_config: Option<PathBuf>,
    /// A client that was registered by hand.
    pub client_id: Option<String>,
    /// The environment variable that holds its secret.
    pub client_secret_env: Option<String>,
    /// The scopes to request.
    pub scopes: Option<String>,
    /// The port that the browser is sent back to.
    pub callback_port: Option<u16>,
}

/// Logs in.
pub(crate) async fn log_in(options: McpLoginOptions) -> anyhow::Result<ExitCode> {
    let (server, environment) = resolve(options)?;
    log_in_at(&server, &environment).await?;
    Ok(ExitCode::SUCCESS)
}

/// Logs in at a server, with the browser.
pub(crate) async fn log_in_at(
    server: &McpServer,
    environment: &McpEnvironment,
) -> Result<(), HelpfulError> {
    let name = clean(&server.name);
    let show = |address: &str| {
        let opened = open_browser(address);
        let lead = match opened {
            true => "Your browser opens the login page. If it does not, open this address",
            false => "Open this address in a browser on this machine",
        };
        let text = localize(format!("Login at `{name}`. {lead}:"));
        output::write_stderr(&format!("{text}\n\n{}\n\n", clean(address)));
    };
    let report = mcp::login(server, environment, show).await.map_err(|error| {
        let failed =
            HelpfulError::new(format!("no login at `{name}`: {}", clean(&error.to_string())));
        match error.help() {
            Some(help) => failed.help(help),
            None => failed,
        }
    })?;
    let scope = match &report.scope {
        Some(scope) => format!(", with the scopes `{}`", clean(scope)),
        None => String::new(),
    };
    let end = if report.renews { "" } else { " It is not renewed: log in again when it expires." };
    output::write_stderr(&localize(format!(
        "Logged in at `{name}` through {}{scope}.{end}\n",
        clean(&report.issuer)
    )));
    Ok(())
}

/// Logs out.
pub(crate) async fn log_out(options: McpLoginOptions) -> anyhow::Result<ExitCode> {
    let (server, environment) = resolve(options)?;
    let name = clean(&server.name);
    let outcome = mcp::logout(&server, &environment).await;
    let outcome = outcome.map_err(|error| HelpfulError::new(clean(&error.to_string())))?;
    output::write_stderr(&localize(match outcome {
        LogoutOutcome::NotLoggedIn => format!("You are not logged in at `{name}`.\n"),
        LogoutOutcome::Removed => format!(
            "Logged out from `{name}`: the tokens are removed here. The server did not confirm \
             that it has revoked them.\n"
        ),
        LogoutOutcome::Revoked => {
            format!("Logged out from `{name}`: the tokens are revoked and removed.\n")
        }
    }));
    Ok(ExitCode::SUCCESS)
}

/// The file of logins; `None` without a home folder.
pub(crate) fn login_store() -> Option<LoginStore> {
    UserFolders::Environment.state().ok().map(|folder| LoginStore::in_folder(&folder))
}

/// The server with its settings, and how to reach it.
fn resolve(options: McpLoginOptions) -> anyhow::Result<(McpServer, McpEnvironment)> {
    let network = config::read_network(&ConfigFlags::default(), &LocalEnvironment)?;
    let environment = McpEnvironment {
        logins: Some(LoginStore::in_folder(&UserFolders::Environment.state()?)),
        ..McpEnvironment::default()
    };
    let is_url = options.server.starts_with("https://") || options.server.starts_with("http://");
    let mut server = if is_url {
        let line = format!("server={}", options.server);
        let mut server = mcp::config::parse_line(&line).map_err(|error| {
            HelpfulError::new(clean(&error.what)).help("a URL looks like https://…/mcp")
        })?;
        // The path may hold a key.
        if let Some(host) = options.server.split(['/', '?']).nth(2) {
            server.name = host.to_owned();
        }
        server
    } else {
        find_server(&options.server, options.mcp_config.as_deref())?
    };
    let oauth = &mut server.oauth;
    oauth.client_id = options.client_id.or(oauth.client_id.take());
    oauth.scopes = options.scopes.or(oauth.scopes.take());
    oauth.callback_port = options.callback_port.or(oauth.callback_port);
    if let Some(variable) = options.client_secret_env {
        let secret = std::env::var(&variable).map_err(|_| {
            HelpfulError::new(format!("the variable `{}` is not set", clean(&variable)))
                .help("set it to the secret of the client")
        })?;
        oauth.client_secret = Some(SecretText::new(secret));
    }
    Ok((server, environment.with_network(&network)))
}

fn find_server(name: &str, file: Option<&Path>) -> anyhow::Result<McpServer> {
    let help = "give its URL, or name the file that lists it with `--mcp-config FILE`";
    let path = file.unwrap_or(Path::new(DEFAULT_SERVER_FILE));
    let shown = clean(&path.to_string_lossy());
    if file.is_none() && !path.exists() {
        let error = format!("`{}` is no URL, and there is no `{shown}` here", clean(name));
        return Err(HelpfulError::new(error).help(help).into());
    }
    let servers = setup::parse_server_file(&start::read_server_file(path)?)?;
    let found = servers.into_iter().find(|server| server.name == name);
    found.ok_or_else(|| {
        let error = format!("`{shown}` lists no server `{}`", clean(name));
        HelpfulError::new(error).help(help).into()
    })
}

/// Opens an address in the browser, if there is one here. The address is never read by a shell.
fn open_browser(address: &str) -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let mut command = match set("BROWSER") {
        Some(browser) => Command::new(browser),
        None if cfg!(target_os = "macos") => Command::new("open"),
        None if cfg!(windows) => {
            let mut command = Command::new("rundll32");
            command.arg("url.dll,FileProtocolHandler");
            command
        }
        None if set("DISPLAY").is_some() || set("WAYLAND_DISPLAY").is_some() => {
            Command::new("xdg-open")
        }
        None => return false,
    };
    command.arg(address);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().is_ok()
}
