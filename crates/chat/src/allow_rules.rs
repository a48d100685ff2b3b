//! Rules for calls that run without asking: a tool, commands that begin with certain words, or one
//! whole command. They hold until the end of the program, or are kept for the folder in a file in the
//! user's configuration. Nothing in the folder itself can allow anything.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use foxwedge_local::disk;
use serde_json::{Map, Value, json};

/// The tool whose calls are commands.
const COMMAND_TOOL: &str = "run";
/// Size limit of the file.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Characters that join commands, start one inside another, or redirect: what stands after them is
/// not what the first words say. For `sh`, and for `cmd` on Windows.
const OPERATORS: [char; 14] =
    [';', '&', '|', '<', '>', '(', ')', '$', '`', '\\', '\n', '\r', '%', '^'];

/// Programs whose second word says what they do.
const TWO_WORDS: [&str; 20] = [
    "apt", "brew", "bun", "cargo", "composer", "docker", "dotnet", "gh", "git", "go", "gradle",
    "helm", "kubectl", "make", "mvn", "npm", "pip", "pnpm", "uv", "yarn",
];

/// Programs that run what they are given, or that destroy: each command is allowed on its own.
const WHOLE_ONLY: [&str; 40] = [
    "awk",
    "bash",
    "bunx",
    "chmod",
    "chown",
    "cmd",
    "cp",
    "curl",
    "dd",
    "doas",
    "env",
    "eval",
    "exec",
    "find",
    "fish",
    "kill",
    "ln",
    "mkfs",
    "mv",
    "nice",
    "node",
    "nohup",
    "npx",
    "perl",
    "php",
    "powershell",
    "python",
    "python3",
    "rm",
    "ruby",
    "sed",
    "sh",
    "ssh",
    "su",
    "sudo",
    "tee",
    "timeout",
    "wget",
    "xargs",
    "zsh",
];

/// What runs without asking.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum AllowRule {
    /// Every call of a tool.
    Tool(String),
    /// Commands without shell operators that begin with these words.
    Prefix(Vec<String>),
    /// Exactly this command.
    Command(String),
}

impl AllowRule {
    /// The narrowest useful rule for a call.
    pub(crate) fn for_call(tool: &str, input: &Value) -> AllowRule {
        let Some(command) = command_of(tool, input) else {
            return AllowRule::Tool(tool.to_owned());
        };
        match prefix_of(command) {
            Some(words) => AllowRule::Prefix(words),
            None => AllowRule::Command(command.to_owned()),
        }
    }

    /// Whether it allows a call.
    pub(crate) fn allows(&self, tool: &str, input: &Value) -> bool {
        match (self, command_of(tool, input)) {
            (AllowRule::Tool(name), None) => name == tool,
            (AllowRule::Prefix(words), Some(command)) => {
                let given = plain_words(command).unwrap_or_default();
                !words.is_empty() && given.starts_with(words)
            }
            (AllowRule::Command(allowed), Some(command)) => allowed == command,
            (AllowRule::Tool(_), Some(_))
            | (AllowRule::Prefix(_) | AllowRule::Command(_), None) => false,
        }
    }

    fn to_json(&self) -> Value {
        match self {
            AllowRule::Tool(tool) => json!({ "tool": tool }),
            AllowRule::Prefix(words) => json!({ "tool": COMMAND_TOOL, "prefix": words.join(" ") }),
            AllowRule::Command(command) => json!({ "tool": COMMAND_TOOL, "command": command }),
        }
    }

    fn from_json(rule: &Value) -> Option<AllowRule> {
        let text = |key: &str| rule.get(key).and_then(Value::as_str);
        let tool = text("tool")?;
        match (text("prefix"), text("command")) {
            (None, None) if tool != COMMAND_TOOL => Some(AllowRule::Tool(tool.to_owned())),
            (Some(prefix), None) if tool == COMMAND_TOOL => {
                Some(AllowRule::Prefix(plain_words(prefix)?))
            }
            (None, Some(command)) if tool == COMMAND_TOOL => {
                Some(AllowRule::Command(command.to_owned()))
            }
            _ => None,
        }
    }
}

impl fmt::Display for AllowRule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AllowRule::Tool(tool) => write!(formatter, "`{tool}`"),
            AllowRule::Prefix(words) => write!(formatter, "`{} …`", words.join(" ")),
            AllowRule::Command(_) => formatter.write_str("this command"),
        }
    }
}

