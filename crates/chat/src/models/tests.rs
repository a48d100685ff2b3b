use std::{collections::BTreeMap, ffi::OsString, io, path::Path};

use foxwedge_gateway::config::{self, ConfigFile, ConfigFlags, FileExposure};

use super::*;

struct Fake {
    variables: BTreeMap<&'static str, &'static str>,
    file: Option<&'static str>,
}

impl ConfigEnvironment for Fake {
    fn variable(&self, name: &str) -> Option<OsString> {
        if name == "HOME" {
            return Some("/home/fox".into());
        }
        self.variables.get(name).map(OsString::from)
    }

    fn file(&self, path: &Path) -> io::Result<ConfigFile> {
        match self.file {
            Some(text) if path.ends_with("foxwedge.toml") => {
                Ok(ConfigFile { text: text.to_owned(), exposure: FileExposure::Private })
            }
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

fn fake(variables: &[(&'static str, &'static str)], file: Option<&'static str>) -> Fake {
    Fake { variables: variables.iter().copied().collect(), file }
}

/// The chosen model in one line.
fn chosen(environment: &Fake, flags: EndpointFlags<'_>, name: Option<&str>) -> String {
    let models = match direct_endpoint(flags, environment) {
        Ok(Some(direct)) => ModelLookup::Direct(direct),
        Ok(None) => match config::read(&ConfigFlags::default(), environment) {
            Ok(loaded) => ModelLookup::Routes(Box::new(loaded)),
            Err(refused) => return format!("{refused:?}"),
        },
        Err(error) => return format!("error: {error}"),
    };
    match models.choose(name, environment) {
        Ok(ModelChoice::Direct { direct, model }) => {
            let key = direct.key.as_ref().map_or("none", |key| key.reveal());
            let url = direct.url.as_deref().unwrap_or("usual");
            format!("{} {url} {key} {model}", direct.api.name())
        }
        Ok(ModelChoice::Route { route, model }) => format!("route {} {model}", route.upstream.name),
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn key_is_used_only_for_its_own_provider() {
    const OPENAI: (&str, &str) = ("OPENAI_API_KEY", "sk-o");
    const CLAUDE: (&str, &str) = ("ANTHROPIC_API_KEY", "sk-a");
    const DEEP: (&str, &str) = ("DEEPSEEK_API_KEY", "sk-d");
    let none = EndpointFlags::default();
    let at = |upstream| EndpointFlags { upstream: Some(upstream), ..none };
    let api = |api| EndpointFlags { api: Some(api), ..none };
    type Row<'a> =
        (&'a [(&'static str, &'static str)], EndpointFlags<'a>, Option<&'a str>, &'a str);
    let table: [Row<'_>; 21] = [
        (&[], none, None, "route scripted scripted"),
        (&[], none, Some("scripted-2"), "route scripted scripted-2"),
        (&[], none, Some("gpt-9"), "error: no provider is configured for `gpt-9`"),
        (&[CLAUDE], none, Some("claude-x"), "route anthropic claude-x"),
        (&[CLAUDE], none, None, "route anthropic claude-sonnet-4-5"),
        (&[OPENAI, CLAUDE], none, None, "route anthropic claude-sonnet-4-5"),
        (&[CLAUDE], none, Some("gpt-9"), "error: no provider is configured for `gpt-9`"),
        (&[DEEP], none, Some("deepseek-chat"), "deepseek usual sk-d deepseek-chat"),
        (&[DEEP], none, None, "deepseek usual sk-d deepseek-chat"),
        (&[OPENAI, DEEP], none, Some("deepseek-chat"), "deepseek usual sk-d deepseek-chat"),
        (&[OPENAI], api(ChatApi::Openai), Some("m"), "openai usual sk-o m"),
        (&[], api(ChatApi::Openai), Some("m"), "error: no API key is set for openai"),
        (&[OPENAI], api(ChatApi::Openai), None, "openai usual sk-o gpt-5"),
        (&[OPENAI], at("http://localhost:1/v1"), None, "error: no model is selected"),
        (&[], api(ChatApi::Scripted), None, "scripted usual none scripted"),
        (&[], api(ChatApi::Gateway), Some("m"), "gateway usual none m"),
        // A key is not sent to other hosts.
        (&[OPENAI], at("http://localhost:1/v1"), Some("m"), "openai http://localhost:1/v1 none m"),
        (
            &[CLAUDE],
            at("https://api.anthropic.com"),
            Some("m"),
            "anthropic https://api.anthropic.com sk-a m",
        ),
        (
            &[OPENAI],
            EndpointFlags { key_env: Some("OPENAI_API_KEY"), ..at("https://x/v1") },
            Some("m"),
            "openai https://x/v1 sk-o m",
        ),
        (
            &[],
            EndpointFlags { key_env: Some("MINE"), ..at("https://x/v1") },
            Some("m"),
            "error: the environment variable `MINE` holds no key",
        ),
        (
            &[OPENAI],
            EndpointFlags { key_env: Some("OPENAI_API_KEY"), ..none },
            Some("m"),
            "error: --key-env needs --api or --upstream",
        ),
    ];
    for (variables, flags, name, expected) in table {
        let environment = fake(variables, None);
        assert_eq!(chosen(&environment, flags, name), expected, "{variables:?} {flags:?} {name:?}");
    }
}

#[test]
fn a_configuration_names_its_models() {
    let file = "[[upstream]]\nname = \"mine\"\nkind = \"openai-compatible\"\n\
                base_url = \"http://127.0.0.1:9/v1\"\n\n\
                [[upstream]]\nname = \"cc\"\nkind = \"claude-code\"\ncommand = [\"x\"]\n\n\
                [[route]]\nmodel = \"agent\"\nupstream = \"cc\"\n\n\
                [[route]]\nmodel = \"local\"\nupstream = \"mine\"\nupstream_model = \"llama\"\n";
    let environment = fake(&[], Some(file));
    let table = [
        (None, "route mine local"),
        (Some("local"), "route mine local"),
        (Some("scripted"), "route scripted scripted"),
        (Some("agent"), "error: `agent` is routed to an agent, which has its own loop"),
        (Some("locall"), "error: no provider is configured for `locall`"),
        (Some("two words"), "error: `two words` is not a valid model name"),
    ];
    for (name, expected) in table {
        assert_eq!(chosen(&environment, EndpointFlags::default(), name), expected, "{name:?}");
    }
}
