"""The SDK of Anthropic: messages, put together by its own helpers."""

from anthropic import Anthropic, DefaultHttpxClient, beta_tool

from seat import NEXT, PLAIN, TOOLS


def talk(seat):
    anthropic = client(seat)
    history = [user(seat.question)]
    while True:
        message = asked(anthropic, seat, history)
        history.append({"role": "assistant", "content": message.content})
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            break
        answers = [
            {"type": "tool_result", "tool_use_id": call.id, "content": seat.run(call.name, call.input)}
            for call in calls
        ]
        history.append({"role": "user", "content": answers})
    history.append(user(NEXT))
    return [text(message), text(asked(anthropic, seat, history))]


def say(seat):
    return [text(asked(client(seat), seat, [user(PLAIN)]))]


def broken(seat):
    called = {"type": "tool_use", "id": "toolu_a", "name": "weather", "input": {"city": "Ulm"}}
    answer = {"type": "tool_result", "tool_use_id": "toolu_nobody", "content": "noon"}
    history = [
        user("what is the weather?"),
        {"role": "assistant", "content": [called]},
        user("never mind"),
        {"role": "assistant", "content": "As you like."},
        {"role": "user", "content": [answer, {"type": "text", "text": PLAIN}]},
    ]
    return [text(asked(client(seat), seat, history))]


def models(seat):
    return sorted(model.id for model in client(seat).models.list())


def count(seat):
    counted = client(seat).messages.count_tokens(model=seat.model, messages=[user(PLAIN)])
    return [str(counted.input_tokens)]


def threads(seat):
    """The runner of the SDK would like the server to keep what was said, and must be told that it does not."""
    anthropic = client(seat)

    @beta_tool
    def weather(city: str) -> str:
        """Tells the weather."""
        return seat.weather(city)

    @beta_tool
    def clock(zone: str) -> str:
        """Tells the time."""
        return seat.clock(zone)

    runner = anthropic.beta.messages.tool_runner(
        model=seat.model, max_tokens=1024, messages=[user(seat.question)], tools=[weather, clock], stream=seat.stream
    )
    if not seat.stream:
        return [text(runner.until_done())]
    for stream in runner:
        message = stream.get_final_message()
    return [text(message)]


def client(seat):
    http_client = DefaultHttpxClient(**seat.hooks())
    return Anthropic(base_url=seat.origin, auth_token=seat.token, max_retries=0, http_client=http_client)


def asked(anthropic, seat, history):
    tools = [{"name": name, "description": told, "input_schema": takes} for name, told, takes in TOOLS]
    request = {"model": seat.model, "max_tokens": 1024, "messages": history, "tools": tools}
    if not seat.stream:
        return anthropic.messages.create(**request)
    with anthropic.messages.stream(**request) as events:
        return events.get_final_message()


def text(message):
    return "".join(block.text for block in message.content if block.type == "text")


def user(words):
    return {"role": "user", "content": words}
