"""pydantic-ai, on the OpenAI and Anthropic SDKs."""

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


async def talk(context):
    agent = make_agent(context)
    first, history = await run(agent, context, context.question, [])
    second, _ = await run(agent, context, NEXT, history)
    return [first, second]


async def say(context):
    text, _ = await run(make_agent(context), context, PLAIN, [])
    return [text]


async def broken(context):
    history = [
        ModelRequest(parts=[UserPromptPart(content="what is the weather?")]),
        ModelResponse(parts=[ToolCallPart(tool_name="weather", args={"city": "Ulm"}, tool_call_id="call_a")]),
        ModelRequest(parts=[UserPromptPart(content="never mind")]),
        ModelResponse(parts=[TextPart(content="As you like.")]),
        ModelRequest(parts=[ToolReturnPart(tool_name="clock", content="noon", tool_call_id="call_nobody")]),
    ]
    text, _ = await run(make_agent(context), context, PLAIN, history)
    return [text]


async def run(agent, context, question, history):
    if not context.stream:
        result = await agent.run(question, message_history=history)
        return result.output, result.all_messages()
    async with agent.run_stream(question, message_history=history) as streamed:
        output = await streamed.get_output()
        return output, streamed.all_messages()


def make_agent(context):
    agent = Agent(model(context))

    @agent.tool_plain
    def weather(city: str) -> str:
        """Tells the weather."""
        return context.weather(city)

    @agent.tool_plain
    def clock(zone: str) -> str:
        """Tells the time."""
        return context.clock(zone)

    return agent


def model(context):
    if context.face == "messages":
        http_client = AnthropicHttp(**context.async_hooks())
        anthropic = AsyncAnthropic(
            base_url=context.origin, auth_token=context.token, max_retries=0, http_client=http_client
        )
        return AnthropicModel(context.model, provider=AnthropicProvider(anthropic_client=anthropic))
    http_client = OpenAIHttp(**context.async_hooks())
    openai = AsyncOpenAI(base_url=context.base, api_key=context.token, max_retries=0, http_client=http_client)
    kind = {"chat": OpenAIChatModel, "responses": OpenAIResponsesModel}[context.face]
    return kind(context.model, provider=OpenAIProvider(openai_client=openai))
