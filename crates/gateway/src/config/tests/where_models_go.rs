//! Upstreams and routes: from the file, from keys in the environment, from a flag.

use super::*;

/// The upstream of a model; a dash if there is none.
fn goes(config: &GatewayConfig, model: &str) -> String {
    config.route(model).map_or("-".to_owned(), |route| route.upstream.name.to_string())
}

fn names(config: &GatewayConfig) -> Vec<&str> {
    config.upstreams.iter().map(|upstream| &*upstream.name).collect()
}

#[test]
fn without_a_key_the_built_in_model_serves_its_own_names_only() {
    let config = Here::new().loaded().config;
    assert_eq!(names(&config), ["scripted"]);
    assert!(matches!(config.upstreams[0].transport, UpstreamTransport::Scripted));
    for (model, expected) in [
        ("gpt-5", "-"),
        ("claude-x", "-"),
        ("anything", "-"),
        ("scripted", "scripted"),
        ("scripted-2?delay=1", "scripted"),
    ] {
        assert_eq!(goes(&config, model), expected, "{model}");
    }
    assert!(!config.models().is_empty());
    let text = "[[upstream]]\nname = \"demo\"\nkind = \"scripted\"\n";
    assert_eq!(goes(&Here::new().saying(text).loaded().config, "gpt-5"), "demo");
}

#[test]
fn keys_in_the_environment_create_upstreams() {
    let here = Here::new().with("OPENAI_API_KEY", "sk-1").with("GOOGLE_API_KEY", "g-1");
    let loaded = here.loaded();
    let config = &loaded.config;
    assert_eq!(names(config), ["openai", "gemini", "scripted"]);
    let table = [
        ("gpt-5.2", "openai"),
        ("o1", "openai"),
        ("o3-mini", "openai"),
        ("o4-mini", "openai"),
        ("chatgpt-4o-latest", "openai"),
        ("codex-mini", "openai"),
        ("gemini-3-pro", "gemini"),
        ("scripted-mistral", "scripted"),
        ("claude-x", "-"),
        ("mistral", "-"),
        ("", "-"),
    ];
    for (model, expected) in table {
        assert_eq!(goes(config, model), expected, "{model}");
    }
    let openai = &config.upstreams[0];
    let wires = [foxwedge_core::Format::OpenaiChat, foxwedge_core::Format::OpenaiResponses];
    assert_eq!((&openai.formats[..], openai.attempts), (&wires[..], 3));
    let UpstreamTransport::Network(target) = &openai.transport else { panic!("not far away") };
    assert_eq!((target.tls, &*target.host, target.port), (true, "api.openai.com", 443));
    assert_eq!((&*target.prefix, &*openai.version), ("", "/v1"));
    assert_eq!(target.addresses, AddressPolicy::Public);
    assert_eq!(setting(&loaded, "[[upstream]]", "key"), "\"[secret]\" # OPENAI_API_KEY");
    let config = Here::new().with("ANTHROPIC_API_KEY", "sk-2").loaded().config;
    assert_eq!(
        (goes(&config, "claude-x"), goes(&config, "gpt-5")),
        ("anthropic".into(), "-".into())
    );
    let config = here.with("GEMINI_API_KEY", "g-2").loaded().config;
    let UpstreamKey::Configured(key) = &config.upstreams[1].key else { panic!("no key") };
    assert!(key.equals("g-2"));
}

#[test]
fn a_foxwedge_token_is_not_used_as_a_provider_key() {
    let token = format!("fw_{}", "0a".repeat(32));
    let here = Here::new().with("OPENAI_API_KEY", &token);
    assert_eq!(names(&here.loaded().config), ["scripted"]);
    let issues = here.complaints();
    assert!(
        issues[0].starts_with("warning: OPENAI_API_KEY: this is a foxwedge token"),
        "{issues:?}"
    );
    assert!(!issues.concat().contains(&token));
}

#[test]
fn a_file_with_upstreams_leaves_other_keys_alone() {
    let text = "[[upstream]]\nname = \"main\"\nkind = \"anthropic\"\n";
    let here = Here::new().saying(text).with("OPENAI_API_KEY", "sk-1");
    let issues = here.complaints();
    assert_eq!(
        issues,
        [
            "foxwedge.toml:1: `upstream.main.key`: missing | set ANTHROPIC_API_KEY, or `key`, or `key_file`; `key = \"caller\"` uses the client's own key"
        ]
    );
    let config = here.with("ANTHROPIC_API_KEY", "sk-2").loaded().config;
    assert_eq!(names(&config), ["main", "scripted"]);
    // A single upstream in the file serves everything.
    assert_eq!(
        (goes(&config, "gpt-5"), goes(&config, "scripted-x")),
        ("main".into(), "scripted".into())
    );
}

