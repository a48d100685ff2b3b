"""The SDK of OpenAI: chat completions and responses, put together by its own helpers."""

from openai import DefaultHttpxClient, OpenAI

from seat import NEXT, PLAIN, TOOLS

# What the helper of streams adds, and no server wants to have.
PARSED = {"parsed": True, "tool_calls": {"__all__": {"function": {"parsed_arguments"}}}}


def talk(seat):
    return {"chat": chat, "responses": respond}[seat.face](client(seat), seat)


def say(seat):
    return [text(seat, asked(seat, [user(PLAIN)]))]


def broken(seat):
    if seat.face == "chat":
        called = {"name": "weather", "arguments": '{"city":"Ulm"}'}
        calls = [{"id": "call_a", "type": "function", "function": called}]
        history = [
            user("what is the weather?"),
            {"role": "assistant", "content": None, "tool_calls": calls},
            user("never mind"),
            {"role": "assistant", "content": "As you like."},
            {"role": "tool", "tool_call_id": "call_nobody", "content": "noon"},
            user(PLAIN),
        ]
    else:
        history = [
            user("what is the weather?"),
            {"type": "function_call", "call_id": "call_a", "name": "weather", "arguments": '{"city":"Ulm"}'},
            user("never mind"),
            {"role": "assistant", "content": "As you like."},
            {"type": "function_call_output", "call_id": "call_nobody", "output": "noon"},
            user(PLAIN),
        ]
    return [text(seat, asked(seat, history))]


def models(seat):
    return sorted(model.id for model in client(seat).models.list())


def client(seat):
    http_client = DefaultHttpxClient(**seat.hooks())
    return OpenAI(base_url=seat.base, api_key=seat.token, max_retries=0, http_client=http_client)


def chat(openai, seat):
    history = [user(seat.question)]
    while True:
        message = completion(openai, seat, history).choices[0].message
        history.append(message.model_dump(exclude_none=True, exclude=PARSED))
        if not message.tool_calls:
            break
        for call in message.tool_calls:
            content = seat.run(call.function.name, call.function.arguments)
            history.append({"role": "tool", "tool_call_id": call.id, "content": content})
    history.append(user(NEXT))
    return [message.content, completion(openai, seat, history).choices[0].message.content]


def respond(openai, seat):
    history = [user(seat.question)]
    while True:
        response = responded(openai, seat, history)
        history += [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in response.output]
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            break
        for call in calls:
            output = seat.run(call.name, call.arguments)
            history.append({"type": "function_call_output", "call_id": call.call_id, "output": output})
    history.append(user(NEXT))
    return [response.output_text, responded(openai, seat, history).output_text]


def asked(seat, history):
    return {"chat": completion, "responses": responded}[seat.face](client(seat), seat, history)


def completion(openai, seat, history):
    functions = [
        {"name": name, "description": told, "parameters": takes, "strict": True} for name, told, takes in TOOLS
    ]
    request = {
        "model": seat.model,
        "messages": history,
        "tools": [{"type": "function", "function": function} for function in functions],
    }
    if not seat.stream:
        return openai.chat.completions.create(**request)
    with openai.chat.completions.stream(**request) as events:
        return events.get_final_completion()


def responded(openai, seat, history):
    tools = [
        {"type": "function", "name": name, "description": told, "parameters": takes, "strict": True}
        for name, told, takes in TOOLS
    ]
    request = {"model": seat.model, "input": history, "tools": tools, "store": False}
    if not seat.stream:
        return openai.responses.create(**request)
    with openai.responses.stream(**request) as events:
        return events.get_final_response()


def text(seat, reply):
    return reply.choices[0].message.content if seat.face == "chat" else reply.output_text


def user(words):
    return {"role": "user", "content": words}
