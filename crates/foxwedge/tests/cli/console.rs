//! The console of `foxwedge serve` over real session files: listed, opened, repaired, put back, and
//! nothing else of the machine.

use std::{fs, io::Write};

use serde_json::{Value, json};

use crate::{
    homes::{CLAUDE, KILLED, branched, home, killed_path, named},
    sandbox::{Sandbox, names},
    serve::Gateway,
    sessions_files::{Script, killed, parallel},
};

/// A console over a sandbox.
struct Console {
    gateway: Gateway,
    token: String,
}

/// A reply.
struct Answer {
    status: u16,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

impl Console {
    fn open(sandbox: &Sandbox) -> Console {
        Console::start(sandbox, &["--log", "off"])
    }

    fn start(sandbox: &Sandbox, arguments: &[&str]) -> Console {
        let gateway = Gateway::start(sandbox, arguments);
        let token = fs::read_to_string(sandbox.home().join(".config/foxwedge/token")).unwrap();
        Console { gateway, token: token.trim().to_owned() }
    }

    fn ask(&self, head: &str, body: &str) -> Answer {
        self.ask_in("en", head, body)
    }

    fn ask_in(&self, language: &str, head: &str, body: &str) -> Answer {
        let host = &self.gateway.address;
        let text = self.gateway.ask(&format!(
            "{head} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {}\r\n\
             accept-language: {language}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            self.token,
            body.len()
        ));
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, body: body.to_owned() }
    }

    fn get(&self, path: &str) -> Answer {
        self.ask(&format!("GET /v1/console/{path}"), "")
    }

    fn told(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.json()
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask(&format!("POST /v1/console/{path}"), &body.to_string())
    }

