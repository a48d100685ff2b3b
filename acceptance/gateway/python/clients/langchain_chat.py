"""LangChain, with its models for OpenAI and Anthropic."""

from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from openai import DefaultHttpxClient

from seat import NEXT, PLAIN


def talk(context):
    model = model_with_tools(context)
    history = [HumanMessage(context.question)]
    while True:
        message = send(model, context, history)
        history.append(message)
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            content = context.run(call["name"], call["args"])
            history.append(ToolMessage(content=content, tool_call_id=call["id"]))
    history.append(HumanMessage(NEXT))
    return [message.text, send(model, context, history).text]


def say(context):
    return [send(model_with_tools(context), context, [HumanMessage(PLAIN)]).text]


def broken(context):
    calls = [{"name": "weather", "args": {"city": "Ulm"}, "id": "call_a"}]
    history = [
        HumanMessage("what is the weather?"),
        AIMessage(content="", tool_calls=calls),
        HumanMessage("never mind"),
        AIMessage("As you like."),
        ToolMessage(content="noon", tool_call_id="call_nobody"),
        HumanMessage(PLAIN),
    ]
    return [send(model_with_tools(context), context, history).text]


def send(model, context, history):
    if not context.stream:
        return model.invoke(history)
    message = None
    for chunk in model.stream(history):
        message = chunk if message is None else message + chunk
    return message


def model_with_tools(context):
    @tool
    def weather(city: str) -> str:
        """Tells the weather."""
        return context.weather(city)

    @tool
    def clock(zone: str) -> str:
        """Tells the time."""
        return context.clock(zone)

    return model(context).bind_tools([weather, clock])


def model(context):
    if context.face == "messages":
        model = ChatAnthropic(
            model=context.model, base_url=context.origin, api_key=context.token, max_retries=0, max_tokens=1024
        )
        # It accepts no HTTP client, so the hooks are set on its own one.
        model._client._client.event_hooks = context.hooks()["event_hooks"]
        return model
    return ChatOpenAI(
        model=context.model,
        base_url=context.base,
        api_key=context.token,
        max_retries=0,
        use_responses_api=context.face == "responses",
        http_client=DefaultHttpxClient(**context.hooks()),
    )
