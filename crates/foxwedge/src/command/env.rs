//! `foxwedge env`: the variables that point clients at the gateway.

use std::{env, net::SocketAddr, process::ExitCode};

use foxwedge_engine::config::{self, Door, Flags};

use super::serve::{complaints, machine::Machine, token};
use crate::{
    cli::{Client, EnvArgs, Shell},
    say,
};

/// Prints what a shell has to read. The token is in it: that is what it is for.
pub(crate) fn run(args: EnvArgs) -> anyhow::Result<ExitCode> {
    let EnvArgs { shell, client, config, listen, token_file } = args;
    let flags = Flags { config, listen, token_file, ..Flags::default() };
    let mut loaded = match config::read(&flags, &Machine) {
        Ok(loaded) => loaded,
        Err(refused) => return Ok(complaints::refused(&refused)),
    };
    if loaded.door != Door::Open {
        token::ensure(&mut loaded)?;
    }
    let tokens = &loaded.config.access.tokens;
    let own = tokens.iter().find(|token| &*token.owner == "local").or(tokens.first());
    // Clients refuse to start without a key, even where nobody looks at it.
    let token = own.map_or("none", |token| token.secret.reveal());
    let shell = shell.unwrap_or_else(usual);
    say::plain(|out| {
        for line in lines(client, &url(loaded.config.listen), token) {
            writeln!(out, "{}", line.told(shell))?;
        }
        Ok(())
    })?;
    if client == Client::GeminiCli {
        say::note("the gateway has no endpoint in Gemini's format yet: Gemini CLI will get 404");
    }
    Ok(ExitCode::SUCCESS)
}

/// A line for a shell.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Line {
    Set(&'static str, String),
    Comment(String),
}

fn lines(client: Client, url: &str, token: &str) -> Vec<Line> {
    let set = |name, value: &str| Line::Set(name, value.to_owned());
    let versioned = format!("{url}/v1");
    let anthropic = [set("ANTHROPIC_BASE_URL", url), set("ANTHROPIC_AUTH_TOKEN", token)];
    let openai = [set("OPENAI_BASE_URL", &versioned), set("OPENAI_API_KEY", token)];
    let hosts = [set("OPENAI_HOST", url), set("ANTHROPIC_HOST", url)];
    match client {
        Client::All => [&anthropic[..], &openai, &hosts].concat(),
        Client::ClaudeCode => anthropic.to_vec(),
        Client::Openai => openai.to_vec(),
        Client::Codex => {
            let base = Line::Comment(format!(
                "Codex reads its address from ~/.codex/config.toml: openai_base_url = \"{versioned}\""
            ));
            [&[base], &openai[..]].concat()
        }
        Client::GeminiCli => {
            vec![set("GOOGLE_GEMINI_BASE_URL", url), set("GEMINI_API_KEY", token)]
        }
        Client::Goose => {
            let keys = [set("OPENAI_API_KEY", token), set("ANTHROPIC_API_KEY", token)];
            [&hosts[..], &keys].concat()
        }
        Client::Opencode => {
            let provider = |name: &str, key: &str| {
                Line::Comment(format!(
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

impl Line {
    fn told(&self, shell: Shell) -> String {
        let (name, value) = match self {
            Line::Comment(text) => return format!("# {text}"),
            Line::Set(name, value) => (name, value),
        };
        match shell {
            Shell::Bash | Shell::Zsh => format!("export {name}='{}'", value.replace('\'', r"'\''")),
            Shell::Fish => {
                let value = value.replace('\\', r"\\").replace('\'', r"\'");
                format!("set -gx {name} '{value}'")
            }
            Shell::Powershell => format!("$Env:{name} = '{}'", value.replace('\'', "''")),
        }
    }
}

/// Where this machine reaches the gateway.
fn url(listen: SocketAddr) -> String {
    match (listen.ip().is_unspecified(), listen) {
        (true, SocketAddr::V4(_)) => format!("http://127.0.0.1:{}", listen.port()),
        (true, SocketAddr::V6(_)) => format!("http://[::1]:{}", listen.port()),
        (false, _) => format!("http://{listen}"),
    }
}

/// The shell of the user.
fn usual() -> Shell {
    let name = env::var("SHELL").unwrap_or_default();
    match name.rsplit(['/', '\\']).next() {
        Some("fish") => Shell::Fish,
        Some("zsh") => Shell::Zsh,
        Some("" | "pwsh") | None if cfg!(windows) => Shell::Powershell,
        Some("pwsh") => Shell::Powershell,
        Some(_) | None => Shell::Bash,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_stays_one_word_in_every_shell() {
        let line = Line::Set("A", r"it's \ $x".to_owned());
        assert_eq!(line.told(Shell::Bash), r"export A='it'\''s \ $x'");
        assert_eq!(line.told(Shell::Zsh), line.told(Shell::Bash));
        assert_eq!(line.told(Shell::Fish), r"set -gx A 'it\'s \\ $x'");
        assert_eq!(line.told(Shell::Powershell), r"$Env:A = 'it''s \ $x'");
    }

    #[test]
    fn clients_ask_an_address_that_can_be_reached() {
        let table = [
            ("127.0.0.1:1", "http://127.0.0.1:1"),
            ("0.0.0.0:2", "http://127.0.0.1:2"),
            ("[::]:3", "http://[::1]:3"),
            ("192.168.1.1:4", "http://192.168.1.1:4"),
        ];
        for (listen, expected) in table {
            assert_eq!(listen.parse().map(url).as_deref(), Ok(expected));
        }
    }
}
