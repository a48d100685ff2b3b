"""The OpenAI Agents SDK."""

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

# Traces would be sent to OpenAI.
set_tracing_disabled(True)


async def talk(context):
    agent = make_agent(context)
    first = await run(agent, context, context.question)
    second = await run(agent, context, first.to_input_list() + [{"role": "user", "content": NEXT}])
    return [first.final_output, second.final_output]


async def say(context):
    return [(await run(make_agent(context), context, PLAIN)).final_output]


async def broken(context):
    history = [
        {"role": "user", "content": "what is the weather?"},
        {"type": "function_call", "call_id": "call_a", "name": "weather", "arguments": '{"city":"Ulm"}'},
        {"role": "user", "content": "never mind"},
        {"role": "assistant", "content": "As you like."},
        {"type": "function_call_output", "call_id": "call_nobody", "output": "noon"},
        {"role": "user", "content": PLAIN},
    ]
    return [(await run(make_agent(context), context, history)).final_output]


async def run(agent, context, question):
    if not context.stream:
        return await Runner.run(agent, question)
    streamed = Runner.run_streamed(agent, question)
    async for _ in streamed.stream_events():
        pass
    return streamed


def make_agent(context):
    http_client = DefaultAsyncHttpxClient(**context.async_hooks())
    openai = AsyncOpenAI(base_url=context.base, api_key=context.token, max_retries=0, http_client=http_client)
    model = {"chat": OpenAIChatCompletionsModel, "responses": OpenAIResponsesModel}[context.face]

    @function_tool
    def weather(city: str) -> str:
        """Tells the weather."""
        return context.weather(city)

    @function_tool
    def clock(zone: str) -> str:
        """Tells the time."""
        return context.clock(zone)

    return Agent(name="acceptance", model=model(model=context.model, openai_client=openai), tools=[weather, clock])
