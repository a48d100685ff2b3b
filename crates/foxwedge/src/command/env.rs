//! `foxwedge env`: the variables that point clients at the gateway.

use std::{
    env,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream},
    process::ExitCode,
    time::Duration,
};

use foxwedge_gateway::config::{self, ConfigFlags, LocalEnvironment, TokenState};

use super::serve::{config_errors, token};
use crate::cli::{EnvArgs, EnvClient, EnvShell};
use foxwedge_local::output::{self, HelpfulError};

/// Prints the lines for a shell to evaluate. They contain the token.
pub(crate) fn run(args: EnvArgs) -> anyhow::Result<ExitCode> {
    let EnvArgs { shell, client, config, listen, token_file } = args;
    if let Some(reason) = unusable_reason(client) {
        let help = "`foxwedge env --help` lists the clients that can";
        return Err(HelpfulError::new(reason).help(help).into());
    }
    let flags = ConfigFlags { config, listen, token_file, ..ConfigFlags::default() };
    let mut loaded = match config::read(&flags, &LocalEnvironment) {
        Ok(loaded) => loaded,
        Err(error) => return Ok(config_errors::report_refused(&error)),
    };
    if loaded.token_state != TokenState::Disabled {
        token::ensure_token(&mut loaded)?;
    }
    let tokens = &loaded.config.access.tokens;
    let local = tokens.iter().find(|token| &*token.owner == "local").or(tokens.first());
    // Clients refuse to start without a key, even if the gateway does not check it.
    let token = local.map_or("none", |token| token.secret.reveal());
    let shell = shell.unwrap_or_else(default_shell);
    output::write_stdout_raw(|out| {
        for line in env_lines(client, &gateway_url(loaded.config.listen), token) {
            writeln!(out, "{}", line.render(shell))?;
        }
        Ok(())
    })?;
    let address = client_address(loaded.config.listen);
    if TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).is_err() {
        output::print_note(&format!(
            "nothing listens at {address} yet: `foxwedge serve` starts the gateway"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// How long to wait for the gateway, which is usually on this machine.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);

/// Why a client cannot use the gateway.
fn unusable_reason(client: EnvClient) -> Option<&'static str> {
    let servers = "Cursor cannot use the gateway: it sends requests from its own servers";
    (client == EnvClient::Cursor).then_some(servers)
}

/// One line of output.
#[derive(Clone, PartialEq, Eq, Debug)]
enum EnvLine {
    Set(&'static str, String),
    Comment(String),
}

fn env_lines(client: EnvClient, url: &str, token: &str) -> Vec<EnvLine> {
    let set = |name, value: &str| EnvLine::Set(name, value.to_owned());
    let versioned = format!("{url}/v1");
    let anthropic = [set("ANTHROPIC_BASE_URL", url), set("ANTHROPIC_AUTH_TOKEN", token)];
    let openai = [set("OPENAI_BASE_URL", &versioned), set("OPENAI_API_KEY", token)];
    let former = set("OPENAI_API_BASE", &versioned);
    let variable = [set("FOXWEDGE_TOKEN", token)];
    // Files and commands, for what no variable sets.
    let comments =
        |lines: &[&str]| lines.iter().map(|line| EnvLine::Comment((*line).to_owned())).collect();
    let hosts = [set("OPENAI_HOST", url), set("ANTHROPIC_HOST", url)];
    // Google's libraries prefer the last key to the one before it.
    let gemini = [
        set("GOOGLE_GEMINI_BASE_URL", url),
        set("GEMINI_API_KEY", token),
        set("GOOGLE_API_KEY", token),
    ];
    match client {
        EnvClient::All => [&anthropic[..], &openai, &gemini, &hosts].concat(),
        EnvClient::ClaudeCode => anthropic.to_vec(),
        EnvClient::Openai | EnvClient::Aider => [&openai[..], &[former]].concat(),
        EnvClient::QwenCode => {
            let command: Vec<_> = comments(&["qwen --auth-type openai --model MODEL"]);
            [&command[..], &openai].concat()
        }
        EnvClient::CopilotCli => {
            let command: Vec<_> = comments(&["copilot --model MODEL"]);
            let provider = [
                set("COPILOT_PROVIDER_TYPE", "openai"),
                set("COPILOT_PROVIDER_BASE_URL", &versioned),
                set("COPILOT_PROVIDER_API_KEY", token),
            ];
            [&command[..], &provider].concat()
        }
        EnvClient::Cline => {
            let login = format!(
                "cline auth -p openai-compatible -b {versioned} -k \"$FOXWEDGE_TOKEN\" -m MODEL"
            );
            let login: Vec<_> = comments(&[&login]);
            [&login[..], &variable].concat()
        }
        EnvClient::Continue => {
            let file: Vec<_> = comments(&[
                "~/.continue/config.yaml:",
                "  models:",
                "    - name: Foxwedge",
                "      provider: openai",
                "      model: MODEL",
                &format!("      apiBase: {versioned}"),
                "      apiKey: ${{ secrets.FOXWEDGE_TOKEN }}",
            ]);
            [&file[..], &variable].concat()
        }
        EnvClient::Pi => {
            // Some versions of pi read a variable as `NAME`, others as `$NAME`, but all of them run
            // a command.
            let file: Vec<_> = comments(&[&format!(
                "~/.pi/agent/models.json: {{ \"providers\": {{ \"foxwedge\": {{ \"baseUrl\": \
                 \"{versioned}\", \"api\": \"openai-completions\", \"apiKey\": \
                 \"!printenv FOXWEDGE_TOKEN\", \"models\": [{{ \"id\": \"MODEL\" }}] }} }} }}"
            )]);
            [&file[..], &variable].concat()
        }
        EnvClient::Llm => {
            let file: Vec<_> = comments(&[
                "extra-openai-models.yaml:",
                "  - model_id: foxwedge",
                "    model_name: MODEL",
                &format!("    api_base: {versioned}"),
                // Otherwise llm sends no key to a base URL of its own.
                "    api_key_name: openai",
                "    supports_tools: true",
            ]);
            [&file[..], &[set("OPENAI_API_KEY", token)]].concat()
        }
        // It was refused.
        EnvClient::Cursor => Vec::new(),
        EnvClient::Codex => {
            let provider: Vec<_> = comments(&[
                "~/.codex/config.toml:",
                "  model_provider = \"foxwedge\"",
                "  [model_providers.foxwedge]",
                "  name = \"Foxwedge\"",
                &format!("  base_url = \"{versioned}\""),
                "  env_key = \"FOXWEDGE_TOKEN\"",
                "  wire_api = \"responses\"",
            ]);
            [&provider[..], &variable].concat()
        }
        EnvClient::GeminiCli => gemini.to_vec(),
        EnvClient::Goose => {
            let keys = [set("OPENAI_API_KEY", token), set("ANTHROPIC_API_KEY", token)];
            [&hosts[..], &keys].concat()
        }
        EnvClient::Opencode | EnvClient::Kilo => {
            let file = if client == EnvClient::Kilo { "kilo.json" } else { "opencode.json" };
            let provider = |name: &str, key: &str| {
                EnvLine::Comment(format!(
                    "{file}: \"provider\": {{ \"{name}\": {{ \"options\": {{ \
                     \"baseURL\": \"{versioned}\", \"apiKey\": \"{{env:{key}}}\" }} }} }}"
                ))
            };
            vec![
                provider("anthropic", "ANTHROPIC_API_KEY"),
                provider("openai", "OPENAI_API_KEY"),
                set("ANTHROPIC_API_KEY", token),
                set("OPENAI_API_KEY", token),
            ]
        }
    }
}

impl EnvLine {
    fn render(&self, shell: EnvShell) -> String {
        let (name, value) = match self {
            EnvLine::Comment(text) => return format!("# {text}"),
            EnvLine::Set(name, value) => (name, value),
        };
        match shell {
            EnvShell::Bash | EnvShell::Zsh => {
                format!("export {name}='{}'", value.replace('\'', r"'\''"))
            }
            EnvShell::Fish => {
                let value = value.replace('\\', r"\\").replace('\'', r"\'");
                format!("set -gx {name} '{value}'")
            }
            EnvShell::Powershell => format!("$Env:{name} = '{}'", value.replace('\'', "''")),
        }
    }
}

/// The URL of the gateway from this machine.
fn gateway_url(listen: SocketAddr) -> String {
    format!("http://{}", client_address(listen))
}

/// The address at which a client on this machine finds the gateway.
fn client_address(listen: SocketAddr) -> SocketAddr {
    match (listen.ip().is_unspecified(), listen) {
        (true, SocketAddr::V4(_)) => (Ipv4Addr::LOCALHOST, listen.port()).into(),
        (true, SocketAddr::V6(_)) => (Ipv6Addr::LOCALHOST, listen.port()).into(),
        (false, _) => listen,
    }
}

/// The user's shell, from `SHELL`.
fn default_shell() -> EnvShell {
    let name = env::var("SHELL").unwrap_or_default();
    match name.rsplit(['/', '\\']).next() {
        Some("fish") => EnvShell::Fish,
        Some("zsh") => EnvShell::Zsh,
        Some("" | "pwsh") | None if cfg!(windows) => EnvShell::Powershell,
        Some("pwsh") => EnvShell::Powershell,
        Some(_) | None => EnvShell::Bash,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_for_every_shell() {
        let line = EnvLine::Set("A", r"it's \ $x".to_owned());
        assert_eq!(line.render(EnvShell::Bash), r"export A='it'\''s \ $x'");
        assert_eq!(line.render(EnvShell::Zsh), line.render(EnvShell::Bash));
        assert_eq!(line.render(EnvShell::Fish), r"set -gx A 'it\'s \\ $x'");
        assert_eq!(line.render(EnvShell::Powershell), r"$Env:A = 'it''s \ $x'");
    }

    #[test]
    fn every_client_gets_the_address_and_the_token_or_a_reason() {
        use clap::ValueEnum as _;
        for client in EnvClient::value_variants() {
            let lines = env_lines(*client, "http://gate", "secret-token");
            let text: String = lines.iter().map(|it| it.render(EnvShell::Bash) + "\n").collect();
            match unusable_reason(*client) {
                None => {
                    assert!(text.contains("http://gate"), "{client:?}: {text}");
                    assert!(text.contains("='secret-token'"), "{client:?}: {text}");
                }
                Some(_) => assert!(text.is_empty(), "{client:?}"),
            }
            // Files may be shared: only variables hold the token.
            let has_secret = |line: &EnvLine| matches!(line, EnvLine::Comment(text) if text.contains("secret-token"));
            assert!(!lines.iter().any(has_secret), "{client:?}");
        }
    }

    #[test]
    fn files_of_llm_and_pi_name_the_variable_with_the_token() {
        let lines = |client| -> Vec<String> {
            let lines = env_lines(client, "http://gate", "secret-token");
            lines.iter().map(|line| line.render(EnvShell::Bash)).collect()
        };
        let llm = lines(EnvClient::Llm);
        assert!(llm.contains(&"#     api_key_name: openai".to_owned()), "{llm:?}");
        assert!(llm.contains(&"export OPENAI_API_KEY='secret-token'".to_owned()), "{llm:?}");
        let pi = lines(EnvClient::Pi);
        let key = r#""apiKey": "!printenv FOXWEDGE_TOKEN", "models""#;
        assert!(pi.iter().any(|line| line.contains(key)), "{pi:?}");
        assert!(pi.contains(&"export FOXWEDGE_TOKEN='secret-token'".to_owned()), "{pi:?}");
    }

    #[test]
    fn clients_get_an_address_that_they_can_reach() {
        let table = [
            ("127.0.0.1:1", "http://127.0.0.1:1"),
            ("0.0.0.0:2", "http://127.0.0.1:2"),
            ("[::]:3", "http://[::1]:3"),
            ("192.168.1.1:4", "http://192.168.1.1:4"),
        ];
        for (listen, expected) in table {
            assert_eq!(listen.parse().map(gateway_url).as_deref(), Ok(expected));
        }
    }
}
