"""The Anthropic SDK: messages, with its own stream helper."""

from anthropic import Anthropic, DefaultHttpxClient, beta_tool

from seat import NEXT, PLAIN, TOOLS


def talk(context):
    anthropic = client(context)
    history = [user(context.question)]
    while True:
        message = send(anthropic, context, history)
        history.append({"role": "assistant", "content": message.content})
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            break
        results = [
            {"type": "tool_result", "tool_use_id": call.id, "content": context.run(call.name, call.input)}
            for call in calls
        ]
        history.append({"role": "user", "content": results})
    history.append(user(NEXT))
    return [text(message), text(send(anthropic, context, history))]


def say(context):
    return [text(send(client(context), context, [user(PLAIN)]))]


def broken(context):
    call = {"type": "tool_use", "id": "toolu_a", "name": "weather", "input": {"city": "Ulm"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_nobody", "content": "noon"}
    history = [
        user("what is the weather?"),
        {"role": "assistant", "content": [call]},
        user("never mind"),
        {"role": "assistant", "content": "As you like."},
        {"role": "user", "content": [result, {"type": "text", "text": PLAIN}]},
    ]
    return [text(send(client(context), context, history))]


def models(context):
    return sorted(model.id for model in client(context).models.list())


def count(context):
    tokens = client(context).messages.count_tokens(model=context.model, messages=[user(PLAIN)])
    return [str(tokens.input_tokens)]


def threads(context):
    """Runs the tool runner of the SDK. It asks the server to keep the conversation, which the gateway does not do."""
    anthropic = client(context)

    @beta_tool
    def weather(city: str) -> str:
        """Tells the weather."""
        return context.weather(city)

    @beta_tool
    def clock(zone: str) -> str:
        """Tells the time."""
        return context.clock(zone)

    runner = anthropic.beta.messages.tool_runner(
        model=context.model,
        max_tokens=1024,
        messages=[user(context.question)],
        tools=[weather, clock],
        stream=context.stream,
    )
    if not context.stream:
        return [text(runner.until_done())]
    for stream in runner:
        message = stream.get_final_message()
    return [text(message)]


def client(context):
    http_client = DefaultHttpxClient(**context.hooks())
    return Anthropic(base_url=context.origin, auth_token=context.token, max_retries=0, http_client=http_client)


def send(anthropic, context, history):
    tools = [
        {"name": name, "description": description, "input_schema": parameters}
        for name, description, parameters in TOOLS
    ]
    request = {"model": context.model, "max_tokens": 1024, "messages": history, "tools": tools}
    if not context.stream:
        return anthropic.messages.create(**request)
    with anthropic.messages.stream(**request) as events:
        return events.get_final_message()


def text(message):
    return "".join(block.text for block in message.content if block.type == "text")


def user(content):
    return {"role": "user", "content": content}
