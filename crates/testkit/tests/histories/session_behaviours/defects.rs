//! What the original got wrong, one test each, and its own example.

use foxwedge_core::UnansweredPolicy;
use foxwedge_sessions::SessionAgent;
use foxwedge_testkit::{plain_walk, session_view};

use crate::{
    session_samples::{CANCELLED, LINKED, broken, file, line, mended, seen},
    support::shape,
};

#[test]
fn defect_1_a_dropped_reply_takes_the_answers_it_had_with_it() {
    for agent in LINKED {
        let bytes = file(agent, "1<- u; 2<1 a[x y]; 3<2 r[x]");
        assert_eq!(mended(agent, UnansweredPolicy::DropTurn, &bytes).0, "u", "{}", agent.name());
    }
}

#[test]
fn defect_2_answers_of_several_cancelled_calls_are_not_lost() {
    for agent in LINKED {
        let bytes = file(agent, "1<- u; 2<1 a[x y z]; 3<2 r~[x]; 4<2 r~[y]; 5<2 r~[z]; 6<5 u");
        for unanswered in [UnansweredPolicy::Answer, UnansweredPolicy::DropTurn] {
            let (tells, fixed) = mended(agent, unanswered, &bytes);
            assert_eq!(tells, "u a[x y z] r[x y z]+u", "{}", agent.name());
            let told = session_view(agent.name(), &fixed).messages;
            let told = serde_json::Value::Array(told).to_string();
            assert_eq!(told.matches(CANCELLED).count(), 3, "{}", agent.name());
        }
    }
}

#[test]
fn defect_3_an_old_session_keeps_its_tool_turns() {
    let bytes = file(SessionAgent::Neovate, "1<- u; 2<1 a[x]; 3<2 l[x]; 4<3 a[y]; 5<4 l[y]; 6<5 a");
    let (tells, fixed) = mended(SessionAgent::Neovate, UnansweredPolicy::DropTurn, &bytes);
    assert_eq!((tells.as_str(), fixed), ("u a[x] r[x] a[y] r[y] a", bytes));
}

#[test]
fn defect_4_a_torn_last_line_does_not_cost_the_session() {
    for agent in LINKED {
        let mut bytes = file(agent, "1<- u; 2<1 a[x]; 3<2 r[x]");
        let whole = line(agent, "4<3 a");
        for cut in 1..whole.len() {
            bytes.extend_from_slice(&whole.as_bytes()[..cut]);
            let (tells, fixed) = mended(agent, UnansweredPolicy::Answer, &bytes);
            assert_eq!(tells, "u a[x] r[x]", "{} cut at {cut}", agent.name());
            bytes.truncate(bytes.len() - cut);
            assert_eq!(fixed, bytes, "{} cut at {cut}", agent.name());
        }
    }
}

#[test]
fn defect_5_a_last_line_that_is_no_message_does_not_end_the_chain() {
    for agent in LINKED {
        let bytes = file(agent, "1<- u; 2<1 a[x]; line; line");
        let (tells, fixed) = mended(agent, UnansweredPolicy::Answer, &bytes);
        assert_eq!(tells, "u a[x] r[x~]", "{}", agent.name());
        // The answer that was added hangs on its call, and is no root of its own.
        let walk = plain_walk(agent.name(), &fixed).expect("its records are linked");
        assert_eq!(walk.len(), 3, "{}", agent.name());
    }
}

#[test]
fn defect_6_circles_end_and_a_line_that_is_there_twice_counts_once() {
    for agent in LINKED {
        let circle = file(agent, "1<4 u; 2<1 a[x]; 3<2 r[x]; 4<3 a");
        assert_eq!(mended(agent, UnansweredPolicy::Answer, &circle).0, "u a[x] r[x] a");
        let twice = file(agent, "1<- u; 2<1 a[x]; 2<1 a[x]; 3<2 r[x]; 3<2 r[x]; 4<3 a");
        let seen = seen(agent, &twice);
        assert_eq!(broken(&seen), [703, 703], "{}", agent.name());
        assert_eq!(shape(&seen.history), "u a[x] r[x] a", "{}", agent.name());
        let once = file(agent, "1<- u; 2<1 a[x]; 3<2 r[x]; 4<3 a");
        assert_eq!(mended(agent, UnansweredPolicy::Answer, &twice).1, once, "{}", agent.name());
    }
}

#[test]
fn defect_8_answers_that_came_before_the_abort_are_not_replaced() {
    for agent in LINKED {
        // Both tools had finished; the abort wrote over them what it thought to be missing.
        let script = "1<- u; 2<1 a[x y]; 3<2 r[x y]; 4<2 r~[x]; 5<2 r~[y]; 6<5 u";
        let (tells, fixed) = mended(agent, UnansweredPolicy::Answer, &file(agent, script));
        assert_eq!(tells, "u a[x y] r[x y]+u", "{}", agent.name());
        let told =
            serde_json::Value::Array(session_view(agent.name(), &fixed).messages).to_string();
        assert!(!told.contains(CANCELLED), "{}\n{told}", agent.name());
    }
}

/// A reply with no parent is a root like any other: nobody can tell that it followed the summary.
/// The summary stays in the file.
#[test]
fn defect_10_a_reply_that_forgot_its_summary_is_told_alone() {
    let bytes = file(SessionAgent::Neovate, "1<- u; 2<1 a; 3<- u\"summary\"; 4<- a; 5<4 u");
    let seen = seen(SessionAgent::Neovate, &bytes);
    assert_eq!(shape(&seen.history), "a u");
    assert!(seen.untouched && seen.fixed == bytes);
}

#[test]
fn the_example_of_the_seed_comes_out_as_it_is_printed_there() {
    let script = "1<- u\"read file.ts\"; 2<1 a[toolu_001]; 3<2 r[toolu_001]; 4<3 a[toolu_002]";
    let printed = "1<- u\"read file.ts\"; 2<1 a[toolu_001]; 3<2 r[toolu_001]";
    for agent in LINKED {
        let bytes = file(agent, script);
        let (_, fixed) = mended(agent, UnansweredPolicy::DropTurn, &bytes);
        assert_eq!(fixed, file(agent, printed), "{}", agent.name());
        // Without being asked to drop anything, the call is kept and honestly answered.
        let (tells, fixed) = mended(agent, UnansweredPolicy::Answer, &bytes);
        assert_eq!(tells, "u a[toolu_001] r[toolu_001] a[toolu_002] r[toolu_002~]");
        assert!(fixed.starts_with(&bytes), "{}", agent.name());
        let text = String::from_utf8_lossy(&fixed);
        assert!(text.contains("The call may have run"), "{}\n{text}", agent.name());
    }
}
