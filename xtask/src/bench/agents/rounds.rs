//! Round trips: a prompt until the calls are there, answers until the text is there.

use super::{
    agent_gateway::{AgentGateway, RunRecording, TestAgent},
    bare_agent::{BareAgent, ReplyTimes},
    chat::{ClientChat, ReplyMode, prompt},
    client::TimedClient,
};

/// How much is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RoundCounts {
    pub(super) conversations: u32,
    pub(super) rounds: u32,
    /// Calls at once.
    pub(super) calls: usize,
}

/// How an agent is reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AgentAccess {
    Bare,
    Gateway(RunRecording, ReplyMode),
}

/// Milliseconds of one leg, round by round.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct LegTimes {
    pub(super) first_text: Vec<f64>,
    pub(super) whole: Vec<f64>,
}

/// What one way took.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct AccessTimes {
    pub(super) way: AgentAccess,
    /// From the prompt to the calls.
    pub(super) called: LegTimes,
    /// From the answers to the text.
    pub(super) answered: LegTimes,
}

/// The result.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct RoundResult {
    pub(super) taken: Vec<AccessTimes>,
    /// Milliseconds of a processor for each request, of each gateway.
    pub(super) cpu: Vec<(RunRecording, f64)>,
}

/// One conversation.
enum OpenChat {
    Bare(Box<BareAgent>),
    Gateway(ClientChat, TimedClient),
}

impl OpenChat {
    fn open(
        way: AgentAccess,
        agent: &TestAgent,
        gateways: &[(RunRecording, AgentGateway)],
    ) -> Result<OpenChat, String> {
        match way {
            AgentAccess::Bare => BareAgent::start(agent).map(|bare| OpenChat::Bare(Box::new(bare))),
            AgentAccess::Gateway(record, mode) => {
                let found = gateways.iter().find(|(of, _)| *of == record);
                let (_, gateway) = found.ok_or("no such gateway")?;
                Ok(OpenChat::Gateway(ClientChat::new(mode), gateway.client()))
            }
        }
    }

    fn prompt(&mut self, calls: usize) -> Result<ReplyTimes, String> {
        let text = prompt(calls);
        match self {
            OpenChat::Bare(bare) => bare.prompt(&text, calls),
            OpenChat::Gateway(chat, client) => {
                chat.say(&text);
                let reply = chat.send(client, calls)?;
                Ok(ReplyTimes { first_text: reply.first_text, whole: reply.whole })
            }
        }
    }

    fn answer(&mut self) -> Result<ReplyTimes, String> {
        match self {
            OpenChat::Bare(bare) => bare.answer(),
            OpenChat::Gateway(chat, client) => {
                chat.answer();
                let reply = chat.send(client, 0)?;
                Ok(ReplyTimes { first_text: reply.first_text, whole: reply.whole })
            }
        }
    }
}

/// All ways in turns, round by round. The first round of a conversation starts an agent, and does
/// not count.
pub(super) fn measure(agent: &TestAgent, counts: RoundCounts) -> Result<RoundResult, String> {
    let ways = [
        AgentAccess::Bare,
        AgentAccess::Gateway(RunRecording::None, ReplyMode::Whole),
        AgentAccess::Gateway(RunRecording::All, ReplyMode::Whole),
        AgentAccess::Gateway(RunRecording::None, ReplyMode::Stream),
        AgentAccess::Gateway(RunRecording::All, ReplyMode::Stream),
    ];
    let mut taken = ways
        .map(|way| AccessTimes { way, called: LegTimes::default(), answered: LegTimes::default() })
        .to_vec();
    let mut gateways = Vec::new();
    for record in RunRecording::BOTH {
        gateways.push((record, agent.gateway(record, 16, 600)?));
    }
    let mut cpu = Vec::new();
    let mut turn = 0;
    for _ in 0..counts.conversations {
        let mut sides = Vec::new();
        for way in ways {
            let mut side = OpenChat::open(way, agent, &gateways)?;
            side.prompt(counts.calls)?;
            side.answer()?;
            sides.push(side);
        }
        let before: Vec<f64> = gateways.iter().map(|(_, gateway)| gateway.cpu()).collect();
        for _ in 0..counts.rounds {
            for step in 0..ways.len() {
                let at = (turn + step) % ways.len();
                let (Some(side), Some(taken)) = (sides.get_mut(at), taken.get_mut(at)) else {
                    continue;
                };
                taken.called.add(side.prompt(counts.calls)?);
                taken.answered.add(side.answer()?);
            }
            turn += 1;
        }
        cpu.push(gateways.iter().zip(before).map(|((_, it), before)| it.cpu() - before).collect());
    }
    // Two modes, two legs.
    let requests = f64::from(counts.conversations) * f64::from(counts.rounds) * 4.0;
    let each = |at: usize| cpu.iter().filter_map(|all: &Vec<f64>| all.get(at)).sum::<f64>();
    let cpu =
        RunRecording::BOTH.iter().enumerate().map(|(at, record)| (*record, each(at) / requests));
    Ok(RoundResult { cpu: cpu.collect(), taken })
}

impl AccessTimes {
    /// Whole rounds. The gateway hands calls out when their message has ended, which may be before
    /// the agent asks for answers: what is saved in one leg is waited for in the other.
    pub(super) fn both(&self) -> LegTimes {
        let sum = |one: &[f64], two: &[f64]| one.iter().zip(two).map(|(a, b)| a + b).collect();
        LegTimes {
            first_text: sum(&self.called.whole, &self.answered.first_text),
            whole: sum(&self.called.whole, &self.answered.whole),
        }
    }
}

impl LegTimes {
    fn add(&mut self, times: ReplyTimes) {
        self.first_text.push(times.first_text.as_secs_f64() * 1_000.0);
        self.whole.push(times.whole.as_secs_f64() * 1_000.0);
    }
}
