//! Tools that misbehave.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use foxwedge_run::{Outcome, ToolStatus};
use foxwedge_tools::{
    Tool, ToolCallResult, ToolCompletion, ToolEffect, ToolFuture, ToolInvocation,
    ToolResultContent, Toolbox,
};
use serde_json::{Value, json};

use crate::{
    harness::{Harness, Setup, custom, ends},
    points::runtime,
    script::{call, reply},
    test_tools::toolbox,
    world::World,
};

/// The tool `odd`, and a quick one.
fn odd(
    behavior: impl for<'a> Fn(ToolInvocation<'a>) -> ToolFuture<'a, ToolCallResult>
    + Send
    + Sync
    + 'static,
) -> impl FnOnce(&World) -> Toolbox {
    move |world| {
        let quick = custom("see", ToolEffect::Reads, world, |_| {
            Box::pin(async { ToolCallResult::done("seen") })
        });
        let odd = custom("odd", ToolEffect::Reads, world, behavior);
        toolbox([Arc::new(odd) as Arc<dyn Tool>, Arc::new(quick)])
    }
}

async fn beside(
    behavior: impl for<'a> Fn(ToolInvocation<'a>) -> ToolFuture<'a, ToolCallResult>
    + Send
    + Sync
    + 'static,
) -> Harness {
    let script = vec![reply([call("x", "odd", "{}"), call("y", "see", "{}")])];
    Setup { script, ..Setup::default() }.build(odd(behavior)).await
}

#[test]
fn a_panic_becomes_a_result_and_affects_no_other_tool() {
    runtime().block_on(async {
        let mut harness = beside(|_| panic!("at once, as it was planned")).await;
        assert_eq!(harness.outcome("go").await, Some(Outcome::Completed));
        assert!(harness.shape().contains("y=seen"), "{}", harness.shape());
        harness.check();
        let mut harness = beside(|_| {
            Box::pin(async {
                tokio::task::yield_now().await;
                panic!("a little later, as it was planned")
            })
        })
        .await;
        let finished = harness.prompt("go").await.expect("a run");
        assert_eq!(finished.summary.count(ToolStatus::Failed), 1);
        assert_eq!(finished.ended.outcome, Some(Outcome::Completed));
        harness.check();
    });
}

#[test]
fn an_endless_tool_is_dropped_at_its_timeout_and_after_the_grace_period() {
    runtime().block_on(async {
        let mut harness = beside(|_| Box::pin(std::future::pending())).await;
        let world = harness.world.clone();
        let (outcome, ()) = tokio::join!(harness.outcome("go"), async {
            world.company(2).await;
            tokio::time::sleep(Duration::from_millis(10)).await;
            world.interrupt();
        });
        assert_eq!(outcome, Some(Outcome::Stopped));
        let shape = harness.shape();
        assert!(shape.contains("x=[foxwedge] Interrupted") && shape.contains("y=seen"), "{shape}");
        assert_eq!(harness.world.living(), 0);
        harness.check();
    });
}

#[test]
fn a_tool_that_blocks_its_thread_does_not_keep_the_run_from_ending() {
    // On two threads: the sleeping task blocks one of them.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let mut harness = beside(|_| {
            Box::pin(async {
                std::thread::sleep(Duration::from_millis(150));
                ToolCallResult::done("slept")
            })
        })
        .await;
        let world = harness.world.clone();
        let (outcome, ()) = tokio::join!(harness.outcome("go"), async {
            world.company(2).await;
            world.interrupt();
            world.interrupt();
        });
        assert_eq!(outcome, Some(Outcome::Stopped));
        assert_eq!(harness.world.living(), 0);
        harness.check();
    });
}

#[test]
fn a_result_after_the_end_is_ignored() {
    runtime().block_on(async {
        // It leaves a task behind that returns a result later.
        let late = Arc::new(AtomicUsize::new(0));
        let count = late.clone();
        let mut harness = beside(move |work| {
            let (count, output) = (count.clone(), work.output.clone());
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(60)).await;
                output.push(b"much too late");
                count.fetch_add(1, Ordering::SeqCst);
            });
            Box::pin(std::future::pending())
        })
        .await;
        let world = harness.world.clone();
        let (outcome, ()) = tokio::join!(harness.outcome("go"), async {
            world.company(2).await;
            world.interrupt();
            world.interrupt();
        });
        assert_eq!(outcome, Some(Outcome::Stopped));
        let (shape, events) = (harness.shape(), harness.events().await);
        while late.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert_eq!((harness.shape(), harness.events().await), (shape, events));
        harness.check();
    });
}

