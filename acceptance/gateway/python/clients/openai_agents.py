"""The Agents SDK of OpenAI."""

from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from seat import NEXT, PLAIN

# Traces would go to OpenAI.
set_tracing_disabled(True)


async def talk(seat):
    agent = made(seat)
    first = await run(agent, seat, seat.question)
    second = await run(agent, seat, first.to_input_list() + [{"role": "user", "content": NEXT}])
    return [first.final_output, second.final_output]


async def say(seat):
    return [(await run(made(seat), seat, PLAIN)).final_output]


async def broken(seat):
    history = [
        {"role": "user", "content": "what is the weather?"},
        {"type": "function_call", "call_id": "call_a", "name": "weather", "arguments": '{"city":"Ulm"}'},
        {"role": "user", "content": "never mind"},
        {"role": "assistant", "content": "As you like."},
        {"type": "function_call_output", "call_id": "call_nobody", "output": "noon"},
        {"role": "user", "content": PLAIN},
    ]
    return [(await run(made(seat), seat, history)).final_output]


async def run(agent, seat, question):
    if not seat.stream:
        return await Runner.run(agent, question)
    streamed = Runner.run_streamed(agent, question)
    async for _ in streamed.stream_events():
        pass
    return streamed


def made(seat):
    http_client = DefaultAsyncHttpxClient(**seat.hooks_later())
    openai = AsyncOpenAI(base_url=seat.base, api_key=seat.token, max_retries=0, http_client=http_client)
    model = {"chat": OpenAIChatCompletionsModel, "responses": OpenAIResponsesModel}[seat.face]

    @function_tool
    def weather(city: str) -> str:
        """Tells the weather."""
        return seat.weather(city)

    @function_tool
    def clock(zone: str) -> str:
        """Tells the time."""
        return seat.clock(zone)

    return Agent(name="acceptance", model=model(model=seat.model, openai_client=openai), tools=[weather, clock])
