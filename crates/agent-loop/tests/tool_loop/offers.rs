//! More tools than a provider accepts, and stopped compactions.

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
    harness::{Setup, custom},
    points::runtime,
    script::{FORMATS, Step, call, reply, text},
    test_tools::toolbox,
    world::World,
};

/// This many tools, not in the order of their names.
fn many(number: usize) -> impl FnOnce(&World) -> Toolbox {
    move |world| {
        let tool = |at: usize| {
            // The order of the names differs from that of the tools.
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
fn too_many_tools_do_not_fail_a_prompt() {
    runtime().block_on(async {
        for wire in FORMATS {
            for number in [127, 128, 129, 256, 257, 1_000] {
                let max_tools = match wire {
                    Format::OpenaiChat | Format::OpenaiResponses => 128,
                    Format::Anthropic
                    | Format::Gemini
                    | Format::Bedrock
                    | Format::GeminiInteractions => usize::MAX,
                };
                // The first added tool is called; its name sorts last.
                let first = format!("t{number:05}");
                let script = vec![reply([call("x", &first, "{}")])];
                let make = Setup { wire, script, ..Setup::default() };
                let mut harness = make.build(many(number)).await;
                let label = format!("{wire:?}, {number} tools");
                assert_eq!(harness.outcome("go").await, Some(Outcome::Completed), "{label}");
                let names = offered(&harness.model.requests()[0]);
                assert_eq!(names.len(), number.min(max_tools), "{label}");
                assert!(names.contains(&first) && names.is_sorted(), "{label}: {names:?}");
                assert!(harness.shape().contains("x=answer to x"), "{label}: {}", harness.shape());
                // The provider's validation has no objections.
                harness.check();
            }
        }
    });
}

#[test]
fn after_a_refusal_fewer_tools_are_offered() {
    runtime().block_on(async {
        let refused = || {
            let message = "the provider answers 400 Bad Request: too many tools".to_owned();
            reply([Step::Break(ModelError { code: "too_many_tools", message, retryable: false })])
        };
        let script = vec![refused(), refused(), reply([text("fine")]), reply([text("still")])];
        let make = Setup { wire: Format::OpenaiChat, script, ..Setup::default() };
        let mut harness = make.build(many(100)).await;
        let mut notes = Vec::new();
        let mut listener = |event| {
            if let LoopEvent::Notice(LoopNotice::FewerTools { offered, all }) = event {
                notes.push((offered, all));
            }
        };
        for prompt in ["go", "on"] {
            let finished = harness.tool_loop.prompt(prompt, &mut listener).await.expect("a run");
            assert_eq!(finished.ended.outcome, Some(Outcome::Completed), "{prompt}");
        }
        assert_eq!(notes, [(50, 100), (25, 100)], "told once for each refusal");
        let counts: Vec<usize> =
            harness.model.requests().iter().map(|request| offered(request).len()).collect();
        assert_eq!(counts, [100, 50, 25, 25]);
        assert_eq!(harness.shape(), "u:go | a:fine | u:on | a:still");
        harness.check();
    });
}

#[test]
fn a_provider_that_refuses_every_number_of_tools_fails_the_run() {
    runtime().block_on(async {
        let refused = || {
            let message = "the provider answers 400 Bad Request: too many tools".to_owned();
            reply([Step::Break(ModelError { code: "too_many_tools", message, retryable: false })])
        };
        let script = (0..20).map(|_| refused()).collect();
        let make = Setup { wire: Format::OpenaiChat, script, ..Setup::default() };
        let mut harness = make.build(many(8)).await;
        assert_eq!(harness.outcome("go").await, Some(Outcome::Failed));
        let counts: Vec<usize> =
            harness.model.requests().iter().map(|request| offered(request).len()).collect();
        assert_eq!(counts, [8, 4, 2, 1]);
        harness.check();
    });
}

#[test]
fn a_stopped_compaction_is_not_reported_as_nothing_to_compact() {
    runtime().block_on(async {
        let mut before = Vec::new();
        for number in 0..30 {
            let question = format!("question {number} {}", "why ".repeat(200));
            before.push(json!({ "role": "user", "content": question }));
            let answer = format!("answer {number} {}", "because ".repeat(200));
            before.push(json!({ "role": "assistant", "content": answer }));
        }
        // The request for a summary hangs.
        let script = vec![reply([Step::Hang])];
        let mut harness = Setup { before, script, ..Setup::default() }.build(many(1)).await;
        let count = harness.tool_loop.history().len();
        let (handle, model) = (harness.tool_loop.handle(), harness.model.clone());
        let interrupt = async {
            while model.requests().is_empty() {
                tokio::task::yield_now().await;
            }
            handle.interrupt();
            std::future::pending::<()>().await;
        };
        let mut silent = SilentObserver;
        let compaction = harness.tool_loop.compact(CompactOptions::default(), &mut silent);
        let stopped = timeout(Duration::from_secs(60), async {
            tokio::select! {
                compaction = compaction => compaction,
                () = interrupt => panic!("it never ends"),
            }
        });
        let stopped = stopped.await.expect("an end within a minute").expect("a compaction");
        assert_eq!(stopped, LoopCompaction::Stopped);
        assert_eq!(harness.tool_loop.history().len(), count, "the history stays as it is");
        assert_eq!(harness.outcome("next").await, Some(Outcome::Completed));
        harness.check();
    });
}