    /// The list, once every file was looked at.
    fn list(&self, query: &str) -> Value {
        for _ in 0..1_000 {
            let list = self.told(&format!("sessions?{query}"));
            if list["scan"]["state"] == "done" {
                return list;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        panic!("the look at the files does not end");
    }

    /// The name of a session in the console.
    fn id(&self, session: &str) -> String {
        let list = self.list("source=file&sub_agents=true&limit=1000");
        let rows = list["data"].as_array().unwrap();
        let row = rows.iter().find(|row| row["session"] == session);
        row.unwrap_or_else(|| panic!("{session} is not in {list}"))["id"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

fn claude(id: &str, content: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.keep(&format!(".claude/projects/-w/{id}.jsonl"), 1, content);
    sandbox
}

#[test]
fn sessions_of_every_agent_are_listed_with_their_health() {
    let sandbox = home();
    let console = Console::open(&sandbox);
    let list = console.list("source=file");
    let row = |row: &Value| {
        let text = |key: &str| row[key].as_str().unwrap_or("-").to_owned();
        format!("{} {} {}", text("product"), text("health"), row["findings"])
    };
    let rows: Vec<String> = list["data"].as_array().unwrap().iter().map(row).collect();
    let shown = sandbox.run(&["list", "--output-format", "json"]);
    let listed: Value = serde_json::from_str(&shown.out).unwrap();
    let expected: Vec<String> = listed["sessions"]
        .as_array()
        .unwrap_or_else(|| panic!("{listed}"))
        .iter()
        .map(|row| row["health"].as_str().unwrap_or("-").to_owned())
        .collect();
    assert_eq!(rows.len(), expected.len(), "{rows:?}");
    for (row, health) in rows.iter().zip(expected) {
        assert!(row.contains(&format!(" {health} ")), "{row} is {health} for `list`");
    }
    assert!(rows.contains(&"claude-code needs-repair {\"FW101\":1}".to_owned()), "{rows:?}");
    let first = &list["data"][0];
    assert_eq!(first["session"], CLAUDE);
    assert_eq!((&first["title"], &first["sub_agents"]), (&json!("Look at the files"), &json!(1)));
    assert!(first["path"].as_str().unwrap().starts_with("~/.claude/projects/"), "{first}");
    // A file that changes is looked at again, the others are not.
    let changed = named(&killed().answers("toolu_2", "b.txt").says("msg_4", "b."), KILLED);
    fs::write(sandbox.home().join(killed_path()), changed).unwrap();
    for _ in 0..200 {
        let list = console.list("source=file&q=0a1b2c3d-0002");
        if list["data"][0]["health"] == "ok" {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("the change is not seen");
}

#[test]
fn a_broken_session_is_opened_repaired_and_put_back() {
    let sandbox = home();
    let console = Console::open(&sandbox);
    let id = console.id(KILLED);
    let file = sandbox.home().join(killed_path());
    let before = fs::read(&file).unwrap();
    let base = format!("sessions/{id}");
    let about = console.told(&base);
    assert_eq!((&about["health"], &about["live"]["is"]), (&json!("needs-repair"), &json!(false)));
    assert_eq!((&about["calls"]["open"], &about["calls"]["answered"]), (&json!(1), &json!(1)));
    assert_eq!(about["undo"]["available"], false);
    // The conversation, with answers at their calls.
    let messages = console.told(&format!("{base}/messages"));
    let all = messages["data"].as_array().unwrap();
    assert_eq!(
        all[0]["parts"][0],
        json!({ "type": "text", "text": "list the files", "cut": null })
    );
    let call = &all[1]["parts"][1];
    assert_eq!((&call["name"], &call["state"]), (&json!("Bash"), &json!("answered")));
    assert_eq!(call["answer"]["parts"][0]["text"], "a.txt");
    assert_eq!((&all[2]["folded"], &all[2]["parts"]), (&json!(true), &json!([])));
    let last = all.last().unwrap();
    assert_eq!(
        (&last["parts"][0]["state"], &last["parts"][0]["answer"]),
        (&json!("open"), &Value::Null)
    );
    assert_eq!(last["findings"], json!([0]));
    let findings = console.told(&format!("{base}/findings"));
    assert_eq!(findings["data"][0]["code"], "FW101");
    assert_eq!(findings["data"][0]["at"], last["index"]);
    assert_eq!(findings["data"][0]["line"], 7);
    assert_eq!(findings["data"][0]["fix"]["word"], "answered");
    // The plan is what `fix` would do.
    let plan = console.told(&format!("{base}/repair"));
    assert_eq!(plan["changes"], true);
    assert_eq!(plan["health"], json!({ "before": "needs-repair", "after": "ok" }));
    assert_eq!(plan["edits"][0]["word"], "answered");
    let rows = plan["data"].as_array().unwrap();
    let added = rows.iter().find(|row| row["kind"] == "added").expect("an answer comes");
    assert_eq!((&added["before"], &added["edits"]), (&Value::Null, &json!([0])));
    assert_eq!(added["after"]["parts"][0]["type"], "answer");
    assert_eq!(rows[0]["kind"], "gap");
    let markdown = console.get(&format!("{base}/repair.md")).body;
    assert!(markdown.contains("| answered | FW101 unanswered-call |"), "{markdown}");
    assert_eq!(fs::read(&file).unwrap(), before, "looking changes nothing");
    // Only this very plan is made.
    for (body, status, code) in
        [(json!({ "plan": "another" }), 409, "file_changed"), (json!({}), 400, "bad_request")]
    {
        let answer = console.post(&format!("{base}/repair"), &body);
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{}", answer.body);
    }
    assert_eq!(console.post(&format!("{base}/undo"), &json!({})).code(), "nothing_to_undo");
    let done = console.post(&format!("{base}/repair"), &json!({ "plan": plan["plan"] }));
    assert_eq!(done.status, 200, "{}", done.body);
    let done = done.json();
    assert_eq!((&done["applied"], &done["health"]), (&json!(1), &json!("ok")), "{done}");
    assert_eq!(done["undo"]["available"], true);
    assert_eq!(names(&sandbox.backups()).len(), 2, "a copy and its manifest");
    // What `fix` makes of the same file.
    let other = Sandbox::with("s.jsonl", &before);
    assert_eq!(other.run(&["fix", "s.jsonl"]).code, 0);
    assert_eq!(fs::read_to_string(&file).unwrap(), other.read("s.jsonl"));
    assert_eq!(console.told(&base)["health"], "ok");
    let again = console.post(&format!("{base}/repair"), &json!({ "plan": plan["plan"] }));
    assert_eq!(again.code(), "nothing_to_repair");
    let plan = console.told(&format!("{base}/repair"));
    assert_eq!((&plan["changes"], &plan["plan"]), (&json!(false), &Value::Null));
    let back = console.post(&format!("{base}/undo"), &json!({}));
    assert_eq!(back.status, 200, "{}", back.body);
    assert_eq!(back.json()["health"], "needs-repair");
    assert_eq!(fs::read(&file).unwrap(), before);
    assert_eq!(console.list("source=file&health=needs-repair&q=0a1b2c3d-0002")["total"], 1);
}

#[test]
fn a_file_that_changes_or_is_at_work_is_left_alone() {
    let sandbox = claude(KILLED, &named(&killed(), KILLED));
    let console = Console::open(&sandbox);
    let base = format!("sessions/{}", console.id(KILLED));
    let file = sandbox.home().join(killed_path());
    let plan = console.told(&format!("{base}/repair"))["plan"].clone();
    // Its agent went on between the plan and the repair.
    let more = named(&killed().answers("toolu_2", "b.txt").calls("msg_4", "toolu_3"), KILLED);
    fs::write(&file, &more).unwrap();
    let answer = console.post(&format!("{base}/repair"), &json!({ "plan": plan }));
    assert_eq!((answer.status, answer.code().as_str()), (409, "file_changed"), "{}", answer.body);
    assert_eq!(fs::read_to_string(&file).unwrap(), more);
    // Its agent says that it is at work on it.
    let process = std::process::id();
    let registered = sandbox.keep(
        &format!(".claude/sessions/{process}.json"),
        0,
        format!(r#"{{"pid":{process},"sessionId":"{KILLED}","cwd":"/w"}}"#),
    );
    let fresh = console.told(&format!("{base}/repair"));
    assert_eq!(fresh["live"]["is"], true, "{fresh}");
    let wish = json!({ "plan": fresh["plan"] });
    let answer = console.post(&format!("{base}/repair"), &wish);
    assert_eq!((answer.status, answer.code().as_str()), (409, "session_live"), "{}", answer.body);
    assert_eq!(fs::read_to_string(&file).unwrap(), more);
    fs::remove_file(registered).unwrap();
    assert_eq!(console.post(&format!("{base}/repair"), &wish).status, 200);
    // What was repaired and went on is not put back.
    let mut writer = fs::OpenOptions::new().append(true).open(&file).unwrap();
    writeln!(writer, r#"{{"type":"summary","summary":"x"}}"#).unwrap();
    drop(writer);
    assert_eq!(console.post(&format!("{base}/undo"), &json!({})).code(), "changed_since_repair");
    assert_eq!(names(&sandbox.backups()).len(), 2);
}

#[cfg(unix)]
#[test]
fn nothing_outside_the_folders_of_agents_can_be_named() {
    use std::os::unix::fs::symlink;
    let sandbox = claude(KILLED, &named(&killed(), KILLED));
    let secret = sandbox.path("secret.jsonl");
    fs::write(&secret, named(&killed(), CLAUDE)).unwrap();
    let folder = sandbox.home().join(".claude/projects/-w");
    symlink(&secret, folder.join(format!("{CLAUDE}.jsonl"))).unwrap();
    symlink(sandbox.path(""), sandbox.home().join(".claude/projects/-out")).unwrap();
    let console = Console::open(&sandbox);
    let list = console.list("source=file&sub_agents=true");
    assert_eq!(list["total"], 1, "{list}");
    let id = console.id(KILLED);
    let secret_path = secret.to_string_lossy().replace('/', "%2F");
    for name in [&secret_path, "..%2Fsecret.jsonl", KILLED, CLAUDE, "secret", "f-0", "~"] {
        for what in ["", "/messages", "/records", "/repair", "/compaction?fraction=0.5"] {
            let answer = console.get(&format!("sessions/{name}{what}"));
            assert_eq!(
                (answer.status, answer.code().as_str()),
                (404, "session_not_found"),
                "{name}{what}"
            );
        }
        let answer = console.post(&format!("sessions/{name}/repair"), &json!({ "plan": "x" }));
        assert_eq!(answer.status, 404, "{name}");
    }
    // A link that takes the place of a session later leads nowhere, nor does one above it.
    let file = sandbox.home().join(killed_path());
    let kept = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    symlink(&secret, &file).unwrap();
    for what in ["", "/messages", "/records", "/repair"] {
        assert_eq!(console.get(&format!("sessions/{id}{what}")).status, 404, "{what}");
    }
    fs::remove_file(&file).unwrap();
    fs::write(&file, &kept).unwrap();
    fs::rename(&folder, sandbox.path("moved")).unwrap();
    symlink(sandbox.path("moved"), &folder).unwrap();
    for what in ["", "/messages", "/records", "/repair"] {
        assert_eq!(console.get(&format!("sessions/{id}{what}")).status, 404, "{what}");
    }
    assert_eq!(fs::read_to_string(&secret).unwrap(), named(&killed(), CLAUDE));
}

#[test]
fn branches_and_raw_lines_are_shown() {
    let torn = named(&branched(), CLAUDE) + "{\"torn\n";
    let sandbox = claude(CLAUDE, &torn);
    let console = Console::open(&sandbox);
    let base = format!("sessions/{}", console.id(CLAUDE));
    let tree = console.told(&format!("{base}/tree?kind=messages"));
    let drawn: Vec<String> = tree["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            format!("{}<{} {}", row["record"], row["parent"], row["standing"].as_str().unwrap())
        })
        .collect();
    assert_eq!(drawn[4..8], ["4<3 path", "5<4 branch", "6<5 branch", "7<4 path"], "{drawn:?}");
    let messages = console.told(&format!("{base}/messages"));
    let beside: u64 = messages["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["beside"]["branch"].as_u64().unwrap())
        .sum();
    assert_eq!(beside, 2);
    let found = console.told(&format!("{base}/messages?q=WELCOME"));
    assert_eq!(found["data"].as_array().unwrap().len(), 1);
    let lines = console.told(&format!("{base}/records?from=10&bytes=6"));
    assert_eq!((&lines["total"], &lines["data"][0]["text"]), (&json!(10), &json!("{\"torn")));
    let part = console.told(&format!("{base}/records?limit=3&bytes=20"));
    assert_eq!((&part["next"], &part["data"][2]["cut"].is_number()), (&json!(4), &true));
    // Answers that hang under their calls, beside each other, belong to the path.
    let sandbox = claude(KILLED, &named(&parallel(), KILLED));
    let console = Console::open(&sandbox);
    let about = console.told(&format!("sessions/{}", console.id(KILLED)));
    assert_eq!((&about["health"], &about["calls"]["answered"]), (&json!("ok"), &json!(2)));
}

#[test]
fn hostile_content_is_told_as_text_and_large_sessions_page_by_page() {
    let script = "<script>alert(1)</script>";
    let long = "x".repeat(100_000);
    let mut session = Script::new().user(script);
    for number in 0..60 {
        let (reply, call) = (format!("msg_{number}"), format!("toolu_{number}"));
        session = session.calls(&reply, &call).answers(&call, &long);
    }
    let text = named(&session.says("msg_x", "done"), CLAUDE);
    let sandbox = claude(CLAUDE, &text);
    // What cannot be read is in the list all the same, and can be looked at.
    sandbox.keep(&format!(".claude/projects/-w/{KILLED}.jsonl"), 2, b"\xff\x00{{{\n\x1b[31m");
    let console = Console::open(&sandbox);
    let base = format!("sessions/{}", console.id(CLAUDE));
    let mut seen = 0;
    let mut from = 0;
    while let Some(next) = {
        let answer = console.get(&format!("{base}/messages?from={from}&limit=500"));
        assert_eq!(answer.status, 200, "{}", answer.body);
        assert!(answer.body.len() < 3 << 20, "a page of {} bytes", answer.body.len());
        let page = answer.json();
        seen += page["data"].as_array().unwrap().len();
        page["next"].as_u64()
    } {
        from = next;
    }
    assert_eq!(seen, 122);
    let first = console.told(&format!("{base}/messages?limit=2"));
    assert_eq!(first["data"][0]["parts"][0]["text"], script);
    let answer = &first["data"][1]["parts"][0]["answer"]["parts"][0];
    assert_eq!(
        (answer["cut"].as_u64(), answer["text"].as_str().map(str::len)),
        (Some(100_000), Some(16_384))
    );
    let last = console.told(&format!("{base}/messages?from=-1"));
    assert_eq!(last["data"][0]["parts"][0]["text"], "done");
    let odd = console.list("source=file&health=unreadable,needs-repair,history-missing");
    assert_eq!(odd["data"][0]["session"], KILLED, "{odd}");
    let base = format!("sessions/{}", console.id(KILLED));
    assert_eq!(console.told(&format!("{base}/records"))["data"][0]["line"], 1);
    assert!([200, 422].contains(&console.get(&base).status));
    assert!([200, 422].contains(&console.get(&format!("{base}/repair")).status));
}

#[test]
fn a_cut_shows_what_a_naive_one_would_part() {
    let mut session = Script::new().user("go");
    for number in 0..10 {
        let (reply, call) = (format!("msg_{number}"), format!("toolu_{number}"));
        session = session.calls(&reply, &call).answers(&call, "words and words and words");
    }
    let sandbox = claude(CLAUDE, &named(&session.says("msg_x", "done"), CLAUDE));
    let console = Console::open(&sandbox);
    let base = format!("sessions/{}", console.id(CLAUDE));
    for percent in [10, 25, 50, 75, 90] {
        let told = console.told(&format!("{base}/compaction?fraction=0.{percent:02}"));
        assert_eq!(told["ours"]["sound"], true, "{told}");
        assert!(told["tokens"]["after"].as_u64() <= told["tokens"]["before"].as_u64(), "{told}");
        // An even number of messages falls between pairs here.
        assert_eq!(told["naive"]["sound"], true, "{told}");
    }
    let mut parted = 0;
    for budget in (150..400).step_by(10) {
        let told = console.told(&format!("{base}/compaction?budget={budget}"));
        assert_eq!(told["ours"]["sound"], true, "{told}");
        assert!(told["tokens"]["after"].as_u64().unwrap() <= budget, "{told}");
        parted += told["naive"]["orphans_total"].as_u64().unwrap();
    }
    assert!(parted > 0, "whoever counts tokens only parts pairs");
    assert_eq!(console.get(&format!("{base}/compaction?budget=1")).code(), "cannot_shrink");
    let body = json!({ "body": [{ "role": "user", "content": "hi" }], "fraction": 0.5 });
    let answer = console.post("compaction", &body);
    assert_eq!(answer.status, 200, "{}", answer.body);
}

#[test]
fn losses_and_errors_are_told_in_the_language_of_the_reader() {
    let sandbox = Sandbox::new();
    let torn = ".claude/projects/-w/0a1b2c3d-0001-4000-8000-000000000001.jsonl";
    sandbox.keep(torn, 1, "{\"kind\": \"else\"}\nnot a record\n{}\n");
    let config = sandbox.home().join("gateway.toml");
    let text = "[[upstream]]\nname = \"scripted\"\nkind = \"scripted\"\nformats = [\"anthropic\"]\n\
                [[route]]\nmodel = \"*\"\nupstream = \"scripted\"\n";
    fs::write(&config, text).unwrap();
    let config = config.to_string_lossy();
    let console = Console::start(&sandbox, &["--log", "off", "--config", &config]);
    let call = json!({"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}});
    let messages = json!([
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "user", "content": "Go on"},
    ]);
    let body = json!({"model": "m", "seed": 7, "messages": messages});
    let answer = console.ask("POST /v1/chat/completions", &body.to_string());
    assert_eq!(answer.status, 200, "{}", answer.body);
    let feed = console.told("feed");
    let request = feed["data"][0]["id"].as_str().unwrap_or_else(|| panic!("{feed}"));
    console.list("");
    let table = [
        ("en-US", "`seed` is not supported in this format", "no such session", "records"),
        ("zh-CN,zh;q=0.9,en", "此格式不支持 `seed`", "没有这个会话", "记录"),
    ];
    for (language, loss, missing, why) in table {
        let told =
            |path: &str| console.ask_in(language, &format!("GET /v1/console/{path}"), "").json();
        assert_eq!(told(&format!("feed/{request}"))["losses"], json!([loss]));
        assert_eq!(told("sessions/none")["error"]["message"], missing);
        let row = &told("sessions?source=file")["data"][0];
        assert!(row["why"].as_str().is_some_and(|text| text.contains(why)), "{row}");
        let id = row["id"].as_str().unwrap();
        assert_eq!(told(&format!("sessions/{id}"))["error"]["message"], row["why"]);
    }
}
