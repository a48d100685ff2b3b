//! What happens between a client and a live agent, told once for the agent of this workspace and
//! for the real one.

use std::{
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::chat::{Call, Chat, Door, PATH, Turn, please, told};
use super::wire::{PATIENCE, connect, until};

/// A gateway with agents behind it, under the names `agent`, `agent-slow` (it speaks slowly) and
/// `agent-ask` (it asks a person).
pub(crate) trait World {
    fn door(&self) -> Door;

    /// The processes of agents that live.
    fn agents(&self) -> Vec<u32>;

    /// Ends the gateway without a word, and starts it again.
    fn restart(&mut self) -> Result<(), String>;

    /// Ends a process without a word.
    fn kill(&self, process: u32);
}

pub(crate) type Story = fn(&mut dyn World) -> Result<(), String>;

/// All of them, with their names.
pub(crate) const STORIES: [(&str, Story); 13] = [
    ("three files at once", three_files),
    ("a tool, and then more talk", tool_then_talk),
    ("answers in reverse order", reversed),
    ("answers in three requests", in_three_requests),
    ("answers in three requests of a client that keeps only the first reply", in_three_more),
    ("an agent killed while it waits", killed_while_waiting),
    ("an agent killed between answers", killed_between_answers),
    ("an agent killed while nobody waits", killed_at_rest),
    ("a gateway killed while an agent waits", restarted_while_waiting),
    ("a gateway killed between answers", restarted_between_answers),
    ("a client that goes away", disconnected),
    ("a question, and its answer", question),
    ("ten steps with a restart in the middle", ten_steps),
];

fn check(right: bool, what: &str, found: impl std::fmt::Debug) -> Result<(), String> {
    if right { Ok(()) } else { Err(format!("{what}: {found:?}")) }
}

/// Waits until it is so.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) -> Result<(), String> {
    let began = Instant::now();
    while !is_so() {
        if began.elapsed() > PATIENCE {
            return Err(format!("it never happened: {what}"));
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Whether the reply hands out these calls and nothing is missing.
pub(crate) fn calls(turn: &Turn, name: &str, arguments: &[Value]) -> Result<Vec<Call>, String> {
    let found: Vec<&Value> = turn.calls.iter().map(|call| &call.arguments).collect();
    let named = turn.calls.iter().all(|call| call.name == name);
    check(found.iter().copied().eq(arguments), "other calls", turn)?;
    check(named && turn.finish == "tool_calls", "other calls", turn)?;
    Ok(turn.calls.clone())
}

/// Whether the reply is the last word about these answers.
pub(crate) fn says_all(turn: &Turn, calls: &[Call]) -> Result<(), String> {
    let answers: Vec<String> = calls.iter().map(told).collect();
    let said = match answers.as_slice() {
        [one] => format!("The tool said: {one}"),
        many => format!("The tools said: {}", many.join(" | ")),
    };
    check(turn.text == said && turn.finish == "stop", &format!("not `{said}`"), turn)
}

/// A conversation in which three calls are open.
pub(crate) fn three_open(door: &Door, model: &str) -> Result<(Chat, Vec<Call>), String> {
    let mut chat = Chat::new(model, &["look"]);
    let wanted = [1, 2, 3].map(|n| json!({"n": n}));
    chat.say(&please(&wanted.clone().map(|arguments| ("look", arguments))));
    let turn = chat.ask(door)?;
    let calls = calls(&turn, "look", &wanted)?;
    Ok((chat, calls))
}

/// The rest of such a conversation: all answers, the last word, and one more turn.
fn goes_on(chat: &mut Chat, door: &Door, calls: &[Call]) -> Result<(), String> {
    says_all(&chat.ask(door)?, calls)?;
    let turn = chat.say("and good night").ask(door)?;
    check(turn.text.contains("and good night"), "no more talk", turn)
}

fn three_files(world: &mut dyn World) -> Result<(), String> {
    let door = world.door();
    let mut chat = Chat::new("agent", &["create_file"]);
    let files = ["a.txt", "b.txt", "c.txt"].map(|name| json!({"filename": name, "content": "…"}));
    let prompt = please(&files.clone().map(|arguments| ("create_file", arguments)));
    chat.say(&format!("创建三个文件：a.txt, b.txt, c.txt ({prompt})"));
    let calls = calls(&chat.ask(&door)?, "create_file", &files)?;
    for call in &calls {
        chat.answer(call);
    }
    goes_on(&mut chat, &door, &calls)
}

fn tool_then_talk(world: &mut dyn World) -> Result<(), String> {
    let door = world.door();
    let mut chat = Chat::new("agent", &["list_files"]);
    let prompt = please(&[("list_files", json!({}))]);
    chat.say(&format!("查看当前目录的文件 ({prompt})"));
    let calls = calls(&chat.ask(&door)?, "list_files", &[json!({})])?;
    // The client does not repeat what it has told already: its tools.
    chat.tools.clear();
    chat.answer_with(&calls[0], "文件列表: a.txt, b.txt");
    let turn = chat.ask(&door)?;
    check(turn.text == "The tool said: 文件列表: a.txt, b.txt", "another answer", turn)?;
    let turn = chat.say("谢谢").ask(&door)?;
    check(turn.text.contains("谢谢"), "no more talk", turn)
}

fn reversed(world: &mut dyn World) -> Result<(), String> {
    let door = world.door();
    let (mut chat, calls) = three_open(&door, "agent")?;
    for call in calls.iter().rev() {
        chat.answer(call);
    }
    goes_on(&mut chat, &door, &calls)
}

/// Some answers: the others are listed once more, with the ids they had.
fn listed_again(turn: &Turn, open: &[Call]) -> Result<(), String> {
    let again = turn.calls == open && turn.finish == "tool_calls";
    check(again, &format!("not listed again: {open:?}"), turn)
}

fn in_three_requests(world: &mut dyn World) -> Result<(), String> {
    let door = world.door();
    let (mut chat, calls) = three_open(&door, "agent")?;
    listed_again(&chat.answer(&calls[1]).ask(&door)?, &[calls[0].clone(), calls[2].clone()])?;
    listed_again(&chat.answer(&calls[2]).ask(&door)?, &[calls[0].clone()])?;
    chat.answer(&calls[0]);
    goes_on(&mut chat, &door, &calls)
}

fn in_three_more(world: &mut dyn World) -> Result<(), String> {
    let door = world.door();
    let (mut chat, calls) = three_open(&door, "agent")?;
    listed_again(&chat.answer(&calls[2]).peek(&door)?, &calls[..2])?;
    listed_again(&chat.answer(&calls[0]).peek(&door)?, &calls[1..2])?;
    chat.answer(&calls[1]);
    goes_on(&mut chat, &door, &calls)
}

/// Kills every agent, and waits until they are gone.
pub(crate) fn kill_all(world: &dyn World) -> Result<(), String> {
    let agents = world.agents();
    check(!agents.is_empty(), "no agent lives", &agents)?;
    agents.iter().for_each(|process| world.kill(*process));
    wait_until("the agents are gone", || {
        world.agents().iter().all(|process| !agents.contains(process))
    })
}

fn killed_while_waiting(world: &mut dyn World) -> Result<(), String> {
    let door = world.door();
    let (mut chat, calls) = three_open(&door, "agent")?;
    kill_all(world)?;
    for call in &calls {
        chat.answer(call);
    }
    goes_on(&mut chat, &door, &calls)
}

fn killed_between_answers(world: &mut dyn World) -> Result<(), String> {
    let door = world.door();
    let (mut chat, calls) = three_open(&door, "agent")?;
    listed_again(&chat.answer(&calls[0]).ask(&door)?, &calls[1..])?;
    kill_all(world)?;
    listed_again(&chat.answer(&calls[2]).ask(&door)?, &calls[1..2])?;
    chat.answer(&calls[1]);
    goes_on(&mut chat, &door, &calls)
}

fn killed_at_rest(world: &mut dyn World) -> Result<(), String> {
    let door = world.door();
    let (mut chat, calls) = three_open(&door, "agent")?;
    for call in &calls {
        chat.answer(call);
    }
    goes_on(&mut chat, &door, &calls)?;
    kill_all(world)?;
    let turn = chat.say("still there?").ask(&door)?;
    check(turn.text.contains("still there?"), "no more talk", turn)
}

fn restarted_while_waiting(world: &mut dyn World) -> Result<(), String> {
    let (mut chat, calls) = three_open(&world.door(), "agent")?;
    world.restart()?;
    for call in &calls {
        chat.answer(call);
    }
    goes_on(&mut chat, &world.door(), &calls)
}

fn restarted_between_answers(world: &mut dyn World) -> Result<(), String> {
    let (mut chat, calls) = three_open(&world.door(), "agent")?;
    listed_again(
        &chat.answer(&calls[1]).ask(&world.door())?,
        &[calls[0].clone(), calls[2].clone()],
    )?;
    world.restart()?;
    let door = world.door();
    listed_again(&chat.answer(&calls[0]).ask(&door)?, &calls[2..])?;
    chat.answer(&calls[2]);
    goes_on(&mut chat, &door, &calls)
}

fn disconnected(world: &mut dyn World) -> Result<(), String> {
    use std::io::Write as _;
    let door = world.door();
    let before = world.agents();
    let mut chat = Chat::new("agent-slow", &["look"]).streaming();
    chat.say(&"one two three four five six seven eight nine ten ".repeat(8));
    let mut stream = connect(&door.address).map_err(|error| error.to_string())?;
    let sent = stream.write_all(&door.request(PATH, &chat.body()));
    sent.map_err(|error| error.to_string())?;
    let came = until(&mut stream, "\"content\":\"");
    check(came.starts_with(b"HTTP/1.1 200"), "no stream", String::from_utf8_lossy(&came))?;
    let new = || world.agents().into_iter().filter(|it| !before.contains(it)).collect::<Vec<_>>();
    let cut: Vec<u32> = new();
    check(cut.len() == 1, "one agent speaks", &cut)?;
    drop(stream);
    wait_until("nobody speaks to nobody", || !world.agents().contains(&cut[0]))?;
    chat.messages.clear();
    chat.model = "agent".to_owned();
    let turn = chat.say("hello again").ask(&door)?;
    check(turn.text.contains("hello again"), "nobody is served", turn)
}

fn question(world: &mut dyn World) -> Result<(), String> {
    let door = world.door();
    let mut chat = Chat::new("agent-ask", &["look"]);
    let questions = json!({"questions": [{
        "question": "Which colour?", "header": "Colour", "multiSelect": false, "options": [
            {"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"},
        ],
    }]});
    chat.say(&format!("call AskUserQuestion with {questions}"));
    let turn = thread::scope(|scope| {
        let asking = scope.spawn(|| chat.clone().peek(&door));
        let over = || asking.is_finished();
        let answered = answer_question(&door, json!({"Which colour?": "Blue"}), over);
        let turn = asking.join().map_err(|_| "the client panicked".to_owned())?;
        answered.map_err(|trouble| format!("{trouble}: {turn:?}")).and(turn.clone())
    })?;
    check(turn.text.contains("\"Which colour?\"=\"Blue\""), "another answer", turn)
}

/// Waits until a run asks something, and answers.
fn answer_question(door: &Door, answers: Value, over: impl Fn() -> bool) -> Result<(), String> {
    let (run, ticket) = asked(door, over)?;
    let body = json!({"question": ticket, "answers": answers});
    let answer = door.post(&format!("/v1/runs/{run}/answers"), &body)?;
    check(answer.status == 200, "the answer is not taken", answer)
}

/// Waits until a run asks something, or everything is over: the run, and the name of the question.
pub(crate) fn asked(door: &Door, over: impl Fn() -> bool) -> Result<(String, String), String> {
    let mut found = None;
    wait_until("somebody is asked", || {
        let runs = door.get("/v1/runs?open=true").unwrap_or_default();
        let runs = runs["data"].as_array().cloned().unwrap_or_default();
        found = runs.iter().find_map(|run| {
            let id = run["id"].as_str()?;
            let questions = door.get(&format!("/v1/runs/{id}/answers")).ok()?;
            let ticket = questions["questions"][0]["question"].as_str()?.to_owned();
            Some((id.to_owned(), ticket))
        });
        found.is_some() || over()
    })?;
    found.ok_or_else(|| "nobody is asked".to_owned())
}

fn ten_steps(world: &mut dyn World) -> Result<(), String> {
    let mut chat = Chat::new("agent", &["look", "count"]).streaming();
    for step in 0..10 {
        let wanted = [("look", json!({"n": step})), ("count", json!({"n": -step}))];
        chat.say(&please(&wanted));
        let turn = chat.ask(&world.door())?;
        let found: Vec<_> = turn.calls.iter().map(|it| (&*it.name, it.arguments.clone())).collect();
        check(found == wanted, &format!("step {step}: other calls"), &turn)?;
        if step == 5 {
            world.restart()?;
        }
        for call in &turn.calls {
            chat.answer(call);
        }
        let calls = turn.calls;
        says_all(&chat.ask(&world.door())?, &calls)?;
    }
    Ok(())
}
