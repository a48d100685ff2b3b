//! Generated sessions: what they tell about their reach, and what becomes of them as sessions of
//! other agents.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use foxwedge_core::{CheckOptions, Draft, Finding, PartKind, RuleSet};
use foxwedge_formats::{
    model::{decode, encode},
    outline_options,
};
use foxwedge_sessions::{
    FindingEffect, NewSessionFacts, ParsedSession, SessionAgent, read, readable_text,
    write_new_session,
};
use foxwedge_testkit::{Random, session_file};

/// Sessions of each agent.
const SEEDS: u64 = 150;
const SIZE: usize = 14;

/// What is known about a new session.
const NEW: NewSessionFacts<'_> = NewSessionFacts {
    id: "0a1b2c3d-0001-4000-8000-000000000001",
    folder: "/w/shop",
    time: "2026-01-02T03:04:05.678Z",
    milliseconds: 1_767_323_045_678,
};

fn options(agent: SessionAgent) -> CheckOptions {
    let mut options = CheckOptions::for_profile(agent.profile());
    agent.restrict_rules(&mut options);
    options
}

fn worst(session: &ParsedSession<'_>) -> FindingEffect {
    let rated = session.rate_findings(&options(session.agent));
    rated.worst().unwrap_or(FindingEffect::Tolerated)
}

/// The file after a repair.
fn repaired(session: &ParsedSession<'_>) -> Vec<u8> {
    let (rewritten, _) = session.fix(&options(session.agent));
    let mut bytes = Vec::new();
    rewritten.write_to(&mut bytes).unwrap();
    bytes
}

#[test]
fn the_reach_of_a_session_agrees_with_its_health() {
    let mut seen = [0; 3];
    for agent in SessionAgent::ALL {
        for seed in 0..SEEDS {
            let file = session_file(&mut Random::new(seed), agent.name(), SIZE);
            let text = readable_text(&file.bytes).unwrap();
            let Ok(session) = read(&text, agent, outline_options(agent.profile())) else {
                continue;
            };
            let rated = session.rate_findings(&options(agent));
            let reach = session.reach(&rated, |_| true);
            let context = format!("{} {seed} {reach:?}", agent.name());
            assert_eq!(reach.whole.messages, session.draft().messages.len(), "{context}");
            assert_eq!(reach.after, reach.whole, "a repair of everything reaches all: {context}");
            assert!(reach.before.messages <= reach.whole.messages, "{context}");
            assert!(reach.before.tokens <= reach.whole.tokens, "{context}");
            if reach.whole.messages == 0 {
                continue;
            }
            match rated.worst().unwrap_or(FindingEffect::Tolerated) {
                FindingEffect::Tolerated => assert_eq!(reach.unreachable_percent(), 0, "{context}"),
                FindingEffect::HidesHistory => {
                    assert!(reach.before.messages < reach.whole.messages, "{context}");
                }
                FindingEffect::Blocks => assert_eq!(reach.unreachable_percent(), 100, "{context}"),
            }
            seen[rated.worst().map_or(0, |effect| effect as usize)] += 1;
        }
    }
    assert!(seen.iter().all(|&count| count > 20), "{seen:?}");
}

