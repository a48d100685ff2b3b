//! Runs as lists of changes. `cargo xtask uis` sends them to the official clients.

#[path = "script.rs"]
pub(crate) mod script;

use super::run::{Outcome, ToolStatus, UiChange};

/// A run, its name, and what a person must see.
pub(crate) struct Scene {
    pub(crate) name: &'static str,
    pub(crate) changes: Vec<UiChange>,
    pub(crate) outcome: Outcome,
    /// The text of the run itself.
    pub(crate) text: &'static str,
    /// The calls and their final statuses. `None`: the call still waits for a person.
    pub(crate) calls: Vec<(String, Option<ToolStatus>)>,
}

/// All scenes.
pub(crate) fn all() -> Vec<Scene> {
    let tables = [ORDINARY, ASKING, ODD].concat();
    let scene = |(name, text, calls, script): (&'static str, &'static str, &str, &str)| {
        let changes = script::changes(script);
        let calls = calls.split_whitespace().map(script::call).collect();
        Scene { name, outcome: script::outcome(&changes), changes, text, calls }
    };
    tables.into_iter().map(scene).collect()
}

type Table = &'static [(&'static str, &'static str, &'static str, &'static str)];

/// A run that ends while its only call is running.
macro_rules! cut_off {
    ($end:literal) => {
        concat!(
            "start\n step 1\n say m Hm. \n call a Bash\n",
            " settle a interrupted run_ended \"It may have run.\"\n ",
            $end
        )
    };
}