fn command_of<'i>(tool: &str, input: &'i Value) -> Option<&'i str> {
    (tool == COMMAND_TOOL).then(|| input.get("command").and_then(Value::as_str).unwrap_or_default())
}

/// The words of a command without shell operators.
fn plain_words(command: &str) -> Option<Vec<String>> {
    let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    // `NAME=value program` runs the program with another environment.
    let is_plain = |word: &String| !word.contains('=') && !word.contains(['"', '\'']);
    let starts_plain = words.first().is_some_and(is_plain);
    (!command.contains(OPERATORS) && starts_plain).then_some(words)
}

/// The words that say what a command does; `None` if only the whole command says it.
fn prefix_of(command: &str) -> Option<Vec<String>> {
    let words = plain_words(command)?;
    let program = words.first()?.as_str();
    if WHOLE_ONLY.contains(&program) {
        return None;
    }
    let count = match (program, words.get(1).map(String::as_str)) {
        ("npm" | "pnpm" | "yarn" | "bun" | "uv", Some("run" | "exec" | "x")) => 3,
        (program, _) if TWO_WORDS.contains(&program) => 2,
        _ => 1,
    };
    let prefix = words.get(..count)?;
    // An option in the place of a word may change what the rest means: `git -c …`.
    let is_word = |word: &String| !word.starts_with('-') && !word.contains(['"', '\'', '*', '=']);
    prefix.iter().all(is_word).then(|| prefix.to_vec())
}

/// The rules that hold now. Clones share state.
#[derive(Clone, Debug, Default)]
pub(crate) struct AllowRules(Arc<Mutex<AllowRuleSet>>);

#[derive(Debug, Default)]
struct AllowRuleSet {
    rules: Vec<AllowRule>,
    /// The file of kept rules, and the folder that they are for; `None` if nothing can be kept.
    kept_in: Option<(PathBuf, String)>,
}

impl AllowRules {
    /// The rules that are kept for a folder.
    pub(crate) fn of_folder(file: Option<PathBuf>, folder: &Path) -> AllowRules {
        let folder = folder.to_string_lossy().into_owned();
        let kept = file.as_deref().and_then(|file| read_file(file).ok()).unwrap_or_default();
        let rules = kept.get(&folder).and_then(Value::as_array).into_iter().flatten();
        let rules = rules.filter_map(AllowRule::from_json).collect();
        let kept_in = file.map(|file| (file, folder));
        AllowRules(Arc::new(Mutex::new(AllowRuleSet { rules, kept_in })))
    }

    /// Whether a call runs without asking.
    pub(crate) fn allow(&self, tool: &str, input: &Value) -> bool {
        self.lock().rules.iter().any(|rule| rule.allows(tool, input))
    }

    /// Adds a rule until the end of the program.
    pub(crate) fn add(&self, rule: AllowRule) {
        let mut set = self.lock();
        if !set.rules.contains(&rule) {
            set.rules.push(rule);
        }
    }

    /// Adds a rule and keeps it for the folder.
    pub(crate) fn keep(&self, rule: AllowRule) -> io::Result<()> {
        let json = rule.to_json();
        self.add(rule);
        let Some((file, folder)) = self.lock().kept_in.clone() else {
            return Err(io::Error::other("there is no folder for configuration"));
        };
        // Other programs may have added rules.
        let mut kept = match read_file(&file) {
            Ok(kept) => kept,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Map::new(),
            Err(error) => return Err(error),
        };
        let rules = kept.entry(folder).or_insert_with(|| json!([]));
        match rules {
            Value::Array(rules) if !rules.contains(&json) => rules.push(json),
            Value::Array(_) => return Ok(()),
            other => *other = json!([json]),
        }
        if let Some(folder) = file.parent() {
            disk::create_private_folder(folder)?;
        }
        let text = format!("{:#}\n", Value::Object(kept));
        disk::write_private(&file, |out| out.write_all(text.as_bytes()))
    }