/// What stands before the torn end of a file reaches the model, whatever becomes of what is written next.
#[test]
fn a_torn_end_hides_no_message_before_it() {
    let mut seen = 0;
    // A line of Gemini CLI may be the whole history.
    let agents = SessionAgent::ALL.into_iter().filter(|agent| *agent != SessionAgent::GeminiCli);
    for agent in agents {
        for seed in 0..SEEDS {
            let mut file = session_file(&mut Random::new(seed), agent.name(), SIZE);
            let end = file.bytes.trim_ascii_end().len();
            let line = file.bytes[..end].iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
            file.bytes.truncate((line + end) / 2);
            let Ok(text) = readable_text(&file.bytes) else { continue };
            let Ok(session) = read(&text, agent, outline_options(agent.profile())) else {
                continue;
            };
            let rated = session.rate_findings(&options(agent));
            let mut harmful =
                rated.findings.iter().filter(|(_, effect)| *effect != FindingEffect::Tolerated);
            let last_line = text.as_str().rfind('\n').unwrap_or(0);
            let is_torn_end = |(finding, effect): &(Finding, FindingEffect)| {
                finding.rule.code == 801
                    && *effect == FindingEffect::HidesHistory
                    && finding.location.span.start as usize >= last_line
            };
            if !harmful.next().is_some_and(is_torn_end) || harmful.next().is_some() {
                continue;
            }
            let reach = session.reach(&rated, |_| true);
            let context = format!("{} {seed} {reach:?}", agent.name());
            assert!(reach.before.messages + 1 >= reach.whole.messages, "{context}");
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen}");
}

/// The texts, calls and results of a conversation, as far as two formats can be compared.
#[derive(PartialEq, Eq, Debug)]
struct ConversationGist {
    calls: usize,
    answers: usize,
    texts: usize,
}

fn gist(draft: &Draft<'_>) -> ConversationGist {
    let parts = || draft.messages.iter().flat_map(|message| draft.parts_of(message));
    let count = |wanted: fn(&PartKind<'_>) -> bool| parts().filter(|it| wanted(&it.kind)).count();
    ConversationGist {
        calls: count(|kind| matches!(kind, PartKind::Call(_))),
        answers: count(|kind| matches!(kind, PartKind::Answer(_))),
        texts: count(|kind| matches!(kind, PartKind::Text(_))),
    }
}

#[test]
fn a_history_becomes_a_session_that_another_agent_opens_whole() {
    let targets = || SessionAgent::ALL.into_iter().filter(|it| it.accepts_new_sessions().is_ok());
    assert!(targets().count() >= 3);
    let mut written = 0;
    for agent in SessionAgent::ALL {
        for seed in 0..SEEDS {
            let file = session_file(&mut Random::new(seed), agent.name(), SIZE);
            let text = readable_text(&file.bytes).unwrap();
            let Ok(session) = read(&text, agent, outline_options(agent.profile())) else {
                continue;
            };
            let bytes = repaired(&session);
            let text = readable_text(&bytes).unwrap();
            let session = read(&text, agent, outline_options(agent.profile())).unwrap();
            for to in targets().filter(|to| *to != agent) {
                written += usize::from(check_fork(&session, to, seed));
            }
        }
    }
    assert!(written > 1000, "{written}");
}

/// Writes a session for another agent and reads it again.
fn check_fork(session: &ParsedSession<'_>, to: SessionAgent, seed: u64) -> bool {
    let context = format!("{} to {}, seed {seed}", session.agent.name(), to.name());
    let history = session.history();
    let from = session.agent.wire();
    let (history, losses) = match from == to.wire() {
        true => (history, Vec::new()),
        false => match decode(&history, from) {
            Ok(decoded) => encode(&decoded, to.wire()),
            Err(_) => return false,
        },
    };
    let profile = to.profile();
    let provider = CheckOptions { rules: RuleSet::of(profile), ..options(to) };
    let document =
        foxwedge_formats::read(&history, to.wire(), outline_options(profile)).expect(&context);
    let (patched, repair) = document.fix(&provider);
    if !repair.after.is_clean() {
        return false;
    }
    let history = patched.to_string();
    let outlined = foxwedge_formats::read(&history, to.wire(), outline_options(profile)).unwrap();
    if outlined.draft.messages.is_empty() {
        assert!(write_new_session(to, &history, &NEW).is_none(), "{context}");
        return false;
    }
    let file = write_new_session(to, &history, &NEW).expect(&context);
    let text = readable_text(file.text.as_bytes()).unwrap();
    let again = read(&text, to, outline_options(profile)).expect(&context);
    assert_eq!(again.metadata.id.as_deref(), Some(NEW.id), "{context}");
    let (mine, theirs) = (gist(again.draft()), gist(&outlined.draft));
    assert_eq!((mine.calls, mine.answers), (theirs.calls, theirs.answers), "{context}\n{history}");
    if file.losses.is_empty() && losses.is_empty() {
        assert_eq!(mine.texts, theirs.texts, "{context}\n{history}");
    }
    // Some rules are about the file, not about the request that is made of it.
    let settled = repaired(&again);
    let text = readable_text(&settled).unwrap();
    let settled = read(&text, to, outline_options(profile)).expect(&context);
    assert_eq!(worst(&settled), FindingEffect::Tolerated, "{context}\n{history}\n{}", file.text);
    true
}