#[test]
fn a_gigabyte_of_output_is_kept_in_a_few_kilobytes() {
    runtime().block_on(async {
        let mut harness = beside(|work| {
            let block = vec![b'x'; 4 << 20];
            for _ in 0..256 {
                work.output.push(&block);
            }
            work.output.push(b"\nthe last line");
            Box::pin(std::future::pending())
        })
        .await;
        let world = harness.world.clone();
        let (outcome, ()) = tokio::join!(harness.outcome("go"), async {
            world.company(2).await;
            tokio::time::sleep(Duration::from_millis(5)).await;
            world.interrupt();
        });
        assert_eq!(outcome, Some(Outcome::Stopped));
        let history = harness.history();
        let answer =
            history.calls().next().and_then(|call| call.answer.clone()).expect("an answer");
        assert!(answer.text.len() < 80_000, "{} bytes", answer.text.len());
        assert!(answer.text.contains("the last line") && answer.text.contains("bytes left out"));
        harness.check();
    });
}

#[test]
fn empty_oversized_and_invalid_results_are_stored() {
    let image = "aGVsbG8=".repeat(3 << 19);
    let blocks = |blocks: Vec<Value>| ToolResultContent::Blocks(blocks);
    let deep = (0..300).fold(json!(1), |inner, _| json!([inner]));
    let table: Vec<(&str, ToolResultContent)> = vec![
        ("nothing", ToolResultContent::Text(String::new())),
        ("white", ToolResultContent::Text(" \n ".to_owned())),
        ("ten megabytes", ToolResultContent::Text("x".repeat(10 << 20))),
        ("a nul", ToolResultContent::Text("a\u{0}b\u{1b}[31m\u{7f}".to_owned())),
        ("no blocks", blocks(vec![])),
        ("an empty text", blocks(vec![json!({ "type": "text", "text": "" })])),
        ("a number", blocks(vec![json!(17)])),
        ("null", blocks(vec![Value::Null])),
        ("no type", blocks(vec![json!({ "text": "x" })])),
        (
            "another type",
            blocks(vec![json!({ "type": "tool_use", "id": "x", "name": "n", "input": {} })]),
        ),
        ("no source", blocks(vec![json!({ "type": "image" })])),
        (
            "a bad image",
            blocks(vec![
                json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "%%%" } }),
            ]),
        ),
        (
            "a large image",
            blocks(vec![
                json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": image } }),
            ]),
        ),
        ("very deep", blocks(vec![deep])),
        ("many", blocks(vec![json!({ "type": "text", "text": "line" }); 5_000])),
        (
            "a large text block",
            blocks(vec![json!({ "type": "text", "text": "y".repeat(2 << 20) })]),
        ),
    ];
    runtime().block_on(async {
        for (name, content) in table {
            for how in [ToolCompletion::Done, ToolCompletion::Failed, ToolCompletion::Stopped] {
                let is_large = matches!(&content, ToolResultContent::Text(text) if text.len() > 1_000)
                    || matches!(name, "a large image" | "many" | "a large text block");
                if is_large && how == ToolCompletion::Failed {
                    continue;
                }
                let answer = ToolCallResult { completion: how, content: content.clone() };
                let mut harness = beside(move |_| {
                    let answer = answer.clone();
                    Box::pin(async move { answer })
                })
                .await;
                let outcome = harness.outcome("go").await;
                assert_eq!(outcome, Some(Outcome::Completed), "{name}");
                assert!(harness.shape().contains("y=seen"), "{name}");
                assert_eq!(ends(&harness.events().await), 1);
                assert_eq!(harness.outcome("on").await, Some(Outcome::Completed), "{name}");
                harness.check();
            }
        }
    });
}