    /// The rules in words, and the file of the kept ones.
    pub(crate) fn describe(&self) -> Vec<String> {
        let set = self.lock();
        let words = |rule: &AllowRule| match rule {
            AllowRule::Command(command) => format!("allowed: `{command}`"),
            rule => format!("allowed: {rule}"),
        };
        let mut lines: Vec<String> = set.rules.iter().map(words).collect();
        if let Some((file, _)) = set.kept_in.as_ref().filter(|_| !lines.is_empty()) {
            lines.push(format!("rules that are kept are in {}", file.display()));
        }
        lines
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, AllowRuleSet> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read_file(file: &Path) -> io::Result<Map<String, Value>> {
    if fs::metadata(file)?.len() > MAX_FILE_BYTES {
        return Err(io::Error::other("the file is too large"));
    }
    let text = fs::read_to_string(file)?;
    serde_json::from_str(&text).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(command: &str) -> Value {
        json!({ "command": command })
    }

    #[test]
    fn a_rule_is_as_narrow_as_useful() {
        let table = [
            ("git status -s", "`git status …`"),
            ("git -c core.pager=x log", "this command"),
            ("cargo test -p x", "`cargo test …`"),
            ("npm run build --silent", "`npm run build …`"),
            ("npm run", "this command"),
            ("ls", "`ls …`"),
            ("git", "this command"),
            ("./build.sh fast", "`./build.sh …`"),
            ("rm -rf x", "this command"),
            ("python3 -c 'print(1)'", "this command"),
            ("make test | tail", "this command"),
            ("FOO=1 make", "this command"),
            ("git 'status'", "this command"),
            ("", "this command"),
        ];
        for (command, expected) in table {
            let rule = AllowRule::for_call("run", &run(command));
            assert_eq!(rule.to_string(), expected, "{command}");
            assert!(rule.allows("run", &run(command)), "{command}");
        }
        assert_eq!(AllowRule::for_call("edit", &json!({})), AllowRule::Tool("edit".to_owned()));
    }

    #[test]
    fn a_prefix_never_allows_shell_operators() {
        let rule = AllowRule::for_call("run", &run("git status"));
        for command in ["git status", "git  status -s src", "git status \"a b\""] {
            assert!(rule.allows("run", &run(command)), "{command}");
        }
        for command in [
            "git push",
            "git",
            "git statusx",
            "git status; rm -rf /",
            "git status && rm x",
            "git status | sh",
            "git status > /etc/passwd",
            "git status $(rm x)",
            "git status `rm x`",
            "git status\nrm x",
            "git status & rm x",
            "git status \\\nrm",
            "X=1 git status",
            "git status %PATH%",
        ] {
            assert!(!rule.allows("run", &run(command)), "{command}");
        }
        let whole = AllowRule::for_call("run", &run("make test | tail"));
        assert!(whole.allows("run", &run("make test | tail")));
        assert!(!whole.allows("run", &run("make test | tail -1")));
        assert!(!AllowRule::Tool("run".to_owned()).allows("run", &run("ls")));
    }

    #[test]
    fn rules_are_kept_for_one_folder() {
        let folder = std::env::temp_dir().join(format!("foxwedge-allow-{}", std::process::id()));
        let file = folder.join("config/chat-allow.json");
        let at = |folder: &str| AllowRules::of_folder(Some(file.clone()), Path::new(folder));
        let rules = at("/den");
        assert!(!rules.allow("run", &run("git status")));
        rules.keep(AllowRule::for_call("run", &run("git status"))).expect("kept");
        rules.keep(AllowRule::for_call("run", &run("a | b"))).expect("kept");
        rules.add(AllowRule::Tool("write".to_owned()));
        at("/other").keep(AllowRule::Tool("edit".to_owned())).expect("kept");
        let later = at("/den");
        let allowed = [
            later.allow("run", &run("git status -s")),
            later.allow("run", &run("a | b")),
            later.allow("run", &run("a | c")),
            later.allow("write", &json!({})),
            later.allow("edit", &json!({})),
            at("/other").allow("edit", &json!({})),
        ];
        assert_eq!(allowed, [true, true, false, false, false, true]);
        assert_eq!(later.describe().len(), 3);
        // A file that cannot be read is not replaced.
        fs::write(&file, "{").expect("a broken file");
        assert!(at("/den").keep(AllowRule::Tool("edit".to_owned())).is_err());
        assert_eq!(fs::read_to_string(&file).ok().as_deref(), Some("{"));
        let _ = fs::remove_dir_all(&folder);
    }
}
