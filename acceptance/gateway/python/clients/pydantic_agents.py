"""pydantic-ai, on the SDKs of OpenAI and Anthropic."""

from anthropic import AsyncAnthropic
from anthropic import DefaultAsyncHttpxClient as AnthropicHttp
from openai import AsyncOpenAI
from openai import DefaultAsyncHttpxClient as OpenAIHttp
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from seat import NEXT, PLAIN


async def talk(seat):
    agent = made(seat)
    first, history = await run(agent, seat, seat.question, [])
    second, _ = await run(agent, seat, NEXT, history)
    return [first, second]


async def say(seat):
    text, _ = await run(made(seat), seat, PLAIN, [])
    return [text]


async def broken(seat):
    history = [
        ModelRequest(parts=[UserPromptPart(content="what is the weather?")]),
        ModelResponse(parts=[ToolCallPart(tool_name="weather", args={"city": "Ulm"}, tool_call_id="call_a")]),
        ModelRequest(parts=[UserPromptPart(content="never mind")]),
        ModelResponse(parts=[TextPart(content="As you like.")]),
        ModelRequest(parts=[ToolReturnPart(tool_name="clock", content="noon", tool_call_id="call_nobody")]),
    ]
    text, _ = await run(made(seat), seat, PLAIN, history)
    return [text]


async def run(agent, seat, question, history):
    if not seat.stream:
        result = await agent.run(question, message_history=history)
        return result.output, result.all_messages()
    async with agent.run_stream(question, message_history=history) as streamed:
        output = await streamed.get_output()
        return output, streamed.all_messages()


def made(seat):
    agent = Agent(model(seat))

    @agent.tool_plain
    def weather(city: str) -> str:
        """Tells the weather."""
        return seat.weather(city)

    @agent.tool_plain
    def clock(zone: str) -> str:
        """Tells the time."""
        return seat.clock(zone)

    return agent


def model(seat):
    if seat.face == "messages":
        http_client = AnthropicHttp(**seat.hooks_later())
        anthropic = AsyncAnthropic(
            base_url=seat.origin, auth_token=seat.token, max_retries=0, http_client=http_client
        )
        return AnthropicModel(seat.model, provider=AnthropicProvider(anthropic_client=anthropic))
    http_client = OpenAIHttp(**seat.hooks_later())
    openai = AsyncOpenAI(base_url=seat.base, api_key=seat.token, max_retries=0, http_client=http_client)
    kind = {"chat": OpenAIChatModel, "responses": OpenAIResponsesModel}[seat.face]
    return kind(seat.model, provider=OpenAIProvider(openai_client=openai))
