"""LangChain, with its models for OpenAI and Anthropic."""

from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from openai import DefaultHttpxClient

from seat import NEXT, PLAIN


def talk(seat):
    model = bound(seat)
    history = [HumanMessage(seat.question)]
    while True:
        message = asked(model, seat, history)
        history.append(message)
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            content = seat.run(call["name"], call["args"])
            history.append(ToolMessage(content=content, tool_call_id=call["id"]))
    history.append(HumanMessage(NEXT))
    return [message.text, asked(model, seat, history).text]


def say(seat):
    return [asked(bound(seat), seat, [HumanMessage(PLAIN)]).text]


def broken(seat):
    calls = [{"name": "weather", "args": {"city": "Ulm"}, "id": "call_a"}]
    history = [
        HumanMessage("what is the weather?"),
        AIMessage(content="", tool_calls=calls),
        HumanMessage("never mind"),
        AIMessage("As you like."),
        ToolMessage(content="noon", tool_call_id="call_nobody"),
        HumanMessage(PLAIN),
    ]
    return [asked(bound(seat), seat, history).text]


def asked(model, seat, history):
    if not seat.stream:
        return model.invoke(history)
    whole = None
    for chunk in model.stream(history):
        whole = chunk if whole is None else whole + chunk
    return whole


def bound(seat):
    @tool
    def weather(city: str) -> str:
        """Tells the weather."""
        return seat.weather(city)

    @tool
    def clock(zone: str) -> str:
        """Tells the time."""
        return seat.clock(zone)

    return model(seat).bind_tools([weather, clock])


def model(seat):
    if seat.face == "messages":
        model = ChatAnthropic(
            model=seat.model, base_url=seat.origin, api_key=seat.token, max_retries=0, max_tokens=1024
        )
        # It takes no HTTP client, but it has one.
        model._client._client.event_hooks = seat.hooks()["event_hooks"]
        return model
    return ChatOpenAI(
        model=seat.model,
        base_url=seat.base,
        api_key=seat.token,
        max_retries=0,
        use_responses_api=seat.face == "responses",
        http_client=DefaultHttpxClient(**seat.hooks()),
    )