#[test]
fn a_providers_key_goes_to_that_provider_only() {
    let text =
        "[[upstream]]\nname = \"o\"\nkind = \"openai\"\nbase_url = \"https://o.example/v1\"\n";
    let config = Here::new().saying(text).with("OPENAI_API_KEY", "sk-1").loaded().config;
    assert!(matches!(config.upstreams[0].key, UpstreamKey::None));
    let text = text.replace("o.example", "api.openai.com");
    let config = Here::new().saying(&text).with("OPENAI_API_KEY", "sk-1").loaded().config;
    assert!(matches!(config.upstreams[0].key, UpstreamKey::Configured(_)));
    let text = format!("{text}key = \"caller\"\n");
    let config = Here::new().saying(&text).with("OPENAI_API_KEY", "sk-1").loaded().config;
    assert!(matches!(config.upstreams[0].key, UpstreamKey::FromCaller));
}

#[test]
fn a_name_goes_before_a_pattern_and_a_longer_pattern_before_a_shorter_one() {
    let upstream = |name: &str| {
        format!(
            "[[upstream]]\nname = \"{name}\"\nkind = \"openai-compatible\"\nbase_url = \"https://{name}.example\"\n"
        )
    };
    let route =
        |model, upstream| format!("[[route]]\nmodel = \"{model}\"\nupstream = \"{upstream}\"\n");
    let text = [
        upstream("a"),
        upstream("b"),
        upstream("c"),
        upstream("idle"),
        route("*", "a"),
        route("claude-*", "b"),
        route("claude-opus-*", "c"),
        route("claude-opus-4", "a"),
        route("fast", "c"),
    ];
    let here = Here::new().saying(&text.concat());
    let config = here.loaded().config;
    let table = [
        ("gpt-5", "a"),
        ("claude-x", "b"),
        ("claude-", "b"),
        ("claude-opus-5", "c"),
        ("claude-opus-4", "a"),
        ("claude-opus-4-1", "c"),
        ("fast", "c"),
        ("faster", "a"),
        ("scripted", "scripted"),
        ("", "a"),
    ];
    for (model, expected) in table {
        assert_eq!(goes(&config, model), expected, "{model}");
    }
    assert_eq!(
        config.models(),
        ["claude-opus-4", "fast", "scripted", "scripted-mistral", "scripted-deepseek"]
    );
    let issues = here.complaints();
    assert_eq!(issues.len(), 1, "{issues:?}");
    assert!(
        issues[0]
            .starts_with("warning: foxwedge.toml:13: `upstream.idle`: no route uses this upstream")
    );
}

#[test]
fn a_flag_sends_everything_to_one_upstream() {
    let flag = |here: Here, text: &str| {
        let text = text.to_owned();
        here.typed(|flags| flags.upstream = Some(text))
    };
    let keys = || Here::new().with("OPENAI_API_KEY", "sk-1").with("ANTHROPIC_API_KEY", "sk-2");
    let config = flag(keys(), "anthropic").loaded().config;
    assert_eq!(
        (goes(&config, "gpt-5"), goes(&config, "scripted")),
        ("anthropic".into(), "scripted".into())
    );
    let config = flag(keys(), "scripted").loaded().config;
    assert_eq!(goes(&config, "gpt-5"), "scripted");
    let config = flag(keys(), "http://127.0.0.1:8000/v1").loaded().config;
    assert_eq!(names(&config), ["upstream", "openai", "anthropic", "scripted"]);
    assert_eq!(goes(&config, "gpt-5"), "upstream");
    assert!(matches!(config.upstreams[0].key, UpstreamKey::None));
    let here = keys().with("FOXWEDGE_UPSTREAM_KEY", "k");
    let config = flag(here, "https://vllm.example").loaded().config;
    assert!(matches!(&config.upstreams[0].key, UpstreamKey::Configured(key) if key.equals("k")));
    let config = flag(keys(), "https://api.anthropic.com").loaded().config;
    assert_eq!(names(&config), ["anthropic", "openai", "scripted"]);
    assert_eq!(config.upstreams[0].formats, [foxwedge_core::Format::Anthropic]);
    assert!(matches!(&config.upstreams[0].key, UpstreamKey::Configured(key) if key.equals("sk-2")));
    let issues = flag(keys(), "banana").complaints();
    assert_eq!(
        issues,
        [
            "--upstream: there is no upstream \"banana\" | known upstreams: openai, anthropic, scripted; or use a URL: https://…"
        ]
    );
    let issues = flag(keys(), "https://me:canary@x").complaints();
    assert!(!issues.is_empty() && !issues.concat().contains("canary"), "{issues:?}");
    let config = Here::new().with("FOXWEDGE_UPSTREAM", "scripted").loaded().config;
    assert_eq!(goes(&config, "x"), "scripted");
}