/// Every kind of end: the name, the text, the calls with their statuses, and the script.
const ORDINARY: Table = &[
    (
        "parallel-tools",
        "Let me look. Done.",
        "a=succeeded b=failed",
        r#"start
           tools Bash Read
           step 1
           think t Which |files?
           say m1 Let me |look. 
           open a Bash
           open b Read
           args a {"comm|and":"ls"}
           ready b {"path": "a.txt"}
           ready a {"command":"ls"}
           status a running
           status b running
           progress a "one line"
           settle b failed "no such file"
           settle a succeeded [{"type":"text","text":"a.txt"}]
           done 1
           usage
           step 2
           say m2 Done|.
           done 2
           end completed"#,
    ),
    ("stopped-in-mid-tool", "Hm. ", "a=interrupted", cut_off!("end stopped")),
    ("replaced", "Hm. ", "a=interrupted", cut_off!("end replaced")),
    ("interrupted", "Hm. ", "a=interrupted", cut_off!("end interrupted")),
    ("max-turns", "Hm. ", "a=interrupted", cut_off!("end max_turns")),
    ("failed", "Hm. ", "a=interrupted", cut_off!("fail overloaded_error Too many requests")),
    ("refused", "No.", "", "start\n step 1\n say m No.\n done 1\n end refused"),
    ("nothing-at-all", "", "", "start\n end no_text"),
    (
        "no-text",
        "",
        "a=succeeded",
        "start\n step 1\n call a Bash\n settle a succeeded null\n done 1\n end no_text",
    ),
    (
        "cancelled-in-mid-arguments",
        "Wri",
        "a=cancelled",
        r#"start
           step 1
           delta m Wri
           open a Write
           args a {"path":"x","text":"Once up
           settle a cancelled run_ended "It never ran."
           end stopped"#,
    ),
    (
        "skipped-call",
        "Enough.",
        "a=succeeded b=cancelled",
        r#"start
           step 1
           call a exit
           call b Bash
           settle a succeeded {}
           settle b cancelled skipped "An earlier call ended the turn."
           say m Enough.
           done 1
           end completed"#,
    ),
    (
        "subagent",
        "It says yes.",
        "task=succeeded inner=succeeded",
        r#"start
           step 1
           call task Task
           think s0@task What |now?
           say s1@task Looking |inside
           open inner@task Grep
           ready inner {"pattern":"x"}
           settle inner succeeded "yes"
           settle task succeeded "yes"
           done 1
           step 2
           say m It says yes.
           done 2
           end completed"#,
    ),
    (
        "tasks-and-cards",
        "Tidy.",
        "",
        r#"start
           step 1
           tasks Look=in_progress Write=pending
           card repair - {"codes": ["FW101"]}
           card compaction c1 {"status":"in_progress"}
           card compaction c1 {"status":"completed","saved":4000}
           card note - ["not", "an object"]
           problem rate_limit retrying
           say m Tidy.
           tasks Look=completed Write=paused Hm=unknown
           done 1
           end completed"#,
    ),
];

/// Approvals and questions.
const ASKING: Table = &[
    (
        "approval-allowed",
        "Gone.",
        "a=succeeded",
        r#"start
           step 1
           open a Bash
           ready a {"command":"rm x"}
           status a awaiting_approval
           ask a ask1 approval
           reply a ask1 allowed
           status a running
           settle a succeeded ""
           say m Gone.
           done 1
           end completed"#,
    ),
    (
        "approval-allowed-and-failed",
        "Sorry.",
        "a=failed",
        r#"start
           step 1
           open a Bash
           ready a {"command":"rm x"}
           ask a ask1 approval
           reply a ask1 allowed
           settle a failed timed_out "too slow"
           say m Sorry.
           done 1
           end completed"#,
    ),
    (
        "approval-denied",
        "Fine.",
        "a=denied",
        r#"start
           step 1
           open a Bash
           ready a {"command":"rm x"}
           ask a a approval
           reply a a denied
           settle a denied "The user said no."
           say m Fine.
           done 1
           end completed"#,
    ),
    (
        "denied-by-a-rule",
        "Fine.",
        "a=denied",
        "start\n step 1\n call a Bash\n settle a denied \"No.\"\n say m Fine.\n done 1\n end completed",
    ),
    (
        "stopped-while-asking",
        "",
        "a=cancelled",
        r#"start
           step 1
           open a Bash
           ready a {"command":"rm x"}
           ask a ask1 approval
           reply a ask1 cancelled
           settle a cancelled run_ended "It never ran."
           end stopped"#,
    ),
    (
        "question-handed-over",
        "",
        "q=handed_over",
        r#"start
           step 1
           open q AskUserQuestion
           ready q {"questions":[]}
           ask q ask1 question
           reply q ask1 cancelled
           settle q handed_over "The question went to the user."
           done 1
           end no_text"#,
    ),
    (
        "question-deferred-with-others",
        "I wait.",
        "a=succeeded q=handed_over p=handed_over",
        r#"start
           step 1
           say m I wait.
           call a Bash
           call q AskUserQuestion
           call p AskUserQuestion
           settle p handed_over "The question went to the user."
           settle q handed_over "The question went to the user."
           settle a succeeded "ok"
           done 1
           end completed"#,
    ),
    (
        "question-handed-over-and-on",
        "Go on.",
        "q=handed_over",
        r#"start
           step 1
           call q AskUserQuestion
           settle q handed_over "The question went to the user."
           done 1
           step 2
           say m Go on.
           done 2
           end completed"#,
    ),
    (
        "stopped-after-a-hand-over",
        "",
        "q=handed_over",
        r#"start
           step 1
           call q AskUserQuestion
           settle q handed_over "The question went to the user."
           end stopped"#,
    ),
    (
        "asked-while-running",
        "Done.",
        "a=succeeded",
        r#"start
           step 1
           call a Bash
           ask a ask1 approval
           status a awaiting_approval
           reply a ask1 allowed
           status a running
           settle a succeeded "ok"
           say m Done.
           done 1
           end completed"#,
    ),
    (
        "question-answered",
        "Blue it is.",
        "q=succeeded",
        r#"start
           step 1
           open q AskUserQuestion
           ready q {"questions":[]}
           ask q ask1 question
           status q awaiting_approval
           reply q ask1 answered
           status q pending
           settle q succeeded "blue"
           say m Blue it is.
           done 1
           end completed"#,
    ),
    (
        "ends-waiting",
        "",
        "a=? q=?",
        r#"start
           step 1
           open a Bash
           ready a {"command":"rm x"}
           ask a ask1 approval
           call q AskUserQuestion
           ask q ask2 question
           done 1
           end no_text"#,
    ),
    (
        "asked-before-the-arguments",
        "Ok.",
        "a=succeeded",
        r#"start
           step 1
           open a Bash
           args a {"comm
           ask a ask1 approval
           args a and":"ls"}
           ready a {"command":"ls"}
           reply a ask1 allowed
           settle a succeeded "ok"
           say m Ok.
           done 1
           end completed"#,
    ),
];

/// Unusual changes, and changes that the machine should never send.
const ODD: Table = &[
    (
        "result-before-call",
        "Odd.",
        "a=succeeded",
        r#"start
           step 1
           open a unknown
           settle a succeeded never_called {"found":1}
           say m Odd.
           done 1
           end completed"#,
    ),
    (
        "nothing-is-closed",
        "Half a",
        "a=cancelled b=interrupted c=cancelled",
        r#"start
           step 1
           delta m Half a
           open a Write
           args a {"te
           call b Task
           delta s@b sub
           open c Bash
           ask c ask1 approval
           musing t hm
           end stopped"#,
    ),
    (
        "no-start",
        "Hello.",
        "a=succeeded",
        "delta m Hello.\n settle a succeeded \"ok\"\n end completed",
    ),
    (
        "late",
        "Hello.",
        "a=succeeded",
        r#"start
           start
           step 1
           say m Hello.
           call a Bash
           settle a succeeded "ok"
           end completed
           say m2 Late.
           settle a failed "late"
           call z Bash
           end stopped
           start"#,
    ),
    (
        "one-id-for-all",
        "OneTwo",
        "x=succeeded x~2=failed",
        r#"start
           step 1
           say x One
           call x Bash
           settle x succeeded "1"
           done 1
           step 2
           say x Two
           call x/2 Bash
           settle x/2 failed "2"
           done 2
           end completed"#,
    ),
    (
        "spread-over-lines",
        "a\nb\u{2028}\u{1}\"\\",
        "a¶\"b\"=succeeded",
        "start
         step 1
         say m¶1 a¶|b\u{2028}\u{1}\"\\
         open a¶\"b\" To\"ol
         ready a¶\"b\" {¶  \"x\": [¶ 1, 2]¶}
         settle a¶\"b\" succeeded {¶ \"y\": \"\\n\u{2029}\"¶}
         done 1
         end completed",
    ),
    (
        "arguments-across-steps",
        "On.",
        "a=succeeded",
        r#"start
           step 1
           open a Bash
           args a {"command"
           step 2
           say m On.
           args a :1}
           ready a {"command":1}
           settle a succeeded "ok"
           end completed"#,
    ),
    (
        "arguments-that-are-something-else",
        "Ok.",
        "a=succeeded",
        r#"start
           step 1
           open a Bash
           args a {"command":"ls"}
           ready a {"command":"ls -l"}
           settle a succeeded "ok"
           say m Ok.
           done 1
           end completed"#,
    ),
];
