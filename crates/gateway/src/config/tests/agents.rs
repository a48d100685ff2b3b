//! Upstreams that are agent processes.

use foxwedge_agents::claude_code::ClaudeCode;

use super::*;

const WHOLE: &str = r#"
[[upstream]]
name = "cc"
kind = "claude-code"
command = ["./bin/node", "cli.js"]
working_folder = "~/work"
state = "/var/lib/claude"
env = ["AWS_REGION"]
set_env = { IS_SANDBOX = "1", TOKEN = "env:SECRET" }
tools = ["Bash", "Read"]
permissions = "plan"
bare = false
ask_user = true
max_processes = 3
idle_timeout = "5m"
start_timeout = "20s"
turn_timeout = "1h"
"#;

fn only(config: &GatewayConfig) -> (&UpstreamConfig, &AgentConfig) {
    let found = config
        .routes
        .iter()
        .find_map(|route| Some((&*route.upstream, route.agent.as_deref()?)))
        .filter(|(upstream, _)| matches!(upstream.transport, UpstreamTransport::Agent));
    found.unwrap_or_else(|| panic!("no agent"))
}

#[test]
fn all_settings_of_an_agent_are_read() {
    let loaded = Here::new().with("SECRET", "canary").saying(WHOLE).loaded();
    let (upstream, agent) = only(&loaded.config);
    assert_eq!((&*upstream.name, &upstream.formats[..]), ("cc", &[Format::Anthropic][..]));
    let claude = ClaudeCode {
        state: "/var/lib/claude".into(),
        tools: vec!["Bash".to_owned(), "Read".to_owned()],
        permissions: Some("plan".to_owned()),
        bare: false,
        may_ask: true,
    };
    assert_eq!(agent.kind, AgentKind::ClaudeCode(claude));
    assert_eq!(agent.command, ["/home/fox/.config/foxwedge/./bin/node", "cli.js"]);
    assert_eq!(agent.working_folder.as_deref(), Some(Path::new("/home/fox/work")));
    assert_eq!(agent.env, ["AWS_REGION"]);
    let set: Vec<(&str, &str)> =
        agent.set_env.iter().map(|set| (set.name(), set.reveal())).collect();
    let expected =
        [("CLAUDE_CONFIG_DIR", "/var/lib/claude"), ("IS_SANDBOX", "1"), ("TOKEN", "canary")];
    assert_eq!(set, expected);
    let times =
        [agent.idle_timeout, agent.start_timeout, agent.turn_timeout].map(|it| it.as_secs());
    assert_eq!((agent.max_processes, times), (3, [300, 20, 3600]));
    let shown = format!("{:?}", loaded.sections);
    assert!(!shown.contains("canary"), "{shown}");
    assert_eq!(setting(&loaded, "[[upstream]]", "set_env.TOKEN"), "\"[secret]\" # foxwedge.toml:9");
    assert_eq!(
        setting(&loaded, "[[upstream]]", "tools"),
        "[\"Bash\", \"Read\"] # foxwedge.toml:10"
    );
}

#[test]
fn an_agent_needs_only_name_and_kind() {
    let text = "[[upstream]]\nname = \"cc\"\nkind = \"claude-code\"\n";
    let config = Here::new().saying(text).loaded().config;
    let (_, agent) = only(&config);
    let AgentKind::ClaudeCode(claude) = &agent.kind;
    assert_eq!(claude.state, Path::new("/home/fox/.claude"));
    assert!(claude.bare && !claude.may_ask && claude.tools.is_empty());
    assert_eq!(
        (&agent.command[..], agent.working_folder.is_none()),
        (&["claude".to_owned()][..], true)
    );
    assert_eq!((agent.max_processes, agent.set_env.len()), (16, 0));
    assert!(config.models().contains(&"claude-code"));
    let moved = Here::new().with("CLAUDE_CONFIG_DIR", "/else").saying(text).loaded().config;
    let AgentKind::ClaudeCode(claude) = &only(&moved).1.kind;
    assert_eq!(claude.state, Path::new("/else"));
    let issues = Here::default().with("FOXWEDGE_CONFIG", FILE).saying(text).complaints();
    assert!(issues.iter().any(|line| line.contains("`upstream.cc.state`")), "{issues:?}");
}

#[test]
fn only_model_names_that_an_agent_knows_are_passed_on() {
    let text = "[[upstream]]\nname = \"cc\"\nkind = \"claude-code\"\n";
    let config = Here::new().saying(text).loaded().config;
    let kind = &only(&config).1.kind;
    let table = [
        ("claude-code", None),
        ("claude-sonnet-4-5", Some("claude-sonnet-4-5")),
        ("opus", Some("opus")),
        ("gpt-5", None),
        ("cc", None),
    ];
    for (requested, expected) in table {
        assert_eq!(kind.model(requested), expected, "{requested}");
    }
}
