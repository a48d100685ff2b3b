//! More tools than a provider takes, and compactions that somebody stops.

use std::{sync::Arc, time::Duration};

use foxwedge_agent_loop::tool_loop::{
    CompactOptions, LoopCompaction, LoopEvent, LoopNotice, SilentObserver,
};
use foxwedge_core::Format;
use foxwedge_run::Outcome;
use foxwedge_tools::{Tool, ToolCallResult, ToolEffect, Toolbox};
use foxwedge_upstream::model::ModelError;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    points::runtime,
    rig::{Make, custom},
    script::{Say, WIRES, call, reply, text},
    workers::toolbox,
    world::World,
};

/// So many tools, in an order of their own.
fn many(number: usize) -> impl FnOnce(&World) -> Toolbox {
    move |world| {
        let tool = |at: usize| {
            // The names are in another order than the tools.
            let name = format!("t{:05}", number - at);
            Arc::new(custom(&name, ToolEffect::Reads, world, |work| {
                let call = work.call_id.to_owned();
                Box::pin(async move { ToolCallResult::done(format!("answer to {call}")) })
            })) as Arc<dyn Tool>
        };
        toolbox((0..number).map(tool))
    }
}

/// The names of the tools in a request.
fn offered(request: &Value) -> Vec<String> {
    let declared = &request["tools"][0]["functionDeclarations"];
    let list = if declared.is_array() { declared } else { &request["tools"] };
    let name = |tool: &Value| {
        let named = [&tool["name"], &tool["function"]["name"]];
        named.into_iter().find_map(Value::as_str).unwrap_or_default().to_owned()
    };
    list.as_array().into_iter().flatten().map(name).collect()
}

#[test]
fn more_tools_than_a_provider_takes_fail_no_prompt() {
    runtime().block_on(async {
        for wire in WIRES {
            for number in [127, 128, 129, 256, 257, 1_000] {
                let most = match wire {
                    Format::OpenaiChat | Format::OpenaiResponses => 128,
                    Format::Anthropic | Format::Gemini | Format::Bedrock => usize::MAX,
                };
                // The first that was added is called, which stands last by its name.
                let first = format!("t{number:05}");
                let script = vec![reply([call("x", &first, "{}")])];
                let make = Make { wire, script, ..Make::default() };
                let mut rig = make.rig(many(number)).await;
                let told = format!("{wire:?}, {number} tools");
                assert_eq!(rig.outcome("go").await, Some(Outcome::Completed), "{told}");
                let names = offered(&rig.model.requests()[0]);
                assert_eq!(names.len(), number.min(most), "{told}");
                assert!(names.contains(&first) && names.is_sorted(), "{told}: {names:?}");
                assert!(rig.shape().contains("x=answer to x"), "{told}: {}", rig.shape());
                // The judge of the provider objects to nothing.
                rig.check();
            }
        }
    });
}

#[test]
fn a_provider_that_takes_fewer_tools_than_anybody_knew_is_asked_with_fewer() {
    runtime().block_on(async {
        let refused = || {
            let message = "the provider answers 400 Bad Request: too many tools".to_owned();
            reply([Say::Break(ModelError { code: "too_many_tools", message, retryable: false })])
        };
        let script = vec![refused(), refused(), reply([text("fine")]), reply([text("still")])];
        let make = Make { wire: Format::OpenaiChat, script, ..Make::default() };
        let mut rig = make.rig(many(100)).await;
        let mut notes = Vec::new();
        let mut listener = |told| {
            if let LoopEvent::Notice(LoopNotice::FewerTools { offered, all }) = told {
                notes.push((offered, all));
            }
        };
        for prompt in ["go", "on"] {
            let finished = rig.tool_loop.prompt(prompt, &mut listener).await.expect("a run");
            assert_eq!(finished.ended.outcome, Some(Outcome::Completed), "{prompt}");
        }
        assert_eq!(notes, [(50, 100), (25, 100)], "told once for each refusal");
        let counts: Vec<usize> =
            rig.model.requests().iter().map(|request| offered(request).len()).collect();
        assert_eq!(counts, [100, 50, 25, 25]);
        assert_eq!(rig.shape(), "u:go | a:fine | u:on | a:still");
        rig.check();
    });
}

#[test]
fn a_provider_that_refuses_every_tool_is_believed_in_the_end() {
    runtime().block_on(async {
        let refused = || {
            let message = "the provider answers 400 Bad Request: too many tools".to_owned();
            reply([Say::Break(ModelError { code: "too_many_tools", message, retryable: false })])
        };
        let script = (0..20).map(|_| refused()).collect();
        let make = Make { wire: Format::OpenaiChat, script, ..Make::default() };
        let mut rig = make.rig(many(8)).await;
        assert_eq!(rig.outcome("go").await, Some(Outcome::Failed));
        let counts: Vec<usize> =
            rig.model.requests().iter().map(|request| offered(request).len()).collect();
        assert_eq!(counts, [8, 4, 2, 1]);
        rig.check();
    });
}

#[test]
fn a_compaction_that_somebody_stops_does_not_say_that_there_is_nothing_to_gain() {
    runtime().block_on(async {
        let mut before = Vec::new();
        for number in 0..30 {
            let question = format!("question {number} {}", "why ".repeat(200));
            before.push(json!({ "role": "user", "content": question }));
            let answer = format!("answer {number} {}", "because ".repeat(200));
            before.push(json!({ "role": "assistant", "content": answer }));
        }
        // Whoever is asked for a summary never says a word.
        let script = vec![reply([Say::Hang])];
        let mut rig = Make { before, script, ..Make::default() }.rig(many(1)).await;
        let count = rig.tool_loop.history().len();
        let (handle, model) = (rig.tool_loop.handle(), rig.model.clone());
        let press = async {
            while model.requests().is_empty() {
                tokio::task::yield_now().await;
            }
            handle.interrupt();
            std::future::pending::<()>().await;
        };
        let mut silent = SilentObserver;
        let compaction = rig.tool_loop.compact(CompactOptions::default(), &mut silent);
        let stopped = timeout(Duration::from_secs(60), async {
            tokio::select! {
                compaction = compaction => compaction,
                () = press => panic!("it never ends"),
            }
        });
        let stopped = stopped.await.expect("an end within a minute").expect("a compaction");
        assert_eq!(stopped, LoopCompaction::Stopped);
        assert_eq!(rig.tool_loop.history().len(), count, "the history stays as it is");
        assert_eq!(rig.outcome("next").await, Some(Outcome::Completed));
        rig.check();
    });
}
