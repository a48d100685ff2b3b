//! What commands of tools see of our variables, and how they end behind the program that starts them.

use crate::stage::Stage;

/// Names that people give to secrets.
const SECRETS: [&str; 14] = [
    "OPENAI_API_KEY",
    "FOXWEDGE_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "DATABASE_URL",
    "GH_PAT",
    "NPM_AUTH",
    "MYSQL_PWD",
    "SLACK_WEBHOOK_URL",
    "MY_PASS",
    "SENTRY_DSN",
    "KUBECONFIG_DATA",
    "VAULT_ADDR_WITH_LOGIN",
    "HTTP_PROXY",
    "https_proxy",
];

/// Counts secrets among the variables of the command and of its parent, then looks for `PATH`.
const LOOK: &str = "
{ env; tr '\\0' '\\n' < /proc/$PPID/environ; } 2>/dev/null | grep -c canary
env | grep -c '^PATH='
exit 0
";

fn look(arguments: &[&str]) -> String {
    let stage = Stage::new();
    stage.write("look.sh", LOOK);
    let prompt = ["-p", r#"call run with {"command":". ./look.sh"}"#, "--allow", "run"];
    let mut command =
        stage.command(&[&["chat", "--api", "scripted"], &prompt[..], arguments].concat());
    for name in SECRETS {
        command.env(name, "http://ada:canary@proxy.example:3128");
    }
    let ran = crate::stage::finish(command, "");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(!ran.out.contains("canary") && !ran.err.contains("canary"), "{ran:?}");
    ran.out
}

#[test]
fn a_command_sees_no_secret_neither_its_own_nor_its_parents() {
    let out = look(&[]);
    assert!(out.contains("The tool said: 0\n1\n[exit code 0]"), "{out}");
}

#[test]
fn what_is_passed_by_name_is_seen() {
    let out = look(&["--pass-env", "DATABASE_URL,GH_PAT"]);
    // The command has both, and so has its parent.
    let seen = if cfg!(target_os = "linux") { 4 } else { 2 };
    assert!(out.contains(&format!("The tool said: {seen}\n1\n[exit code 0]")), "{out}");
}

#[test]
fn a_command_ends_as_it_would_without_a_parent_of_ours() {
    let stage = Stage::new();
    let table = [
        ("exit 3", "[exit code 3]"),
        ("exit 130", "[exit code 130]"),
        ("exit 255", "[exit code 255]"),
        ("kill -9 $$", "[ended by signal 9 (SIGKILL)]"),
        ("kill -15 $$", "[ended by signal 15 (SIGTERM)]"),
        ("kill -2 $$", "[ended by signal 2 (SIGINT)]"),
        ("echo a; echo b >&2; echo c", "a\nb\nc\n[exit code 0]"),
        ("sleep 600 & echo left", "[killed what it had left running: sleep]"),
    ];
    for (command, expected) in table {
        let prompt = format!(r#"call run with {{"command":"{command}"}}"#);
        let ran = stage.chat(&["--api", "scripted", "-p", &prompt, "--allow", "run"], "");
        assert!(ran.out.contains(expected), "{command}: {ran:?}");
    }
}
