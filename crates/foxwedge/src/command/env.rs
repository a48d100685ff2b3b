//! `foxwedge env`: the variables that point clients at the gateway.

use std::{env, net::SocketAddr, process::ExitCode};

use foxwedge_gateway::config::{self, ConfigFlags, LocalEnvironment, TokenState};

use super::serve::{config_errors, token};
use crate::cli::{EnvArgs, EnvClient, EnvShell};
use foxwedge_local::output;

/// Prints the lines for a shell to evaluate. They contain the token.
pub(crate) fn run(args: EnvArgs) -> anyhow::Result<ExitCode> {
    let EnvArgs { shell, client, config, listen, token_file } = args;
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
    Ok(ExitCode::SUCCESS)
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
    let hosts = [set("OPENAI_HOST", url), set("ANTHROPIC_HOST", url)];
    match client {
        EnvClient::All => [&anthropic[..], &openai, &hosts].concat(),
        EnvClient::ClaudeCode => anthropic.to_vec(),
        EnvClient::Openai => openai.to_vec(),
        EnvClient::Codex => {
            let provider = [
                "~/.codex/config.toml:".to_owned(),
                "  model_provider = \"foxwedge\"".to_owned(),
                "  [model_providers.foxwedge]".to_owned(),
                "  name = \"Foxwedge\"".to_owned(),
                format!("  base_url = \"{versioned}\""),
                "  env_key = \"FOXWEDGE_TOKEN\"".to_owned(),
                "  wire_api = \"responses\"".to_owned(),
            ];
            let provider = provider.map(EnvLine::Comment);
            [&provider[..], &[set("FOXWEDGE_TOKEN", token)]].concat()
        }
        EnvClient::GeminiCli => {
            vec![set("GOOGLE_GEMINI_BASE_URL", url), set("GEMINI_API_KEY", token)]
        }
        EnvClient::Goose => {
            let keys = [set("OPENAI_API_KEY", token), set("ANTHROPIC_API_KEY", token)];
            [&hosts[..], &keys].concat()
        }
        EnvClient::Opencode => {
            let provider = |name: &str, key: &str| {
                EnvLine::Comment(format!(
                    "opencode.json: \"provider\": {{ \"{name}\": {{ \"options\": {{ \
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
    match (listen.ip().is_unspecified(), listen) {
        (true, SocketAddr::V4(_)) => format!("http://127.0.0.1:{}", listen.port()),
        (true, SocketAddr::V6(_)) => format!("http://[::1]:{}", listen.port()),
        (false, _) => format!("http://{listen}"),
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
